// out = a b. A block computes a tile of 32 x 32 elements and advances along the depth in steps of 32: it copies the two
// tiles of a step to shared memory, where each element is read 32 times.
#include "av_vector.cuh"

template <class T>
__global__ void __launch_bounds__(1024)
matmul_tile(const T* a, const T* b, T* out, int rows, int columns, int depth) {
    AV_SHARED_ARRAY(float, tile_a, 32 * 32);
    AV_SHARED_ARRAY(float, tile_b, 32 * 32);
    const int across = (columns - 1) / 32 + 1, x = threadIdx.x % 32, y = threadIdx.x / 32;
    const int64_t column = int64_t(blockIdx.x % across) * 32 + x, row = int64_t(blockIdx.x / across) * 32 + y;
    float sum = 0.0f;
    for (int64_t from = 0; from < depth; from += 32) {
        tile_a[y * 32 + x] = row < rows && from + x < depth ? a[row * depth + from + x] : 0.0f;
        tile_b[y * 32 + x] = from + y < depth && column < columns ? b[(from + y) * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) sum += tile_a[y * 32 + k] * tile_b[k * 32 + x];
        __syncthreads();
    }
    if (row < rows && column < columns) out[row * columns + column] = sum;
}
