// Softmax of the LayerNorm of each row; one block per row.
//
// Five passes over the row in global memory: mean, squares around it, the greatest normalized element, the sum of the
// exponentials, the quotients. No normalized row is stored: each pass normalizes again.
#include "av_reduce.cuh"
#include "av_vector.cuh"

template <class T>
__global__ void __launch_bounds__(256)
norm_softmax_passes(const T* x, const T* weight, const T* bias, T* out, int64_t columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots, 4 * 8);
    const T* row = x + int64_t(blockIdx.x) * columns;
    float mean = 0.0f, squares = 0.0f, most = -INFINITY, sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += 256) mean += av_to_float(row[i]);
    mean = av_reduce_block<av_sum, 256>(mean, slots) / float(columns);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float off = av_to_float(row[i]) - mean;
        squares += off * off;
    }
    squares = av_reduce_block<av_sum, 256>(squares, slots + 8);
    const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
    const auto normed = [&](int64_t i) {
        const float y = (av_to_float(row[i]) - mean) * scale * (weight != nullptr ? av_to_float(weight[i]) : 1.0f);
        return y + (bias != nullptr ? av_to_float(bias[i]) : 0.0f);
    };
    for (int64_t i = threadIdx.x; i < columns; i += 256) most = fmaxf(most, normed(i));
    most = av_reduce_block<av_max, 256>(most, slots + 16);
    for (int64_t i = threadIdx.x; i < columns; i += 256) sum += expf(normed(i) - most);
    sum = av_reduce_block<av_sum, 256>(sum, slots + 24);
    for (int64_t i = threadIdx.x; i < columns; i += 256)
        out[int64_t(blockIdx.x) * columns + i] = av_from_float<T>(expf(normed(i) - most) / sum);
}
