// out = a b in float32 like v1_three.cu, but more exact: the tensor cores truncate their sums after each product, so
// new sums are started after every RUN of the depth, over all six pairs of parts. They are added up in `out`, in
// float32 with rounding, and need no registers, so the tile is as wide as in v1_three.cu.
#include "products/av_parts.cuh"

template <int LANES>
__global__ void __launch_bounds__(256)
matmul_parts_write(const float* from, av_bf16* to, int rows, int columns, int columns_out, int64_t pitch, int64_t apart) {
    av_write_parts<LANES>(from, to, rows, columns, columns_out, pitch, apart);
}

template <int COLUMNS, int STAGES, int GROUP, bool HAS_PAIRS, int RUN>
__global__ void __launch_bounds__(384, 1)
matmul_parts_multiply(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, float* out, int rows,
                      int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    const float* const no_bias = nullptr;
    av_multiply_by_roles<av_bf16, COLUMNS, false, true, STAGES, 1, GROUP, 6 * RUN / AV_BOX, true>(
        a, b, rows, columns, 6 * depth, av_boxes_in<av_bf16>(room),
        [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, bool adds) {
            if (adds) av_add_stored_group<HAS_PAIRS>(sum, out, row, column, rows, columns);
            av_store_group_of_sums<float, HAS_PAIRS>(sum, no_bias, out, row, column, rows, columns);
        },
        av_six_pairs_of_runs<RUN>{depth});
}
