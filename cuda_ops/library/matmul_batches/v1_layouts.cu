// out = alpha a b + beta c for each pair of matrices of a batch, in float32, like matmul's v9_layouts.cu. Consecutive
// blocks compute the tiles of the first pair, then those of the next. Sums are scaled, and c is added, before they are
// stored.
#include "../matmul/av_product.cuh"

// alpha times the sums, plus beta times what `c` has in their places; without `c`, nothing is added.
struct av_scaled_sums {
    const float* c;
    float alpha, beta;
    template <int LANES> __device__ av_pack<float, LANES> pack(const float* sums, int64_t place) const {
        float made[LANES], more[LANES] = {};
        if (c) av_unpack<float, LANES>(av_load<float, LANES>(c + place), more);
#pragma unroll
        for (int i = 0; i < LANES; ++i) made[i] = alpha * sums[i] + beta * more[i];
        return av_packed<float, LANES>(made);
    }
};

// Matrices of `a` lie `apart_a` elements apart, 0 if one serves all; so do those of `b`.
template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS, bool A_IS_WIDE,
          bool B_IS_WIDE>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_batches_layouts(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c,
                       float* __restrict__ out, int rows, int columns, int depth, int64_t apart_a, int64_t apart_b, float alpha,
                       float beta) {
    constexpr int THREADS = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32;
    AV_DYNAMIC_SHARED(float, buffers);
    const unsigned tiles = unsigned((rows - 1) / ROWS + 1) * unsigned((columns - 1) / COLUMNS + 1);
    const int64_t pair = blockIdx.x / tiles, from = pair * rows * columns;
    av_multiply_by_warps<LANES, ROWS, COLUMNS, DEPTH, WARP_ROWS, WARP_COLUMNS, STAGES, true,
                         av_layout_copies<LANES, ROWS, COLUMNS, DEPTH, THREADS, A_IS_WIDE, B_IS_WIDE>>(
        a + pair * apart_a, b + pair * apart_b, out + from, rows, columns, depth, buffers, blockIdx.x % tiles,
        av_scaled_sums{c ? c + from : nullptr, alpha, beta});
}
