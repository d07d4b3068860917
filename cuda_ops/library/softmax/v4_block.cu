// Softmax of rows of up to 32,768 elements: one block per row, with the row in its registers.
//
// The row is read once, by packs whose loads are all in flight together. Several blocks run on a processor, so that
// some load while others compute or store.
#include "av_reduce.cuh"
#include "av_row.cuh"
#include "av_softmax.cuh"

template <class T, int LANES, int VECTORS, int THREADS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS) softmax_block(const T* x, T* out, int columns) {
    AV_SHARED_ARRAY(float, slots_max, 32);
    AV_SHARED_ARRAY(float, slots_sum, 32);
    av_row_part<T, LANES, VECTORS, THREADS> part;
    part.thread = threadIdx.x, part.columns = columns;
    part.load(x + int64_t(blockIdx.x) * columns, -INFINITY);
    const float most = av_reduce_block<av_max, THREADS>(part.max(), slots_max);
    av_softmax_exponentials<IS_LOG>(part, most);
    const float sum = av_reduce_block<av_sum, THREADS>(av_softmax_sum<IS_LOG>(part), slots_sum);
    av_softmax_finish<IS_LOG>(part, 1.0f / sum, logf(sum));
    part.store(out + int64_t(blockIdx.x) * columns);
}
