// out = a b. A thread computes eight elements of one column, so it uses an element of `b` from shared memory for eight
// products.
#include "av_vector.cuh"

template <class T>
__global__ void __launch_bounds__(512)
matmul_column(const T* a, const T* b, T* out, int rows, int columns, int depth) {
    constexpr int TILE = 64, DEPTH = 8, EACH = 8;
    AV_SHARED_ARRAY(float, tile_a, TILE * DEPTH);
    AV_SHARED_ARRAY(float, tile_b, DEPTH * TILE);
    const int across = (columns - 1) / TILE + 1, thread = threadIdx.x;
    const int64_t first_column = int64_t(blockIdx.x % across) * TILE, first_row = int64_t(blockIdx.x / across) * TILE;
    const int x = thread % TILE, y = thread / TILE;
    const int64_t row_a = first_row + thread / DEPTH, column = first_column + x;
    float sum[EACH] = {};
    for (int64_t from = 0; from < depth; from += DEPTH) {
        const int64_t k_a = from + thread % DEPTH, k_b = from + y;
        tile_a[thread] = row_a < rows && k_a < depth ? a[row_a * depth + k_a] : 0.0f;
        tile_b[thread] = k_b < depth && column < columns ? b[k_b * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            const float factor = tile_b[k * TILE + x];
#pragma unroll
            for (int i = 0; i < EACH; ++i) sum[i] += tile_a[(y * EACH + i) * DEPTH + k] * factor;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int64_t row = first_row + y * EACH + i;
        if (row < rows && column < columns) out[row * columns + column] = sum[i];
    }
}
