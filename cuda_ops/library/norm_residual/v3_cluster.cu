// Residual and norm of long rows: a cluster of BLOCKS blocks per row, each with a part of the sum in its registers.
#include "av_norm_residual.cuh"
#include "av_welford.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS)
norm_residual_cluster(const T* x, const T* residual, const T* weight, const T* bias, T* total, T* out, int columns,
                      float epsilon) {
    AV_SHARED_ARRAY(float, slots, 2 * 32);
    AV_SHARED_ARRAY(float2, moments, BLOCKS);
    av_cluster_begin();
    av_row_part<T, LANES, VECTORS, THREADS> part;
    const int first = int(av_cluster_rank()) * part.COLUMNS;
    const int64_t begin = int64_t(blockIdx.x / BLOCKS) * columns + first;
    part.thread = threadIdx.x, part.columns = av_clamp(columns - first, 0, part.COLUMNS);
    av_add_residual(part, x + begin, residual + begin, total + begin);
    float mean = 0.0f;
    if (!IS_RMS)
        mean = av_reduce_block<av_sum, THREADS>(part.sum(), slots) / float(part.columns > 0 ? part.columns : 1);
    const float squares = av_reduce_block<av_sum, THREADS>(av_squares_of(part, mean), slots + 32);
    av_exchange_in_cluster<BLOCKS>(make_float2(mean, squares), moments);
    av_moments row = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) {
        const int count = av_clamp(columns - i * part.COLUMNS, 0, part.COLUMNS);
        row = av_moments_join(row, {float(count), moments[i].x, moments[i].y});
    }
    const float scale = 1.0f / sqrtf(row.squares / float(columns) + epsilon);
    av_normalize(part, row.mean, scale, weight ? weight + first : nullptr, bias ? bias + first : nullptr);
    part.store(out + begin);
}
