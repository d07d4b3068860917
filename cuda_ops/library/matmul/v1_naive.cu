// out = a b, one element per thread: a row of `a` times a column of `b`, both from global memory.
//
// A warp computes 32 neighbours in one row: it reads one element of `a` for all lanes, and 32 neighbours of `b`.
#include "av_vector.cuh"

template <class T>
__global__ void __launch_bounds__(256)
matmul_naive(const T* a, const T* b, T* out, int rows, int columns, int depth) {
    const int across = (columns - 1) / 32 + 1;
    const int64_t column = int64_t(blockIdx.x % across) * 32 + threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x / across) * 8 + threadIdx.x / 32;
    if (row >= rows || column >= columns) return;
    float sum = 0.0f;
    for (int k = 0; k < depth; ++k) sum += a[row * depth + k] * b[int64_t(k) * columns + column];
    out[row * columns + column] = sum;
}
