// out = a b + bias with a 2:4 sparse `a`, like matmul_half's v3_mma.cu, by products of 16 x 8 x 32 (mma.sp): a warp
// computes 64 x 32 elements. Values and `b` are copied to shared memory without registers (cp.async), STAGES steps of
// 64 of the depth at a time. Each lane loads its part of the pattern from memory, one step ahead.
#include "av_async.cuh"
#include "products/av_half_product.cuh"
#include "products/av_sparse_matrix.cuh"

template <class T, int LANES, bool B_IS_WIDE>
__global__ void __launch_bounds__(256, LANES > 1 ? 2 : 1)
matmul_sparse_mma(const T* values, const uint32_t* pattern, const T* b, const T* bias, T* out, int rows, int columns, int depth) {
    constexpr int TILE = 128, DEPTH = 64, STAGES = 3, TALL = 4, BROAD = 4;  // products of a warp: TALL x BROAD
    using A = av_half_tile<T, LANES, TILE, DEPTH / 2, false, 256, 8>;
    using B = av_half_tile<T, LANES, TILE, DEPTH, B_IS_WIDE, 256, 8>;
    constexpr int STAGE = A::COUNT + B::COUNT;
    AV_DYNAMIC_SHARED(T, stages);
    const av_tile_place tile = av_place_of_tile<8>(blockIdx.x, TILE, TILE, rows, columns);
    const int lane = av_lane(), x = av_warp() % 4 * 32, y = av_warp() / 4 * 64;
    const auto copy = [](T* to, const T* from, bool is_there) {
        av_copy_async_or_zero<T, LANES>(to, from, is_there);
    };
    A copies_a;
    B copies_b;
    copies_a.begin(values, tile.row, rows, (depth - 1) / 16 * 8 + 8), copies_b.begin(b, tile.column, columns, depth);
    int filled = 0;
    const auto fill = [&] {
        if (copies_b.left > 0) {
            copies_a.next(stages + filled * STAGE, copy);
            copies_b.next(stages + filled * STAGE + A::COUNT, copy);
        }
        av_commit_copies();
        filled = filled + 1 == STAGES ? 0 : filled + 1;
    };
    const int64_t patterns = (rows - 1) / AV_PATTERN_ROWS + 1;  // of one step of the pattern
    const uint32_t* const own =  // below the matrix any pattern will do, since the values there are zero
        pattern + min(patterns - 1, (tile.row + y) / AV_PATTERN_ROWS) * AV_PATTERN_WORDS + 2 * lane;
    uint32_t words[TALL], ahead[TALL] = {};
    const auto look_ahead = [&](int64_t from) {
        if (from >= depth) return;
        const uint32_t* const at = own + from / AV_PATTERN_DEPTH * patterns * AV_PATTERN_WORDS + from % AV_PATTERN_DEPTH / DEPTH;
#pragma unroll
        for (int i = 0; i < TALL; ++i) ahead[i] = at[64 * i];
    };
    // Where a lane's row of a matrix of 8 x 8 lies: matrices 0 and 1 follow one another along the rows of a, the depth
    // of b.
    const int eighth = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
    const int of_a = (y + first + eighth) * A::PITCH + second;
    const int of_b = B_IS_WIDE ? (first + eighth) * B::PITCH + x + second : (x + second + eighth) * B::PITCH + first;

    float sum[TALL][BROAD][4] = {};
    look_ahead(0);
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fill();
    int stage = 0;
    for (int64_t from = 0; from < depth; from += DEPTH) {
        av_wait_for_copies<STAGES - 2>();
        __syncthreads();
        fill();
#pragma unroll
        for (int i = 0; i < TALL; ++i) words[i] = ahead[i];
        look_ahead(from + DEPTH);
        const T* const tile_a = stages + stage * STAGE + of_a;
        const T* const tile_b = stages + stage * STAGE + A::COUNT + of_b;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            uint32_t factor_a[TALL][4], factor_b[2][BROAD / 2][4];
#pragma unroll
            for (int i = 0; i < TALL; ++i) av_load_matrices(factor_a[i], tile_a + half * 16 + 16 * i * A::PITCH);
#pragma unroll
            for (int j = 0; j < BROAD; ++j) {
                const int k = half * 32 + j % 2 * 16, c = j / 2 * 16;
                const T* const at = tile_b + (B_IS_WIDE ? k * B::PITCH + c : c * B::PITCH + k);
                if constexpr (B_IS_WIDE) av_load_matrices_transposed(factor_b[j % 2][j / 2], at);
                else av_load_matrices(factor_b[j % 2][j / 2], at);
            }
#pragma unroll
            for (int i = 0; i < TALL; ++i)
#pragma unroll
                for (int j = 0; j < BROAD; ++j) {
                    const int n = j % 2 * 2;
                    const uint32_t both[4] = {factor_b[0][j / 2][n], factor_b[0][j / 2][n + 1], factor_b[1][j / 2][n],
                                              factor_b[1][j / 2][n + 1]};
                    if (half == 0) av_multiply_add_sparse<T, 0>(sum[i][j], factor_a[i], both, words[i]);
                    else av_multiply_add_sparse<T, 1>(sum[i][j], factor_a[i], both, words[i]);
                }
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
#pragma unroll
    for (int i = 0; i < TALL; ++i)
#pragma unroll
        for (int j = 0; j < BROAD; ++j)
            av_store_square_of_sums<T, (LANES > 1)>(sum[i][j], bias, out, tile.row + y + 16 * i, tile.column + x + 8 * j, rows,
                                                    columns);
}
