// out = a b; each warp computes a tile of its own, WARP_ROWS x WARP_COLUMNS, of the block's ROWS x COLUMNS, with STAGES steps of
// the depth in shared memory, and the factors of the next product in registers.
//
// A warp's lanes are 4 x 8; of the 16 lanes that are served together, pairs read the same pack, which is read once. Blocks
// that run at once compute a square of tiles, GROUP tiles high, so that the L2 cache serves most of their reads.
#include "av_product.cuh"

template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_warps(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int rows, int columns,
             int depth) {
    constexpr int THREADS = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, GROUP = 8;
    constexpr int EACH_ROWS = WARP_ROWS / 4, EACH_COLUMNS = WARP_COLUMNS / 8;
    using Copies = av_tile_copies<LANES, ROWS, COLUMNS, DEPTH, THREADS>;
    AV_DYNAMIC_SHARED(float, buffers);
    const int across = (columns - 1) / COLUMNS + 1, down = (rows - 1) / ROWS + 1;
    const int group = int(blockIdx.x / (unsigned(across) * GROUP)), inside = int(blockIdx.x % (unsigned(across) * GROUP));
    const int high = min(GROUP, down - group * GROUP);
    const int64_t first_row = int64_t(group * GROUP + inside % high) * ROWS, first_column = int64_t(inside / high) * COLUMNS;
    const int lane = av_lane(), warp = av_warp();
    const int x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane / 2 % 8 * 4;
    const int y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + (lane / 16 * 2 + lane % 2) * 4;

    Copies copies;
    copies.begin(a, b, first_row, first_column, rows, columns, depth);
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) copies.next(buffers + s * Copies::FLOATS);

    float sum[EACH_ROWS][EACH_COLUMNS] = {}, of_a[2][EACH_ROWS], of_b[2][EACH_COLUMNS];
    const auto load = [&](const float* stage, int k) {
        av_load_factors<EACH_ROWS / 4, 16>(stage + k * Copies::PITCH + y, of_a[k % 2]);
        av_load_factors<EACH_COLUMNS / 4, 32>(stage + Copies::FLOATS_A + k * COLUMNS + x, of_b[k % 2]);
    };
    av_wait_for_copies<STAGES - 2>();
    __syncthreads();
    int stage = 0, filled = STAGES - 1;
    load(buffers, 0);
    for (int64_t from = 0; from < depth; from += DEPTH) {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k == DEPTH - 1) {
                av_wait_for_copies<STAGES - 2>();
                __syncthreads();
                stage = stage + 1 == STAGES ? 0 : stage + 1;
            }
            load(buffers + stage * Copies::FLOATS, (k + 1) % DEPTH);
            if (k == 0) {
                copies.next(buffers + filled * Copies::FLOATS);
                filled = filled + 1 == STAGES ? 0 : filled + 1;
            }
            av_add_products(of_a[k % 2], of_b[k % 2], sum);
        }
    }
    av_store_sums<LANES, 16, 32>(sum, out, first_row + y, first_column + x, rows, columns);
}
