// out = a b + bias. A warp computes 64 x 32 elements by products of 16 x 8 x 16 with a documented order of elements in
// the lanes (mma.sync). It loads its factors four matrices of 8 x 8 at a time (ldmatrix), adds the bias and stores its
// sums from registers. Steps of the depth are copied to shared memory without registers (cp.async), STAGES of them at a
// time.
//
// A wide matrix (av_half_product.cuh) is wide in shared memory too, and is transposed on the way to the registers.
#include "av_async.cuh"
#include "av_matrix.cuh"
#include "products/av_half_product.cuh"

template <class T, int LANES, bool A_IS_WIDE, bool B_IS_WIDE>
__global__ void __launch_bounds__(256, 2)
matmul_half_mma(const T* a, const T* b, const T* bias, T* out, int rows, int columns, int depth) {
    constexpr int TILE = 128, DEPTH = 32, STAGES = 4, TALL = 4, BROAD = 4;  // products of a warp: TALL x BROAD
    using A = av_half_tile<T, LANES, TILE, DEPTH, A_IS_WIDE, 256, 8>;
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
    copies_a.begin(a, tile.row, rows, depth), copies_b.begin(b, tile.column, columns, depth);
    int filled = 0;
    const auto fill = [&] {
        if (copies_a.left > 0) {
            copies_a.next(stages + filled * STAGE, copy);
            copies_b.next(stages + filled * STAGE + A::COUNT, copy);
        }
        av_commit_copies();
        filled = filled + 1 == STAGES ? 0 : filled + 1;
    };
    // Where a lane's row of a matrix of 8 x 8 lies: matrices 0 and 1 follow one another along the rows of a, the depth
    // of b.
    const int eighth = lane % 8, first = lane / 8 % 2 * 8, second = lane / 16 * 8;
    const int of_a = A_IS_WIDE ? (second + eighth) * A::PITCH + y + first : (y + first + eighth) * A::PITCH + second;
    const int of_b = B_IS_WIDE ? (first + eighth) * B::PITCH + x + second : (x + second + eighth) * B::PITCH + first;

    float sum[TALL][BROAD][4] = {};
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) fill();
    int stage = 0;
    for (int64_t from = 0; from < depth; from += DEPTH) {
        av_wait_for_copies<STAGES - 2>();
        __syncthreads();
        fill();
        const T* const tile_a = stages + stage * STAGE + of_a;
        const T* const tile_b = stages + stage * STAGE + A::COUNT + of_b;
#pragma unroll
        for (int k = 0; k < DEPTH; k += 16) {
            uint32_t factor_a[TALL][4], factor_b[BROAD / 2][4];
#pragma unroll
            for (int i = 0; i < TALL; ++i) {
                const T* const at = tile_a + (A_IS_WIDE ? k * A::PITCH + 16 * i : 16 * i * A::PITCH + k);
                if constexpr (A_IS_WIDE) av_load_matrices_transposed(factor_a[i], at);
                else av_load_matrices(factor_a[i], at);
            }
#pragma unroll
            for (int j = 0; j < BROAD / 2; ++j) {
                const T* const at = tile_b + (B_IS_WIDE ? k * B::PITCH + 16 * j : 16 * j * B::PITCH + k);
                if constexpr (B_IS_WIDE) av_load_matrices_transposed(factor_b[j], at);
                else av_load_matrices(factor_b[j], at);
            }
#pragma unroll
            for (int i = 0; i < TALL; ++i)
#pragma unroll
                for (int j = 0; j < BROAD; ++j)
                    av_multiply_add<T>(sum[i][j], factor_a[i], factor_b[j / 2][j % 2 * 2], factor_b[j / 2][j % 2 * 2 + 1]);
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
