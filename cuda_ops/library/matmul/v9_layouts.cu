// out = a b like v8_order.cu, but each matrix may be transposed in memory and is read without a copy. A matrix whose
// neighbours along the depth are adjacent in memory is transposed element by element on the way to shared memory; the
// other layout is copied in packs.
#include "av_product.cuh"

template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS, bool A_IS_WIDE,
          bool B_IS_WIDE>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_layouts(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int rows, int columns,
               int depth) {
    constexpr int THREADS = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32;
    AV_DYNAMIC_SHARED(float, buffers);
    av_multiply_by_warps<LANES, ROWS, COLUMNS, DEPTH, WARP_ROWS, WARP_COLUMNS, STAGES, true,
                         av_layout_copies<LANES, ROWS, COLUMNS, DEPTH, THREADS, A_IS_WIDE, B_IS_WIDE>>(a, b, out, rows, columns,
                                                                                                     depth, buffers, blockIdx.x);
}
