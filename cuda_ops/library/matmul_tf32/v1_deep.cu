// out = a b in float32 on the tensor cores, which read 10 bits of each mantissa (TF32): persistent blocks of warpgroups
// with roles, like matmul_half's v6_persistent.cu. In both matrices neighbours along the depth are adjacent in memory
// ("deep"): the tensor cores read no other layout of 4-byte elements from shared memory.
#include "products/av_half_warpgroups.cuh"

template <int COLUMNS, int STAGES, int GROUP, bool HAS_PAIRS>
__global__ void __launch_bounds__(384, 1)
matmul_tf32_deep(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, float* out, int rows,
                 int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    const float* const no_bias = nullptr;
    av_multiply_by_roles<float, COLUMNS, false, false, STAGES, 1, GROUP>(
        a, b, rows, columns, depth, av_boxes_in<float>(room),
        [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int) {
            av_store_group_of_sums<float, HAS_PAIRS>(sum, no_bias, out, row, column, rows, columns);
        });
}
