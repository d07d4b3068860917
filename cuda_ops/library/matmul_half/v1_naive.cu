// out = a b + bias, one thread per element of the result, in float32; a warp computes 32 neighbours in one row.
#include "products/av_half_product.cuh"

template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__global__ void __launch_bounds__(256)
matmul_half_naive(const T* a, const T* b, const T* bias, T* out, int rows, int columns, int depth) {
    const int across = (columns - 1) / 32 + 1;
    const int64_t column = int64_t(blockIdx.x % across) * 32 + threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x / across) * 8 + threadIdx.x / 32;
    if (row >= rows || column >= columns) return;
    float sum = 0.0f;
    for (int64_t k = 0; k < depth; ++k)
        sum += av_to_float(a[A_IS_WIDE ? k * rows + row : row * depth + k]) *
               av_to_float(b[B_IS_WIDE ? k * columns + column : column * depth + k]);
    if (bias) sum += av_to_float(bias[column]);
    out[row * columns + column] = av_from_float<T>(sum);
}
