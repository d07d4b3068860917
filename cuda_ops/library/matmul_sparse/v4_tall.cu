// out = a b + bias with a 2:4 sparse `a`, like v3_persistent.cu, but each warpgroup multiplies TALL times 64 rows, so
// that a tile needs as many bytes of `a`, whose rows have half the length, as of `b`. The blocks of a cluster compute
// tiles below each other: each loads a part of the boxes of `b` for all of them (multicast).
#include "products/av_sparse_warpgroups.cuh"

template <class T, int GROUPS, int TALL, int COLUMNS, bool B_IS_WIDE, int STAGES_A, int STAGES_B, int BLOCKS, int GROUP,
          int OUT_BOXES>
__global__ void __launch_bounds__(128 * (GROUPS + 1), 1)
matmul_sparse_tall(const __grid_constant__ av_tensor_map a, const uint32_t* pattern, const __grid_constant__ av_tensor_map b,
                   const T* bias, const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_sparse_and_store<T, GROUPS, TALL, COLUMNS, B_IS_WIDE, STAGES_A, STAGES_B, BLOCKS, GROUP, OUT_BOXES>(
        a, pattern, b, bias, out, rows, columns, depth, room);
}
