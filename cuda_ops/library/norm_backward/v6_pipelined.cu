// Gradients of LayerNorm or RMSNorm: a block, or a cluster of BLOCKS blocks, takes rows in turn, while the next STAGES rows
// are on their way to shared memory; what the rows add to dweight and dbias stays in registers.
//
// A thread reads no pack but those that it has copied, so that the copies need no barrier; a slot is filled again as soon
// as the thread has read it for the last time. One reduction per row instead of three: the sums of h and of h * (x - mean)
// are taken around the mean of a warp, and moved to that of the row afterwards (Chan, Golub and LeVeque, 1979). Rows use
// two sets of reduction slots in turn, so that one barrier per row is enough.
#include "av_async.cuh"
#include "av_norm_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS)
norm_backward_pipelined(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                        int columns, float epsilon) {
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
    const int64_t step = gridDim.x / BLOCKS;
#pragma unroll
    for (int s = 0; s < STAGES; ++s) {
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) copy(blockIdx.x / BLOCKS + s * step, s, i);
        av_commit_copies();
    }
    if (BLOCKS > 1) av_cluster_wait();

    int stage = 0, turn = 0;
    for (int64_t row = blockIdx.x / BLOCKS; row < rows; row += step) {
        av_wait_for_copies<STAGES - 1>();
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
        if constexpr (WARPS > 1) {
            if (av_lane() == 0) slots[turn * WARPS + av_warp()] = sum;
            __syncthreads();
            const av_part_state none = {0.0f, 0.0f, 0.0f, 0.0f};
            const bool is_one = av_lane() < WARPS;
            sum = av_join_lanes<IS_RMS>(is_one ? counts[av_lane()] : 0.0f, is_one ? slots[turn * WARPS + av_lane()] : none,
                                     float(v.columns > 0 ? v.columns : 1));
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
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        turn ^= 1;
    }
    if (SUMS > 0) own.template store<LANES>(v, partials + int64_t(blockIdx.x / BLOCKS) * 2 * columns + first, columns);
}
