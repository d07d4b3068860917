// Softmax of each row: e^(x - max) / sum of e^(x - max), or its logarithm with IS_LOG; one block per row.
//
// Three passes over the row in global memory: its maximum, the sum of the exponentials, the quotients. The maximum is
// subtracted because e^x overflows float32 above 88.
#include "av_reduce.cuh"
#include "av_vector.cuh"

template <class T, bool IS_LOG>
__global__ void __launch_bounds__(256) softmax_three_passes(const T* x, T* out, int64_t columns) {
    AV_SHARED_ARRAY(float, slots_max, 8);
    AV_SHARED_ARRAY(float, slots_sum, 8);
    const T* row = x + int64_t(blockIdx.x) * columns;
    T* row_out = out + int64_t(blockIdx.x) * columns;
    float most = -INFINITY, sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += 256) most = fmaxf(most, av_to_float(row[i]));
    most = av_reduce_block<av_max, 256>(most, slots_max);
    for (int64_t i = threadIdx.x; i < columns; i += 256) sum += expf(av_to_float(row[i]) - most);
    sum = av_reduce_block<av_sum, 256>(sum, slots_sum);
    const float log_sum = logf(sum);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float apart = av_to_float(row[i]) - most;
        row_out[i] = av_from_float<T>(IS_LOG ? apart - log_sum : expf(apart) / sum);
    }
}
