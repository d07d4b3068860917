// Products of half-precision matrices whose whole rows are normalized (softmax or LayerNorm) before they are stored.
//
// A cluster computes 64 rows: each of its blocks 2 COLUMNS columns, and each of the block's two warpgroups COLUMNS. So
// the registers of a cluster hold all sums of the rows. Each warpgroup computes a statistic of two numbers of its part
// of each row and writes it to the shared memory of all blocks. There each block joins the statistics of all parts,
// always in the same order.
#pragma once
#include "av_half_warpgroups.cuh"

constexpr float AV_LOG2_E = 1.4426950408889634f;

// e^x for x <= 0, by the instruction for powers of two. This gives 0 for results below 2^-126, so 2^24 times the power
// is computed.
__device__ inline float av_power_of_less(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * AV_LOG2_E + 24.0f));
    return power * 0x1p-24f;
}
__device__ inline float av_sum_of_quad(float x) {
    x += __shfl_xor_sync(AV_FULL_WARP, x, 1);
    return x + __shfl_xor_sync(AV_FULL_WARP, x, 2);
}
__device__ inline float av_max_of_quad(float x) {
    x = fmaxf(x, __shfl_xor_sync(AV_FULL_WARP, x, 1));
    return fmaxf(x, __shfl_xor_sync(AV_FULL_WARP, x, 2));
}

// The statistics of a softmax: the greatest number of a part, and the sum of e^(x - greatest).
struct av_softmax_of_rows {
    float factor[2], greatest[2];
    // Leaves e^(x - greatest) in `sum`; `valid` columns of the part are in the matrix.
    template <int COUNT> __device__ void begin(float (&sum)[COUNT], int valid, float2 (&statistic)[2]) {
        const int first = av_lane() % 4 * 2;
#pragma unroll
        for (int j = 0; j < COUNT / 4; ++j)
            if (8 * j + first >= valid) sum[4 * j] = sum[4 * j + 1] = sum[4 * j + 2] = sum[4 * j + 3] = -INFINITY;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float most = -INFINITY, total = 0.0f;
#pragma unroll
            for (int k = 0; k < COUNT / 2; ++k)
                most = fmaxf(most, sum[k / 2 * 4 + 2 * i + k % 2]);
            most = av_max_of_quad(most);
            const float from = most == -INFINITY ? 0.0f : most;  // else -inf - -inf
#pragma unroll
            for (int k = 0; k < COUNT / 2; ++k) {
                float& x = sum[k / 2 * 4 + 2 * i + k % 2];
                x = av_power_of_less(x - from);
                total += x;
            }
            greatest[i] = most;
            statistic[i] = make_float2(most, av_sum_of_quad(total));
        }
    }
    // Joins the statistics of row i: those of part p are at p * apart.
    template <int PARTS, int COLUMNS> __device__ void take(int i, const float2* statistics, int apart, int columns) {
        float most = -INFINITY, total = 0.0f;
#pragma unroll
        for (int p = 0; p < PARTS; ++p) most = fmaxf(most, statistics[p * apart].x);
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
            const float2 part = statistics[p * apart];
            total += part.y * exp2f((part.x - most) * AV_LOG2_E);
        }
        factor[i] = greatest[i] == -INFINITY ? 0.0f * total : exp2f((greatest[i] - most) * AV_LOG2_E) / total;
    }
    // The results of four sums (order: `av_store_square_of_sums`) from `column` on.
    __device__ void finish(const float* sum, float (&values)[4], int64_t) const {
#pragma unroll
        for (int e = 0; e < 4; ++e) values[e] = sum[e] * factor[e / 2];
    }
};

// The statistics of a LayerNorm: the mean of a part, and the sum of squares of the differences to it.
template <class T> struct av_layer_norm_of_rows {
    const T *weight, *shift;
    float epsilon;
    float mean[2], scale[2];
    template <int COUNT> __device__ void begin(float (&sum)[COUNT], int valid, float2 (&statistic)[2]) {
        const int first = av_lane() % 4 * 2;
        const float count = float(max(1, min(valid, 2 * COUNT)));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float total = 0.0f, squares = 0.0f;
#pragma unroll
            for (int k = 0; k < COUNT / 2; ++k)
                if (k / 2 * 8 + first + k % 2 < valid) total += sum[k / 2 * 4 + 2 * i + k % 2];
            const float own = av_sum_of_quad(total) / count;
#pragma unroll
            for (int k = 0; k < COUNT / 2; ++k) {
                const float off = sum[k / 2 * 4 + 2 * i + k % 2] - own;
                if (k / 2 * 8 + first + k % 2 < valid) squares += off * off;
            }
            statistic[i] = make_float2(own, av_sum_of_quad(squares));
        }
    }
    template <int PARTS, int COLUMNS> __device__ void take(int i, const float2* statistics, int apart, int columns) {
        float middle = 0.0f, squares = 0.0f;
#pragma unroll
        for (int p = 0; p < PARTS; ++p)
            middle += statistics[p * apart].x * float(max(0, min(columns - p * COLUMNS, COLUMNS)));
        middle /= float(columns);
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
            const float2 part = statistics[p * apart];
            const float off = part.x - middle, count = float(max(0, min(columns - p * COLUMNS, COLUMNS)));
            if (count > 0.0f) squares += part.y + off * off * count;
        }
        mean[i] = middle, scale[i] = 1.0f / sqrtf(squares / float(columns) + epsilon);
    }
    __device__ void finish(const float* sum, float (&values)[4], int64_t column) const {
        float factor[2] = {1.0f, 1.0f}, more[2] = {};
        if (weight) av_unpack<T, 2>(av_load<T, 2>(weight + column), factor);
        if (shift) av_unpack<T, 2>(av_load<T, 2>(shift + column), more);
#pragma unroll
        for (int e = 0; e < 4; ++e) values[e] = (sum[e] - mean[e / 2]) * scale[e / 2] * factor[e % 2] + more[e % 2];
    }
};

