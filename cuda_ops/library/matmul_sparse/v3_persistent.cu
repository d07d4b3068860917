// out = a b + bias with a 2:4 sparse `a`, by the sparse products of warpgroups (wgmma.sp), like matmul_half's
// v6_persistent.cu: the copy engine fills stages, two warpgroups multiply 64 x COLUMNS each, and as many blocks as run
// at the same time compute all tiles.
#include "products/av_sparse_warpgroups.cuh"

template <class T, int COLUMNS, bool B_IS_WIDE, int STAGES_A, int STAGES_B, int GROUP>
__global__ void __launch_bounds__(384, 1)
matmul_sparse_persistent(const __grid_constant__ av_tensor_map a, const uint32_t* pattern,
                         const __grid_constant__ av_tensor_map b, const T* bias, const __grid_constant__ av_tensor_map out,
                         int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_sparse_and_store<T, 2, 1, COLUMNS, B_IS_WIDE, STAGES_A, STAGES_B, 1, GROUP, 2>(a, pattern, b, bias, out, rows,
                                                                                             columns, depth, room);
}
