// Gradient of softmax for short rows (at most 1,024 elements): one warp per row, with both rows in its registers.
#include "av_packs.cuh"
#include "av_softmax_backward.cuh"

template <class T, int LANES, int VECTORS, int WARPS, bool IS_LOG>
__global__ void __launch_bounds__(WARPS * 32)
softmax_backward_warp(const T* gradient, const T* y, T* out, int64_t rows, int columns) {
    const int64_t row = int64_t(blockIdx.x) * WARPS + av_warp();
    if (row >= rows) return;
    av_row_packs<T, LANES, VECTORS, 32> a, b;
    a.thread = b.thread = av_lane(), a.columns = b.columns = columns;
    a.load(gradient + row * columns);
    b.load(y + row * columns);
    const float sum = av_reduce_warp<av_sum>(av_softmax_terms<IS_LOG>(a, b));
    a.stay_packed(), b.stay_packed();
    av_softmax_backward_store<IS_LOG>(a, b, sum, out + row * columns);
}
