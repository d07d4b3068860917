// out = a b + bias with a 2:4 sparse `a`, one thread per element of the result, in float32. For each group of four of
// the depth it multiplies the two values with the elements of `b` that the pattern selects.
#include "products/av_sparse_pattern.cuh"

template <class T, bool B_IS_WIDE>
__global__ void __launch_bounds__(256)
matmul_sparse_naive(const T* values, const uint32_t* pattern, const T* b, const T* bias, T* out, int rows, int columns,
                    int depth) {
    const int across = (columns - 1) / 32 + 1;
    const int64_t column = int64_t(blockIdx.x % across) * 32 + threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x / across) * 8 + threadIdx.x / 32;
    if (row >= rows || column >= columns) return;
    const T* const line = values + row * ((int64_t(depth) + 15) / 16 * 8);
    float sum = 0.0f;
    for (int64_t k = 0; k < depth; k += 4) {
        const unsigned places = av_pattern_of_group(pattern, row, k, rows);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t at = k + (places >> 2 * i & 3);
            if (at < depth)  // what fills a part of a group may point behind the matrix
                sum += av_to_float(line[k / 2 + i]) * av_to_float(b[B_IS_WIDE ? at * columns + column : column * depth + at]);
        }
    }
    if (bias) sum += av_to_float(bias[column]);
    out[row * columns + column] = av_from_float<T>(sum);
}
