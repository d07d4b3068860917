// Softmax of short rows (at most 1,024 elements): one warp per row, with the row in its registers.
//
// The row is read once. A warp needs neither shared memory nor a barrier.
#include "av_reduce.cuh"
#include "av_row.cuh"
#include "av_softmax.cuh"

template <class T, int LANES, int VECTORS, int WARPS, bool IS_LOG>
__global__ void __launch_bounds__(WARPS * 32) softmax_warp(const T* x, T* out, int64_t rows, int columns) {
    const int64_t row = int64_t(blockIdx.x) * WARPS + av_warp();
    if (row >= rows) return;
    av_row_part<T, LANES, VECTORS, 32> part;
    part.thread = av_lane(), part.columns = columns;
    part.load(x + row * columns, -INFINITY);
    const float most = av_reduce_warp<av_max>(part.max());
    av_softmax_exponentials<IS_LOG>(part, most);
    const float sum = av_reduce_warp<av_sum>(av_softmax_sum<IS_LOG>(part));
    av_softmax_finish<IS_LOG>(part, 1.0f / sum, logf(sum));
    part.store(out + row * columns);
}
