// Softmax of the LayerNorm of long rows: a cluster of BLOCKS blocks per row, each with a part of the row in its
// registers.
//
// Two exchanges through distributed shared memory: moments, then maximum and sum.
#include "av_norm_softmax.cuh"
#include "av_welford.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS>
__global__ void __launch_bounds__(THREADS)
norm_softmax_cluster(const T* x, const T* weight, const T* bias, T* out, int columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots, 4 * 32);
    AV_SHARED_ARRAY(float2, moments, BLOCKS);
    AV_SHARED_ARRAY(float2, states, BLOCKS);
    av_cluster_begin();
    av_row_part<T, LANES, VECTORS, THREADS> part;
    const int first = int(av_cluster_rank()) * part.COLUMNS;
    const int64_t begin = int64_t(blockIdx.x / BLOCKS) * columns + first;
    part.thread = threadIdx.x, part.columns = av_clamp(columns - first, 0, part.COLUMNS);
    part.load(x + begin, 0.0f);
    const float own_mean =
        av_reduce_block<av_sum, THREADS>(part.sum(), slots) / float(part.columns > 0 ? part.columns : 1);
    const float squares = av_reduce_block<av_sum, THREADS>(av_squares_of(part, own_mean), slots + 32);
    av_exchange_in_cluster<BLOCKS>(make_float2(own_mean, squares), moments);
    av_moments row = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
        const int count = av_clamp(columns - i * part.COLUMNS, 0, part.COLUMNS);
        row = av_moments_join(row, {float(count), moments[i].x, moments[i].y});
    }
    const float scale = 1.0f / sqrtf(row.squares / float(columns) + epsilon);
    av_normalize(part, row.mean, scale, weight ? weight + first : nullptr, bias ? bias + first : nullptr);
    const float own_max = av_reduce_block<av_max, THREADS>(part.max(), slots + 64), own = av_softmax_shift(own_max);
    av_softmax_exponentials<false>(part, own);
    const float own_sum = av_reduce_block<av_sum, THREADS>(part.sum(), slots + 96);
    av_tell_cluster<BLOCKS>(make_float2(own_max, own_sum), states);
    av_softmax_state all = {states[0].x, states[0].y};
#pragma unroll
    for (int i = 1; i < BLOCKS; ++i) all = av_softmax_join(all, {states[i].x, states[i].y});
    part.scale(expf(own - av_softmax_shift(all.most)) / all.sum);
    part.store(out + begin);
}
