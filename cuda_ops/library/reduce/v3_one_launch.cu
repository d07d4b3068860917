// Sum or dot product in one launch: the block that comes last adds the partial sums of all (av_last_block.cuh).
#include "av_last_block.cuh"

template <class T, bool IS_DOT>
__global__ void __launch_bounds__(256)
reduce_one_launch(const T* x, const T* y, double* partials, unsigned* control, T* out, int64_t count) {
    AV_SHARED_ARRAY(double, slots, 8);
    float sum = 0.0f;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < count; i += int64_t(gridDim.x) * 256)
        sum += av_to_float(x[i]) * (IS_DOT ? av_to_float(y[i]) : 1.0f);
    const double total = av_reduce_block<av_sum, 256>(double(sum), slots);
    av_finish_in_last_block<T, 256>(total, partials, control + 1, out);
}
