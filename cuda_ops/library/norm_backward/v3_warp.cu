// Gradients of LayerNorm or RMSNorm for short rows (at most 1,024 elements): a warp per row, with the row in its
// registers.
//
// Each warp takes rows in turn and sums their contributions to dweight and dbias in registers. At the end the warps of
// a block add these sums in shared memory, one warp after the other, and write one row of partial sums.
#include "av_norm_backward.cuh"

template <class T, int LANES, int VECTORS, int WARPS, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(WARPS * 32, WARPS < 8 ? 12 / WARPS : 1)
norm_backward_warp(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                   int columns, float epsilon) {
    AV_SHARED_ARRAY(float, sums, (SUMS > 0 ? SUMS * VECTORS * LANES * 32 : 1));
    av_row_packs<T, LANES, VECTORS, 32> g, v;
    g.thread = v.thread = av_lane(), g.columns = v.columns = columns;
    av_column_sums<VECTORS * LANES, SUMS> own;
    own.clear();
    for (int64_t row = int64_t(blockIdx.x) * WARPS + av_warp(); row < rows; row += int64_t(gridDim.x) * WARPS) {
        v.load(x + row * columns);
        g.load(gradient + row * columns);
        const float mean = IS_RMS ? 0.0f : av_reduce_warp<av_sum>(av_sum_of(v)) / float(columns);
        v.stay_packed();
        const float squares = av_reduce_warp<av_sum>(av_sum_of_squares(v, mean));
        const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
        v.stay_packed();
        float2 h = av_sums_of_h(g, v, weight, mean, scale);
        h.x = IS_RMS ? 0.0f : av_reduce_warp<av_sum>(h.x) / float(columns);
        h.y = av_reduce_warp<av_sum>(h.y) / float(columns);
        v.stay_packed(), g.stay_packed();
        av_norm_backward_store(g, v, weight, mean, scale, h, dx + row * columns, own);
    }
    if (SUMS == 0) return;
    for (int turn = 0; turn < WARPS; ++turn) {
        if (av_warp() == turn) {
#pragma unroll
            for (int i = 0; i < SUMS * VECTORS * LANES; ++i) {
                float& at = sums[i * 32 + av_lane()];
                at = (turn == 0 ? 0.0f : at) + own.at[i];
            }
        }
        __syncthreads();
    }
    if (av_warp() != 0) return;
#pragma unroll
    for (int i = 0; i < SUMS * VECTORS * LANES; ++i) own.at[i] = sums[i * 32 + av_lane()];
    own.template store<LANES>(v, partials + int64_t(blockIdx.x) * 2 * columns, columns);
}