// Computes all tiles of 64 rows of this cluster of BLOCKS blocks. `rule` holds the statistics of a thread's two rows.
template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS, class R>
__device__ inline void av_multiply_rows(const av_tensor_map& a, const av_tensor_map& b, const T* bias, const av_tensor_map& out,
                                        int rows, int columns, int depth, unsigned char* room, R rule) {
    constexpr int BOXES_B = 2 * COLUMNS / AV_BOX, STAGE = (1 + BOXES_B) * AV_BOX_ELEMENTS, PARTS = 2 * BLOCKS;
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    AV_SHARED_ARRAY(uint64_t, known, 2);
    AV_SHARED_ARRAY(float2, statistics, 2 * PARTS * AV_BOX);
    T* const stages = av_boxes_in<T>(room);
    const int group = av_group_of_thread(), rank = BLOCKS == 1 ? 0 : av_rank_in_cluster();
    if (threadIdx.x == 0) {
        av_prefetch_map(a), av_prefetch_map(b);
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 8);
        for (int s = 0; s < 2; ++s) av_barrier_init(&known[s], 1);
        av_barriers_are_made();
    }
    av_cluster_barrier();
    const int tiles = (rows - 1) / AV_BOX + 1, first = int(blockIdx.x) / BLOCKS, apart = int(gridDim.x) / BLOCKS;
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        av_keep_registers<40>();
        if (threadIdx.x == 0) {
            for (int tile = first; tile < tiles; tile += apart) {
#pragma unroll 1
                for (int from = 0; from < depth; from += AV_BOX, turn.next()) {
                    T* const to = stages + turn.stage * STAGE;
                    av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                    av_arrive_expecting(&full[turn.stage], STAGE * 2);
                    av_box_copies<A_IS_WIDE>{a}.one(to, int64_t(tile) * AV_BOX, 0, from, &full[turn.stage]);
#pragma unroll
                    for (int j = 0; j < BOXES_B; ++j)
                        av_box_copies<B_IS_WIDE>{b}.one(to + (1 + j) * AV_BOX_ELEMENTS, 2 * COLUMNS * rank, j, from,
                                                        &full[turn.stage]);
                }
            }
        }
    } else {
        av_take_registers<232>();
        const int lane = av_lane(), own_row = av_warp() % 4 * 16 + lane / 4, part = 2 * rank + group - 1;
        const int column = COLUMNS * part, valid = columns - column;
        T* const boxes = stages + STAGES * STAGE + (group - 1) * 2 * AV_BOX_ELEMENTS;
        float sum[COLUMNS / 2];
        int used = 0, count = 0;
        for (int tile = first; tile < tiles; tile += apart, ++count) {
            int from = 0;
#pragma unroll 1
            do {
                const T* const stage = stages + turn.stage * STAGE;
                av_wait_for_phase(&full[turn.stage], turn.parity);
                av_multiply_stage<T, A_IS_WIDE, B_IS_WIDE>(
                    sum, stage, stage + (1 + (group - 1) * COLUMNS / AV_BOX) * AV_BOX_ELEMENTS, from > 0);
                av_products_wait<1>();
                if (from > 0 && lane == 0) av_arrive(&empty[turn.before()]);
                from += AV_BOX, turn.next();
            } while (from < depth);
            av_products_end(sum);
            if (lane == 0) av_arrive(&empty[turn.before()]);
            if (bias) {
#pragma unroll
                for (int j = 0; j < COLUMNS / 8; ++j) {
                    const int c = 8 * j + lane % 4 * 2;
                    if (c >= valid) continue;
                    float more[2];
                    av_unpack<T, 2>(av_load<T, 2>(bias + column + c), more);
#pragma unroll
                    for (int e = 0; e < 4; ++e) sum[4 * j + e] += more[e % 2];
                }
            }
            float2 statistic[2];
            rule.begin(sum, valid, statistic);
            float2* const all = statistics + count % 2 * PARTS * AV_BOX;
            uint64_t* const barrier = &known[count % 2];
            float2* const own = all + part * AV_BOX + own_row;
            if constexpr (BLOCKS == 1) {
                if (lane % 4 == 0) own[0] = statistic[0], own[8] = statistic[1];
                av_meet(3, 256);
            } else {
                if (threadIdx.x == 128) av_arrive_expecting(barrier, PARTS * AV_BOX * int(sizeof(float2)));
                if (lane % 4 == 0) {
#pragma unroll 1  // their addresses would take registers
                    for (int block = 0; block < BLOCKS; ++block) {
                        av_send_to_block(own, barrier, block, statistic[0]);
                        av_send_to_block(own + 8, barrier, block, statistic[1]);
                    }
                }
                av_wait_for_phase(barrier, unsigned(count / 2 % 2));
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) rule.template take<PARTS, COLUMNS>(i, all + own_row + 8 * i, AV_BOX, columns);
            av_store_squares_by_engine<T, COLUMNS>(
                out, int64_t(tile) * AV_BOX, column, boxes, group, used, [&](int j, float(&values)[4]) {
                    const int c = 8 * j + lane % 4 * 2;  // columns are a multiple of 8: with one, its neighbour is there
                    if (c < valid) rule.finish(sum + 4 * j, values, column + c);
                    else values[0] = values[1] = values[2] = values[3] = 0.0f;
                });
        }
        if (threadIdx.x % 128 == 0) av_wait_until_stored();
    }
    av_cluster_barrier();  // no block may end while others write to its shared memory
}
