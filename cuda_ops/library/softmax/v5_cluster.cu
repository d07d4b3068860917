// Softmax of long rows: a cluster of BLOCKS blocks per row, each with a part of the row in its registers.
//
// Each block computes maximum and sum of its part and sends them to the others through distributed shared memory, one
// exchange per row. Then it rescales its exponentials to the maximum of the whole row.
#include "av_reduce.cuh"
#include "av_row.cuh"
#include "av_softmax.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS) softmax_cluster(const T* x, T* out, int columns) {
    AV_SHARED_ARRAY(float, slots_max, 32);
    AV_SHARED_ARRAY(float, slots_sum, 32);
    AV_SHARED_ARRAY(float2, parts, BLOCKS);
    av_cluster_begin();
    av_row_part<T, LANES, VECTORS, THREADS> part;
    const int first = int(av_cluster_rank()) * part.COLUMNS;
    const int64_t begin = int64_t(blockIdx.x / BLOCKS) * columns + first;
    part.thread = threadIdx.x, part.columns = av_clamp(columns - first, 0, part.COLUMNS);
    part.load(x + begin, -INFINITY);
    const float own_max = av_reduce_block<av_max, THREADS>(part.max(), slots_max), own = av_softmax_shift(own_max);
    av_softmax_exponentials<IS_LOG>(part, own);
    const float own_sum = av_reduce_block<av_sum, THREADS>(av_softmax_sum<IS_LOG>(part), slots_sum);
    av_exchange_in_cluster<BLOCKS>(make_float2(own_max, own_sum), parts);
    av_softmax_state all = {parts[0].x, parts[0].y};
#pragma unroll
    for (int i = 1; i < BLOCKS; ++i) all = av_softmax_join(all, {parts[i].x, parts[i].y});
    const float shift = av_softmax_shift(all.most);
    av_softmax_finish<IS_LOG>(part, expf(own - shift) / all.sum, (shift - own) + logf(all.sum));
    part.store(out + begin);
}
