// out = a b. A thread computes a square of 8 x 8 elements: 64 products from 16 numbers in shared memory.
#include "av_product.cuh"

template <class T>
__global__ void __launch_bounds__(256)
matmul_square(const T* a, const T* b, T* out, int rows, int columns, int depth) {
    constexpr int TILE = 128, DEPTH = 8, EACH = 8, COPIES = TILE * DEPTH / 256;
    AV_SHARED_ARRAY(float, tile_a, TILE * DEPTH);
    AV_SHARED_ARRAY(float, tile_b, DEPTH * TILE);
    const int across = (columns - 1) / TILE + 1, thread = threadIdx.x;
    const int64_t first_column = int64_t(blockIdx.x % across) * TILE, first_row = int64_t(blockIdx.x / across) * TILE;
    const int x = thread % (TILE / EACH) * EACH, y = thread / (TILE / EACH) * EACH;
    float sum[EACH][EACH] = {};
    for (int64_t from = 0; from < depth; from += DEPTH) {
#pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            const int i = c * 256 + thread;
            const int64_t row = first_row + i / DEPTH, k_a = from + i % DEPTH;
            const int64_t k_b = from + i / TILE, column = first_column + i % TILE;
            tile_a[i] = row < rows && k_a < depth ? a[row * depth + k_a] : 0.0f;
            tile_b[i] = k_b < depth && column < columns ? b[k_b * columns + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float of_a[EACH], of_b[EACH];
#pragma unroll
            for (int i = 0; i < EACH; ++i) of_a[i] = tile_a[(y + i) * DEPTH + k], of_b[i] = tile_b[k * TILE + x + i];
            av_add_products(of_a, of_b, sum);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            const int64_t row = first_row + y + i, column = first_column + x + j;
            if (row < rows && column < columns) out[row * columns + column] = sum[i][j];
        }
    }
}
