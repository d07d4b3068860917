// Gradients of LayerNorm or RMSNorm for long rows: a cluster of BLOCKS blocks takes rows in turn, each block a part of
// the columns. It holds the row in registers and the sums for dweight and dbias in shared memory.
//
// Each row needs two exchanges through distributed shared memory: moments, then the sums of h and h * n. After the
// barrier of one exchange, the slots of the other may be written again.
#include "av_norm_backward.cuh"
#include "av_welford.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS)
norm_backward_cluster(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                      int columns, float epsilon) {
    AV_DYNAMIC_SHARED(float, sums);
    AV_SHARED_ARRAY(float, slots_mean, 32);
    AV_SHARED_ARRAY(float, slots_squares, 32);
    AV_SHARED_ARRAY(float2, slots_h, 32);
    AV_SHARED_ARRAY(float2, moments, BLOCKS);
    AV_SHARED_ARRAY(float2, pairs, BLOCKS);
    av_cluster_begin();
    av_row_packs<T, LANES, VECTORS, THREADS> g, v;
    const int first = int(av_cluster_rank()) * v.COLUMNS, clusters = gridDim.x / BLOCKS;
    g.thread = v.thread = threadIdx.x, g.columns = v.columns = av_clamp(columns - first, 0, v.COLUMNS);
    const T* own_weight = weight == nullptr ? nullptr : weight + first;
    av_shared_column_sums<VECTORS * LANES, THREADS, SUMS> own = {sums};
    own.clear();
    av_cluster_wait();
    for (int64_t row = blockIdx.x / BLOCKS; row < rows; row += clusters) {
        const int64_t begin = row * columns + first;
        v.load(x + begin);
        g.load(gradient + begin);
        float mean = 0.0f;
        if (!IS_RMS)
            mean = av_reduce_block<av_sum, THREADS>(av_sum_of(v), slots_mean) / float(v.columns > 0 ? v.columns : 1);
        v.stay_packed();
        const float part = av_reduce_block<av_sum, THREADS>(av_sum_of_squares(v, mean), slots_squares);
        av_tell_cluster<BLOCKS>(make_float2(mean, part), moments);
        av_moments all = {0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < BLOCKS; ++i) {
            const int count = av_clamp(columns - i * v.COLUMNS, 0, v.COLUMNS);
            const float2 one = moments[i];
            all = av_moments_join(all, {float(count), one.x, one.y});
        }
        mean = all.mean;
        const float scale = 1.0f / sqrtf(all.squares / float(columns) + epsilon);
        v.stay_packed();
        const float2 in_block = av_reduce_pair_block<THREADS>(av_sums_of_h(g, v, own_weight, mean, scale), slots_h);
        av_tell_cluster<BLOCKS>(in_block, pairs);
        float2 h = make_float2(0.0f, 0.0f);
#pragma unroll
        for (int i = 0; i < BLOCKS; ++i) {
            const float2 one = pairs[i];
            h = make_float2(h.x + one.x, h.y + one.y);
        }
        h = make_float2(IS_RMS ? 0.0f : h.x / float(columns), h.y / float(columns));
        v.stay_packed(), g.stay_packed();
        av_norm_backward_store(g, v, own_weight, mean, scale, h, dx + begin, own);
    }
    if (SUMS > 0) own.template store<LANES>(v, partials + int64_t(blockIdx.x / BLOCKS) * 2 * columns + first, columns);
}
