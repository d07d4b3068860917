// Softmax of the LayerNorm of short rows (at most 1,024 elements): one warp per row, with the row in its registers.
//
// It is like v2_block.cu, but the four reductions of a row need neither shared memory nor a barrier.
#include "av_norm_softmax.cuh"
#include "av_reduce.cuh"

template <class T, int LANES, int VECTORS, int WARPS>
__global__ void __launch_bounds__(WARPS * 32)
norm_softmax_warp(const T* x, const T* weight, const T* bias, T* out, int64_t rows, int columns, float epsilon) {
    const int64_t row = int64_t(blockIdx.x) * WARPS + av_warp();
    if (row >= rows) return;
    av_row_part<T, LANES, VECTORS, 32> part;
    part.thread = av_lane(), part.columns = columns;
    part.load(x + row * columns, 0.0f);
    const float mean = av_reduce_warp<av_sum>(part.sum()) / float(columns);
    const float squares = av_reduce_warp<av_sum>(av_squares_of(part, mean));
    av_normalize(part, mean, 1.0f / sqrtf(squares / float(columns) + epsilon), weight, bias);
    av_softmax_exponentials<false>(part, av_reduce_warp<av_max>(part.max()));
    part.scale(1.0f / av_reduce_warp<av_sum>(part.sum()));
    part.store(out + row * columns);
}
