// out = a b as v7_warps.cu, but warps do not wait for each other at a barrier of the block. A step in shared memory has two
// barriers of its own: one says that it is full, the other that all warps have read it.
//
// A warp that is late holds up another one only when it is more than a step behind: a slot is filled two steps after it
// was read.
#include "av_barrier.cuh"
#include "av_product.cuh"

template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32, BLOCKS)
matmul_barriers(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out, int rows, int columns,
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

    AV_SHARED_ARRAY(av_barrier, full, STAGES);
    AV_SHARED_ARRAY(av_barrier, empty, STAGES);
    if (threadIdx.x < STAGES) full[threadIdx.x].init(THREADS), empty[threadIdx.x].init(THREADS / 32);
    __syncthreads();
    constexpr int AHEAD = STAGES - 2;
    Copies copies;
    copies.begin(a, b, first_row, first_column, rows, columns, depth);
#pragma unroll
    for (int s = 0; s < AHEAD; ++s) copies.next(buffers + s * Copies::FLOATS), full[s].arrive_after_copies();

    float sum[EACH_ROWS][EACH_COLUMNS] = {}, of_a[2][EACH_ROWS], of_b[2][EACH_COLUMNS];
    const auto load = [&](const float* stage, int k) {
        av_load_factors<EACH_ROWS / 4, 16>(stage + k * Copies::PITCH + y, of_a[k % 2]);
        av_load_factors<EACH_COLUMNS / 4, 32>(stage + Copies::FLOATS_A + k * COLUMNS + x, of_b[k % 2]);
    };
    int stage = 0, filled = AHEAD;
    unsigned full_parity = 0, empty_parity = 1;  // no slot was used before: the first wait for each passes
    full[0].wait(0);
    load(buffers, 0);
    for (int64_t from = 0; from < depth; from += DEPTH) {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k == DEPTH - 1) {
                __syncwarp();
                if (lane == 0) empty[stage].arrive();
                if (++stage == STAGES) stage = 0, full_parity ^= 1;
                if (from + DEPTH < depth) full[stage].wait(full_parity);
            }
            load(buffers + stage * Copies::FLOATS, (k + 1) % DEPTH);
            if (k == 0) {
                empty[filled].wait(empty_parity);
                copies.next(buffers + filled * Copies::FLOATS);
                full[filled].arrive_after_copies();
                if (++filled == STAGES) filled = 0, empty_parity ^= 1;
            }
            av_add_products(of_a[k % 2], of_b[k % 2], sum);
        }
    }
    av_store_sums<LANES, 16, 32>(sum, out, first_row + y, first_column + x, rows, columns);
}
