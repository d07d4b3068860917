// LayerNorm or RMSNorm of short rows (at most 1,024 elements): one warp per row, with the row in its registers.
//
// The row is read once, and the variance is summed from the registers around the exact mean.
#include "av_norm.cuh"
#include "av_reduce.cuh"

template <class T, int LANES, int VECTORS, int WARPS, bool IS_RMS>
__global__ void __launch_bounds__(WARPS * 32)
norm_warp(const T* x, const T* weight, const T* bias, T* out, int64_t rows, int columns, float epsilon) {
    const int64_t row = int64_t(blockIdx.x) * WARPS + av_warp();
    if (row >= rows) return;
    av_row_packs<T, LANES, VECTORS, 32> part;
    part.thread = av_lane(), part.columns = columns;
    part.load(x + row * columns);
    const float mean = IS_RMS ? 0.0f : av_reduce_warp<av_sum>(av_sum_of(part)) / float(columns);
    part.stay_packed();
    const float squares = av_reduce_warp<av_sum>(av_sum_of_squares(part, mean));
    part.stay_packed();
    av_norm_store(part, mean, 1.0f / sqrtf(squares / float(columns) + epsilon), weight, bias, out + row * columns);
}
