// Gradients of LayerNorm or RMSNorm: a block, or a cluster of BLOCKS blocks, takes rows in turn, while the next STAGES
// rows are copied to shared memory. The contributions of the rows to dweight and dbias stay in registers.
//
// There is one reduction per row instead of three: the sums of h and of h * (x - mean) are taken around the mean of a
// warp, and shifted to that of the row afterwards (Chan, Golub and LeVeque, 1979). Rows use two sets of reduction slots
// in turn, so that one barrier per row is enough.
#include "av_norm_ring.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS)
norm_backward_pipelined(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                        int columns, float epsilon) {
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
    const int64_t step = gridDim.x / BLOCKS;
    ring.fill(blockIdx.x / BLOCKS, step);
    if (BLOCKS > 1) av_cluster_wait();

    int stage = 0, turn = 0;
    for (int64_t row = blockIdx.x / BLOCKS; row < rows; row += step) {
        av_wait_for_copies<STAGES - 1>();
        av_part_state sum = ring.warp_sums(stage);
        if constexpr (WARPS > 1) {
            if (av_lane() == 0) slots[turn * WARPS + av_warp()] = sum;
            __syncthreads();
            const av_part_state none = {0.0f, 0.0f, 0.0f, 0.0f};
            const bool is_one = av_lane() < WARPS;
            sum = av_join_lanes<IS_RMS>(is_one ? counts[av_lane()] : 0.0f, is_one ? slots[turn * WARPS + av_lane()] : none,
                                     float(ring.v.columns > 0 ? ring.v.columns : 1));
        }
        if constexpr (BLOCKS > 1) {
            if (av_thread() < BLOCKS) {
                av_cluster_store(&moments[turn * BLOCKS + av_cluster_rank()], av_thread(), make_float2(sum.mean, sum.squares));
                av_cluster_store(&pairs[turn * BLOCKS + av_cluster_rank()], av_thread(), make_float2(sum.h, sum.h_off));
            }
            av_cluster_arrive();
            av_cluster_wait();
            const int lane = av_lane(), block = turn * BLOCKS + (lane < BLOCKS ? lane : 0);
            const float2 a = moments[block], b = pairs[block];
            const bool is_one = lane < BLOCKS;
            sum = av_join_lanes<IS_RMS>(is_one ? float(av_clamp(columns - lane * PART, 0, PART)) : 0.0f,
                                     {is_one ? a.x : 0.0f, is_one ? a.y : 0.0f, is_one ? b.x : 0.0f, is_one ? b.y : 0.0f},
                                     float(columns));
        }
        ring.finish(row, stage, sum, epsilon, dx, row + STAGES * step);
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        turn ^= 1;
    }
    ring.store_sums(partials, blockIdx.x / BLOCKS);
}
