// out = a b + bias like v6_persistent.cu, in tiles of 64, 128 or 192 rows and of many widths. If there are few tiles,
// several blocks share the depth of a tile, and their sums are joined without a cluster. If lines do not begin at
// multiples of 32 bytes, two blocks share the boxes of `b`, as in v7_cluster.cu.
#include "products/av_half_shapes.cuh"

template <class T, int GROUPS, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS, int GROUP, int OUT_BOXES,
          bool HAS_PARTS>
__global__ void __launch_bounds__(128 * (GROUPS + 1), 1)
matmul_half_shapes(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                   const __grid_constant__ av_tensor_map map, T* out, float* partial, unsigned* counters, int rows, int columns,
                   int depth, int parts) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    constexpr int REGISTERS = GROUPS == 3 ? 160 : GROUPS == 2 ? 232 : 0;
    av_multiply_shapes<T, GROUPS, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, BLOCKS, GROUP, REGISTERS, OUT_BOXES, HAS_PARTS>(
        a, b, bias, map, out, partial, counters, rows, columns, depth, parts, room);
}
