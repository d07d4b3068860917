// Gradients of LayerNorm or RMSNorm: as v6_pipelined.cu, but the sums of the next row are on their way through the block and
// its cluster while the result of this row is computed. No thread waits for sums that it has not sent long before.
//
// Eight elements per thread need at most 64 registers: 1,024 threads then run on a processor, in one block or in several.
//
// The barrier of the cluster has two halves, arrival and wait; the result of a row is computed between them. A block that
// stands alone is a cluster of one.
#include "av_async.cuh"
#include "av_norm_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS, VECTORS * LANES <= 8 ? 1024 / THREADS : 1)
norm_backward_ahead(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                    int columns, float epsilon) {
    static_assert(STAGES >= 2, "this row and the next one");
    constexpr int WARPS = THREADS / 32, PART = THREADS * VECTORS * LANES;  // elements of a block's part of a row
    AV_DYNAMIC_SHARED(float, ring);
    AV_SHARED_ARRAY(float, counts, WARPS);
    AV_SHARED_ARRAY(av_part_state, slots, 2 * WARPS);
    AV_SHARED_ARRAY(float2, moments, 2 * BLOCKS);
    AV_SHARED_ARRAY(float2, pairs, 2 * BLOCKS);
    if (BLOCKS > 1) av_cluster_begin();
    const int first = BLOCKS > 1 ? int(av_cluster_rank()) * PART : 0;
    av_row_packs<T, LANES, VECTORS, THREADS> v, g;
    v.thread = g.thread = threadIdx.x, v.columns = g.columns = av_clamp(columns - first, 0, PART);
    const T* own_weight = weight == nullptr ? nullptr : weight + first;
    av_column_sums<VECTORS * LANES, SUMS> own;
    own.clear();

    float count = 0.0f;
#pragma unroll
    for (int i = 0; i < VECTORS; ++i) count += v.has(i) ? float(LANES) : 0.0f;
    count = av_reduce_warp<av_sum>(count);
    if (av_lane() == 0) counts[av_warp()] = count;
    const float per_element = count > 0.0f ? 1.0f / count : 0.0f;

    T* const at = reinterpret_cast<T*>(ring) + threadIdx.x * LANES;
    const auto slot = [&](int stage, int array, int i) { return at + ((stage * 2 + array) * VECTORS + i) * (THREADS * LANES); };
    const auto copy = [&](int64_t row, int stage, int i) {
        if (row >= rows || !v.has(i)) return;
        const int64_t from = row * columns + first + v.column(i);
        av_copy_async<T, LANES>(slot(stage, 0, i), x + from);
        av_copy_async<T, LANES>(slot(stage, 1, i), gradient + from);
    };
    // Adds up the row at `stage` over this warp, and sends that on its way. What `turn` has held was read a row ago.
    const auto send = [&](int stage, int turn) {
        av_part_state sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            v.at[i].clear();
            if (v.has(i)) v.at[i].load(slot(stage, 0, i));
        }
        if (!IS_RMS) sum.mean = av_reduce_warp<av_sum>(av_sum_of(v)) * per_element;
        v.stay_packed();
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            if (!v.has(i)) continue;
            float factor[LANES];
            av_weights(v, own_weight, i, factor);
            g.at[i].load(slot(stage, 1, i));
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float off = v.value(i, k) - sum.mean, h = g.value(i, k) * factor[k];
                sum.squares += off * off;
                sum.h += h;
                sum.h_off += h * off;
            }
        }
        sum.squares = av_reduce_warp<av_sum>(sum.squares);
        if (!IS_RMS) sum.h = av_reduce_warp<av_sum>(sum.h);
        sum.h_off = av_reduce_warp<av_sum>(sum.h_off);
        if (av_lane() == 0) slots[turn * WARPS + av_warp()] = sum;
        if constexpr (BLOCKS > 1) {
            __syncthreads();
            if (av_warp() == 0) {
                const av_part_state none = {0.0f, 0.0f, 0.0f, 0.0f};
                const int lane = av_lane();
                sum = av_join_lanes<IS_RMS>(lane < WARPS ? counts[lane] : 0.0f, lane < WARPS ? slots[turn * WARPS + lane] : none,
                                            float(v.columns > 0 ? v.columns : 1));
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
#pragma unroll
    for (int s = 0; s < STAGES; ++s) {
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) copy(row + s * step, s, i);
        av_commit_copies();
    }
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
        const float scale = 1.0f / sqrtf(sum.squares / float(columns) + epsilon);
        const float mean_h = sum.h / float(columns), mean_hn = sum.h_off * scale / float(columns);
        T* const out = dx + row * columns + first;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            if (!v.has(i)) continue;
            float factor[LANES], result[LANES];
            av_weights(v, own_weight, i, factor);
            v.at[i].load(slot(stage, 0, i));
            g.at[i].load(slot(stage, 1, i));
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float d = g.value(i, k), n = (v.value(i, k) - sum.mean) * scale;
                result[k] = scale * (d * factor[k] - (IS_RMS ? 0.0f : mean_h) - n * mean_hn);
                own.add(i * LANES + k, d * n, d);
            }
            av_store<T, LANES>(out + v.column(i), av_packed<T, LANES>(result));
            copy(row + STAGES * step, stage, i);
        }
        av_commit_copies();
        if (has_next) sum = receive(turn);
        stage = ahead;
    }
    if (SUMS > 0) own.template store<LANES>(v, partials + int64_t(blockIdx.x / BLOCKS) * 2 * columns + first, columns);
}
