// out = activation(a b + bias) + residual in half precision, like matmul_half's v6_persistent.cu. The operations after
// the product use its float32 sums in registers, before rounding.
#include "products/av_half_warpgroups.cuh"

// ACTIVATION: 0 nothing, 1 ReLU, 2 SiLU. A ReLU keeps NaN, as torch's does.
template <int ACTIVATION> __device__ inline float activated(float x) {
    if constexpr (ACTIVATION == 1) return x < 0.0f ? 0.0f : x;
    else if constexpr (ACTIVATION == 2) return __fdividef(x, 1.0f + __expf(-x));
    else return x;
}

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int GROUP, int ACTIVATION>
__global__ void __launch_bounds__(384, 1)
matmul_fused_engine(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                    const T* residual, const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    T* const stages = av_boxes_in<T>(room);
    T* const boxes = stages + STAGES * (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS;
    int used = 0;
    av_multiply_by_roles<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, 1, GROUP>(
        a, b, rows, columns, depth, stages, [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group) {
            const int64_t own_row = row + av_warp() % 4 * 16 + av_lane() / 4, own_column = column + av_lane() % 4 * 2;
            av_pack<T, 2> added[2][16];  // the residuals of two boxes: of 8 x 8 columns, two rows each
            const auto fetch = [&](int box) {
#pragma unroll
                for (int k = 0; k < 16; ++k) {
                    const int64_t r = own_row + k % 2 * 8, c = own_column + 64 * box + k / 2 * 8;
                    if (r < rows && c < columns) added[box % 2][k] = av_load<T, 2>(residual + r * columns + c);
                }
            };
            av_store_squares_by_engine<T, COLUMNS>(
                out, row, column, boxes + (group - 1) * 2 * AV_BOX_ELEMENTS, group, used,
                [&](int j, float(&values)[4]) {
                    const int64_t c = own_column + 8 * j;  // columns are a multiple of 8: with one, its neighbour is there
                    float shift[2] = {}, more[4] = {};
                    if (bias && c < columns) av_unpack<T, 2>(av_load<T, 2>(bias + c), shift);
                    if (residual) {
#pragma unroll
                        for (int i = 0; i < 2; ++i) av_unpack<T, 2>(added[j / 8 % 2][j % 8 * 2 + i], more + 2 * i);
                    }
#pragma unroll
                    for (int e = 0; e < 4; ++e) values[e] = activated<ACTIVATION>(sum[4 * j + e] + shift[e % 2]) + more[e];
                },
                [&](int box) {
                    if (residual) fetch(box);
                });
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}
