// out = alpha a b + bias + beta c for each pair of matrices of a batch, in half precision, like matmul_half's
// v6_persistent.cu: blocks continue from the tiles of one pair to those of the next. The number of the pair is the
// third dimension of the copy engine's maps, so that elements beyond the last row of a matrix are zero, not those of
// the next matrix.
#include "products/av_half_warpgroups.cuh"

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int GROUP>
__global__ void __launch_bounds__(384, 1)
matmul_batches_persistent(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                          const T* c, const __grid_constant__ av_tensor_map out, int rows, int columns, int depth, int pairs,
                          int a_is_shared, int b_is_shared, float alpha, float beta) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    T* const stages = av_boxes_in<T>(room);
    T* const boxes = stages + STAGES * (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS;
    int used = 0;
    const auto store = [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group, int pair) {
        const int64_t own_row = row + av_warp() % 4 * 16 + av_lane() / 4, own_column = column + av_lane() % 4 * 2;
        const T* const added = c + int64_t(pair) * rows * columns;
        av_pack<T, 2> ahead[2][16];  // of c, for two boxes: of 8 x 8 columns, two rows each
        const auto fetch = [&](int box) {
            if (!c) return;
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                const int64_t r = own_row + k % 2 * 8, to = own_column + 64 * box + k / 2 * 8;
                if (r < rows && to < columns) ahead[box % 2][k] = av_load<T, 2>(added + r * columns + to);
            }
        };
        const auto square = [&](int j, float(&values)[4]) {
            const int64_t to = own_column + 8 * j;  // columns are a multiple of 8: with one, its neighbour is there
            float shift[2] = {}, more[4] = {};
            if (bias && to < columns) av_unpack<T, 2>(av_load<T, 2>(bias + to), shift);
            if (c) {
#pragma unroll
                for (int i = 0; i < 2; ++i) av_unpack<T, 2>(ahead[j / 8 % 2][j % 8 * 2 + i], more + 2 * i);
            }
#pragma unroll
            for (int e = 0; e < 4; ++e) values[e] = alpha * sum[4 * j + e] + shift[e % 2] + beta * more[e];
        };
        av_store_squares_by_engine<T, COLUMNS>(av_map_of_pair{out, pair}, row, column, boxes + (group - 1) * 2 * AV_BOX_ELEMENTS,
                                               group, used, square, fetch);
    };
    av_multiply_by_roles<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, 1, GROUP>(
        a, b, rows, columns, depth, stages, store, av_many_pairs{pairs, a_is_shared != 0, b_is_shared != 0});
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}
