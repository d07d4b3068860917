// out = a b like v4_square.cu, but all loads and stores are packs of 16 bytes. For this the tile of `a` is transposed
// in shared memory. A thread's square consists of four squares of 4 x 4, 64 apart, so that neighbouring threads read
// neighbouring packs, which are in different banks. The packs of the next step are loaded into registers while the
// present step is computed.
#include "av_product.cuh"

template <int LANES>
__global__ void __launch_bounds__(256)
matmul_vector(const float* a, const float* b, float* out, int rows, int columns, int depth) {
    constexpr int TILE = 128, DEPTH = 8, EACH = 8, PITCH = TILE + AV_PRODUCT_PAD;
    constexpr int COPIES = TILE * DEPTH / 256 / LANES, PACKS_A = DEPTH / LANES, PACKS_B = TILE / LANES;
    AV_SHARED_ARRAY(float, tile_a, DEPTH * PITCH);
    AV_SHARED_ARRAY(float, tile_b, DEPTH * TILE);
    const int across = (columns - 1) / TILE + 1, thread = threadIdx.x;
    const int64_t first_column = int64_t(blockIdx.x % across) * TILE, first_row = int64_t(blockIdx.x / across) * TILE;
    const int x = thread % 16 * 4, y = thread / 16 * 4;
    float sum[EACH][EACH] = {};
    av_pack<float, LANES> next_a[COPIES], next_b[COPIES];
    const auto load = [&](int64_t from) {
#pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            const int i = c * 256 + thread;
            const int64_t row = first_row + i / PACKS_A, k_a = from + i % PACKS_A * LANES;
            const int64_t k_b = from + i / PACKS_B, column = first_column + i % PACKS_B * LANES;
            next_a[c] = next_b[c] = av_pack<float, LANES>{};
            if (row < rows && k_a < depth) next_a[c] = av_load<float, LANES>(a + row * depth + k_a);
            if (k_b < depth && column < columns) next_b[c] = av_load<float, LANES>(b + k_b * columns + column);
        }
    };
    load(0);
    for (int64_t from = 0; from < depth; from += DEPTH) {
#pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            const int i = c * 256 + thread;
#pragma unroll
            for (int e = 0; e < LANES; ++e) tile_a[(i % PACKS_A * LANES + e) * PITCH + i / PACKS_A] = next_a[c].at[e];
            av_store<float, LANES>(tile_b + i * LANES, next_b[c]);
        }
        __syncthreads();
        load(from + DEPTH);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float of_a[EACH], of_b[EACH];
            av_load_factors<2, 64>(tile_a + k * PITCH + y, of_a);
            av_load_factors<2, 64>(tile_b + k * TILE + x, of_b);
            av_add_products(of_a, of_b, sum);
        }
        __syncthreads();
    }
    av_store_sums<LANES, 64, 64>(sum, out, first_row + y, first_column + x, rows, columns);
}
