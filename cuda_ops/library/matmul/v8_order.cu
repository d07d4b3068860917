// out = a b like v7_warps.cu, but a thread computes its products in serpentine order: down one column of its tile, up
// the next.
//
// A multiply-add reads three registers, and the two register banks deliver two per clock. A factor that the previous
// instruction used comes from the operand cache instead. In serpentine order one factor stays the same even at the end
// of a column.
#include "av_product.cuh"

template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_order(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int rows, int columns,
             int depth) {
    AV_DYNAMIC_SHARED(float, buffers);
    av_multiply_by_warps<LANES, ROWS, COLUMNS, DEPTH, WARP_ROWS, WARP_COLUMNS, STAGES, true>(a, b, out, rows, columns, depth,
                                                                                          buffers, blockIdx.x);
}
