// out = a b like v5_vector.cu, but tiles are copied to shared memory without registers (cp.async), into two buffers in
// turn: one is filled while the other is read. A step needs one barrier instead of two.
#include "av_product.cuh"

template <int LANES>
__global__ void __launch_bounds__(256, 2)
matmul_async(const float* a, const float* b, float* out, int rows, int columns, int depth) {
    constexpr int TILE = 128, DEPTH = 8, EACH = 8;
    using Copies = av_tile_copies<LANES, TILE, TILE, DEPTH, 256>;
    AV_SHARED_ARRAY(float, buffers, 2 * Copies::FLOATS);
    const int across = (columns - 1) / TILE + 1, thread = threadIdx.x;
    const int64_t first_column = int64_t(blockIdx.x % across) * TILE, first_row = int64_t(blockIdx.x / across) * TILE;
    const int x = thread % 16 * 4, y = thread / 16 * 4;
    float sum[EACH][EACH] = {};
    Copies copies;
    copies.begin(a, b, first_row, first_column, rows, columns, depth);
    copies.next(buffers);
    int turn = 0;
    for (int64_t from = 0; from < depth; from += DEPTH, turn ^= 1) {
        av_wait_for_copies<0>();
        __syncthreads();
        copies.next(buffers + (turn ^ 1) * Copies::FLOATS);
        const float* const tile_a = buffers + turn * Copies::FLOATS;
        const float* const tile_b = tile_a + Copies::FLOATS_A;
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float of_a[EACH], of_b[EACH];
            av_load_factors<2, 64>(tile_a + k * Copies::PITCH + y, of_a);
            av_load_factors<2, 64>(tile_b + k * TILE + x, of_b);
            av_add_products(of_a, of_b, sum);
        }
    }
    av_store_sums<LANES, 64, 64>(sum, out, first_row + y, first_column + x, rows, columns);
}
