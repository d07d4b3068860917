// out = a b + bias like v4_wgmma.cu, but warpgroups have roles: one starts the copies of stages, two multiply. They
// wait for each other at barriers in shared memory, stage by stage, and the copying one gives its registers to the
// others.
//
// Each of the two has 64 x 256 sums, 128 registers per thread, so each box of `b` is used for twice as many products.
#include "products/av_half_warpgroups.cuh"

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES>
__global__ void __launch_bounds__(384, 1)
matmul_half_roles(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias, T* out,
                  int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_by_roles<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, 1, 8>(
        a, b, rows, columns, depth, av_boxes_in<T>(room), [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int) {
            av_store_group_of_sums(sum, bias, out, row, column, rows, columns);
        });
}
