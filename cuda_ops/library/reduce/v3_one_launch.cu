// Reductions in one launch: the last block to finish joins the partial results of all blocks (av_last_block.cuh).
#include "av_last_block.cuh"

template <class T, class F>
__global__ void __launch_bounds__(256)
reduce_one_launch(const T* x, const T* y, double* partials, unsigned* control, T* out, int64_t count) {
    AV_SHARED_ARRAY(double, slots, 8);
    float sum = F::template identity<float>();
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < count; i += int64_t(gridDim.x) * 256)
        sum = F::join(sum, F::term(av_to_float(x[i]), F::HAS_Y ? av_to_float(y[i]) : 0.0f));
    const double total = av_reduce_block<F, 256>(double(sum), slots);
    av_finish_in_last_block<T, F, 256>(total, partials, control + 1, out, count);
}
