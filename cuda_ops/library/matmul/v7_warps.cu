// out = a b. Each warp computes its own tile, WARP_ROWS x WARP_COLUMNS, of the block's ROWS x COLUMNS; STAGES steps of
// the depth are in shared memory, and the factors of the next product in registers.
//
// The lanes of a warp form a grid of 4 x 8; of 16 lanes that are served together, pairs read the same pack, which is
// read only once. Blocks that run at the same time compute neighbouring tiles in groups of GROUP rows, so that the L2
// cache serves most of their reads.
#include "av_product.cuh"

template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_warps(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int rows, int columns,
             int depth) {
    AV_DYNAMIC_SHARED(float, buffers);
    av_multiply_by_warps<LANES, ROWS, COLUMNS, DEPTH, WARP_ROWS, WARP_COLUMNS, STAGES, false>(a, b, out, rows, columns, depth,
                                                                                          buffers, blockIdx.x);
}
