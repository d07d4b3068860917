// LayerNorm or RMSNorm of long rows: a cluster of BLOCKS blocks per row, each with a part of the row in its registers.
//
// Each block computes mean and sum of squared distances of its part and sends them to the others through distributed
// shared memory; each block joins them to those of the row (av_welford.cuh).
#include "av_norm.cuh"
#include "av_reduce.cuh"
#include "av_welford.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS, (VECTORS * LANES > 32 ? 768 : 1024) / THREADS)
norm_cluster(const T* x, const T* weight, const T* bias, T* out, int columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots_mean, 32);
    AV_SHARED_ARRAY(float, slots_squares, 32);
    AV_SHARED_ARRAY(float2, parts, BLOCKS);
    av_cluster_begin();
    av_row_packs<T, LANES, VECTORS, THREADS> part;
    const int first = int(av_cluster_rank()) * part.COLUMNS;
    const int64_t begin = int64_t(blockIdx.x / BLOCKS) * columns + first;
    part.thread = threadIdx.x, part.columns = av_clamp(columns - first, 0, part.COLUMNS);
    part.load(x + begin);
    float mean = 0.0f;
    if (!IS_RMS)
        mean = av_reduce_block<av_sum, THREADS>(av_sum_of(part), slots_mean) / float(part.columns > 0 ? part.columns : 1);
    part.stay_packed();
    const float squares = av_reduce_block<av_sum, THREADS>(av_sum_of_squares(part, mean), slots_squares);
    av_exchange_in_cluster<BLOCKS>(make_float2(mean, squares), parts);
    av_moments all = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
        const int count = av_clamp(columns - i * part.COLUMNS, 0, part.COLUMNS);
        all = av_moments_join(all, {float(count), parts[i].x, parts[i].y});
    }
    const float scale = 1.0f / sqrtf(all.squares / float(columns) + epsilon);
    part.stay_packed();
    av_norm_store(part, all.mean, scale, weight ? weight + first : nullptr, bias ? bias + first : nullptr, out + begin);
}
