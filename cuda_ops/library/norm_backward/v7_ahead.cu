// Gradients of LayerNorm or RMSNorm like v6_pipelined.cu, but the sums of the next row are exchanged in the block and
// its cluster while the result of the present row is computed, so that no thread waits for an exchange that has just
// begun.
//
// Eight elements per thread need at most 64 registers, so 1,024 threads run on a processor, in one block or in several.
//
// The barrier of the cluster has two halves, arrival and wait; the result of a row is computed between them. A single
// block is a cluster of one.
#include "av_norm_ring.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS, VECTORS * LANES <= 8 ? 1024 / THREADS : 1)
norm_backward_ahead(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                    int columns, float epsilon) {
    static_assert(STAGES >= 2, "this row and the next one");
    constexpr int WARPS = THREADS / 32, PART = THREADS * VECTORS * LANES;  // elements of a block's part of a row
    AV_DYNAMIC_SHARED(float, slots_of_rows);
    AV_SHARED_ARRAY(float, counts, WARPS);
    AV_SHARED_ARRAY(av_part_state, slots, 2 * WARPS);
    AV_SHARED_ARRAY(float2, moments, 2 * BLOCKS);
    AV_SHARED_ARRAY(float2, pairs, 2 * BLOCKS);
    if (BLOCKS > 1) av_cluster_begin();
    const int first = BLOCKS > 1 ? int(av_cluster_rank()) * PART : 0;
    av_norm_ring<T, LANES, VECTORS, THREADS, STAGES, IS_RMS, SUMS> ring;
    ring.x = x, ring.gradient = gradient, ring.weight = weight == nullptr ? nullptr : weight + first;
    ring.rows = rows, ring.columns = columns, ring.first = first;
    ring.begin(slots_of_rows, counts);
    // Adds up the row at `stage` over this warp, and sends that on its way. What `turn` has held was read a row ago.
    const auto send = [&](int stage, int turn) {
        av_part_state sum = ring.warp_sums(stage);
        if (av_lane() == 0) slots[turn * WARPS + av_warp()] = sum;
        if constexpr (BLOCKS > 1) {
            __syncthreads();
            if (av_warp() == 0) {
                const av_part_state none = {0.0f, 0.0f, 0.0f, 0.0f};
                const int lane = av_lane();
                sum = av_join_lanes<IS_RMS>(lane < WARPS ? counts[lane] : 0.0f, lane < WARPS ? slots[turn * WARPS + lane] : none,
                                            float(ring.v.columns > 0 ? ring.v.columns : 1));
                if (lane < BLOCKS) {
                    av_cluster_store(&moments[turn * BLOCKS + av_cluster_rank()], lane, make_float2(sum.mean, sum.squares));
                    av_cluster_store(&pairs[turn * BLOCKS + av_cluster_rank()], lane, make_float2(sum.h, sum.h_off));
                }
            }
        }
        av_cluster_arrive();
    };
    // Waits for the sums of the row that was sent last.
    const auto receive = [&](int turn) {
        av_cluster_wait();
        const int lane = av_lane();
        const av_part_state none = {0.0f, 0.0f, 0.0f, 0.0f};
        if constexpr (BLOCKS > 1) {
            const int block = turn * BLOCKS + (lane < BLOCKS ? lane : 0);
            const float2 a = moments[block], b = pairs[block];
            const av_part_state part = {a.x, a.y, b.x, b.y};
            return av_join_lanes<IS_RMS>(lane < BLOCKS ? float(av_clamp(columns - lane * PART, 0, PART)) : 0.0f,
                                         lane < BLOCKS ? part : none, float(columns));
        } else {
            return av_join_lanes<IS_RMS>(lane < WARPS ? counts[lane] : 0.0f, lane < WARPS ? slots[turn * WARPS + lane] : none,
                                         float(columns));
        }
    };

    const int64_t step = gridDim.x / BLOCKS;
    int64_t row = blockIdx.x / BLOCKS;
    ring.fill(row, step);
    if (BLOCKS > 1) av_cluster_wait();

    int stage = 0, turn = 0;
    av_part_state sum = {0.0f, 0.0f, 0.0f, 0.0f};
    if (row < rows) {
        av_wait_for_copies<STAGES - 1>();
        send(stage, turn);
        sum = receive(turn);
    }
    for (; row < rows; row += step) {
        const int ahead = stage + 1 == STAGES ? 0 : stage + 1;
        const bool has_next = row + step < rows;
        turn ^= 1;
        if (has_next) {
            av_wait_for_copies<STAGES - 2>();
            send(ahead, turn);
        }
        ring.finish(row, stage, sum, epsilon, dx, row + STAGES * step);
        if (has_next) sum = receive(turn);
        stage = ahead;
    }
    ring.store_sums(partials, blockIdx.x / BLOCKS);
}
