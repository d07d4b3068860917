// out = a b + bias for matrices whose rows begin at addresses that the copy engine does not support, or reads slowly. A
// first kernel copies both matrices to rows that begin at multiples of 128 bytes. The second kernel is
// v6_persistent.cu, except that it stores from registers to `out`, whose rows are not padded.
#include "products/av_half_warpgroups.cuh"

// Copies the lines of a matrix as it lies in memory, with zeros behind each up to `pitch`, a multiple of 64. A block
// writes 2,048 elements of one line.
template <class T, int LANES>
__global__ void __launch_bounds__(256)
matmul_half_pad(const T* from, T* to, int lines, int line, int pitch) {
    const int chunks = (pitch - 1) / 2048 + 1;
    const int64_t row = blockIdx.x / chunks;
    const int at = int(blockIdx.x % chunks) * 2048 + int(threadIdx.x) * 8;
    if (row >= lines || at >= pitch) return;
    av_pack<T, 8> whole{};
#pragma unroll
    for (int i = 0; i < 8; i += LANES)
        if (at + i < line) {
            const auto part = av_load<T, LANES>(from + row * line + at + i);
#pragma unroll
            for (int e = 0; e < LANES; ++e) whole.at[i + e] = part.at[e];
        }
    av_store<T, 8>(to + row * pitch + at, whole);
}

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int GROUP, bool HAS_PAIRS>
__global__ void __launch_bounds__(384, 1)
matmul_half_padded(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias, T* out,
                   int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_by_roles<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, 1, GROUP>(
        a, b, rows, columns, depth, av_boxes_in<T>(room), [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int) {
            av_store_group_of_sums<T, HAS_PAIRS>(sum, bias, out, row, column, rows, columns);
        });
}
