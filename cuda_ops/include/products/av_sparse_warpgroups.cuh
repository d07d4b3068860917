// Products by warpgroups of a 2:4 sparse matrix (layout: `av_sparse_pattern.cuh`) with a dense one.
//
// One instruction multiplies 32 of the depth, for which `a` has 16 values: twice as many as a dense instruction in the
// same time. It reads the same number of bytes of `a` as a dense one, and twice as many of `b`.
#pragma once
#include "av_half_warpgroups.cuh"
#include "av_sparse_pattern.cuh"

// Loads two neighbouring words of the pattern, which no kernel writes while this one runs.
__device__ inline uint2 av_load_pattern(const uint32_t* from) {
    uint2 both;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(both.x), "=r"(both.y) : "l"(from));
    return both;
}

// sum (64 x N) += a (64 x 32, 16 values in a row) b (32 x N), or sum = a b if `adds` is false. The pattern is in the
// registers of lanes 0 and 1 of each four if HALF is 0, of lanes 2 and 3 if it is 1. They must not be written until the
// product has been waited for.
#define AV_SPARSE_PRODUCT(n, d0, d1, d2, d3, d4, d5, TYPES)                                                               \
    asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %" #d3 ", 0;\n\twgmma.mma_async.sp.sync.aligned.m64n" #n     \
                 TYPES " " AV_SUMS_##n ", %" #d0 ", %" #d1 ", %" #d2 ", %" #d4 ", adds, 1, 1, 0, %" #d5 ";\n\t}"          \
                 : AV_OPERANDS_##n("+f", sum)                                                                            \
                 : "l"(a), "l"(b), "r"(pattern), "r"(adds), "n"(HALF), "n"(int(B_IS_WIDE))                                \
                 : "memory")
#define AV_SPARSE_PRODUCTS(n, count, d0, d1, d2, d3, d4, d5)                                                              \
    template <class T, int HALF, bool B_IS_WIDE>                                                                          \
    __device__ inline void av_multiply_sparse_group(float(&sum)[count], uint64_t a, uint64_t b, uint32_t pattern, int adds) { \
        if constexpr (av_is_same<T, av_bf16>) AV_SPARSE_PRODUCT(n, d0, d1, d2, d3, d4, d5, "k32.f32.bf16.bf16");          \
        else AV_SPARSE_PRODUCT(n, d0, d1, d2, d3, d4, d5, "k32.f32.f16.f16");                                             \
    }
AV_SPARSE_PRODUCTS(64, 32, 32, 33, 34, 35, 36, 37)
AV_SPARSE_PRODUCTS(128, 64, 64, 65, 66, 67, 68, 69)
AV_SPARSE_PRODUCTS(192, 96, 96, 97, 98, 99, 100, 101)
AV_SPARSE_PRODUCTS(256, 128, 128, 129, 130, 131, 132, 133)
#undef AV_SPARSE_PRODUCTS
#undef AV_SPARSE_PRODUCT

// Warpgroups with roles, as in `av_multiply_by_roles`: one fills stages, GROUPS multiply, each TALL times 64 rows. The
// blocks of a cluster compute tiles below each other, and share the boxes of `b`.
//
// `a` and `b` have separate stages. A stage of `a` has 128 of the depth: boxes of 64 x 64 values. A stage of `b` has 64
// of the depth, so that it is free again sooner. `room` holds all stages, those of `b` first. Each thread loads its
// pattern from global memory, one step before it is used. So only the tensor cores read shared memory, and a stage is
// free when their products have been waited for.
template <class T, int GROUPS, int TALL, int COLUMNS, bool B_IS_WIDE, int STAGES_A, int STAGES_B, int BLOCKS, int GROUP, class F>
__device__ inline void av_multiply_sparse(const av_tensor_map& a, const uint32_t* pattern, const av_tensor_map& b, int rows,
                                          int columns, int depth, T* room, F store) {
    constexpr int BOXES_A = GROUPS * TALL, BOXES_B = COLUMNS / AV_BOX, ROWS = BOXES_A * AV_BOX;
    constexpr int STAGE_A = BOXES_A * AV_BOX_BYTES, STAGE_B = BOXES_B * AV_BOX_BYTES;
    constexpr bool HAS_EQUAL_PARTS = BOXES_B % BLOCKS == 0;
    static_assert(HAS_EQUAL_PARTS || BLOCKS == 2, "each block brings as many boxes, or all of every second stage");
    static_assert(STAGES_A > 1 && STAGES_B > 1, "a stage is free once the products of the next one have begun");
    AV_SHARED_ARRAY(uint64_t, full_a, STAGES_A);
    AV_SHARED_ARRAY(uint64_t, empty_a, STAGES_A);
    AV_SHARED_ARRAY(uint64_t, full_b, STAGES_B);
    AV_SHARED_ARRAY(uint64_t, empty_b, STAGES_B);
    unsigned char* const stages_b = reinterpret_cast<unsigned char*>(room);
    unsigned char* const stages_a = stages_b + STAGES_B * STAGE_B;
    const int group = av_group_of_thread(), rank = BLOCKS == 1 ? 0 : av_rank_in_cluster();
    if (threadIdx.x == 0) {
        av_prefetch_map(a), av_prefetch_map(b);
        for (int s = 0; s < STAGES_A; ++s) av_barrier_init(&full_a[s], 1), av_barrier_init(&empty_a[s], 4 * GROUPS);
        for (int s = 0; s < STAGES_B; ++s) av_barrier_init(&full_b[s], 1), av_barrier_init(&empty_b[s], 4 * GROUPS * BLOCKS);
        av_barriers_are_made();
    }
    if constexpr (BLOCKS == 1) __syncthreads();
    else av_cluster_barrier();
    const int64_t tiles = av_tile_count(ROWS * BLOCKS, COLUMNS, rows, columns);
    const int steps = (depth - 1) / AV_PATTERN_DEPTH + 1;
    av_stage_turn<STAGES_A> turn_a;
    av_stage_turn<STAGES_B> turn_b;
    if (group == 0) {
        av_keep_registers<GROUPS == 3 ? 32 : 40>();
        if (threadIdx.x == 0) {
            for (int64_t number = blockIdx.x / BLOCKS; number < tiles; number += gridDim.x / BLOCKS) {
                const auto tile = av_place_of_tile<GROUP>(number, ROWS * BLOCKS, COLUMNS, rows, columns);
                const int first = int(tile.row / AV_BOX) + rank * BOXES_A;
#pragma unroll 1
                for (int step = 0; step < steps; ++step, turn_a.next()) {
                    unsigned char* const to = stages_a + turn_a.stage * STAGE_A;
                    uint64_t* const full = &full_a[turn_a.stage];
                    av_wait_for_phase(&empty_a[turn_a.stage], turn_a.parity ^ 1);
                    av_arrive_expecting(full, STAGE_A);
#pragma unroll
                    for (int i = 0; i < BOXES_A; ++i)
                        av_copy_box(to + i * AV_BOX_BYTES, a, (first + i) * AV_BOX, step * AV_BOX, full);
#pragma unroll 1
                    for (int half = 0; half < 2; ++half, turn_b.next()) {
                        unsigned char* const there = stages_b + turn_b.stage * STAGE_B;
                        av_wait_for_phase(&empty_b[turn_b.stage], turn_b.parity ^ 1);
                        av_arrive_expecting(&full_b[turn_b.stage], STAGE_B);
                        if (!HAS_EQUAL_PARTS && half != rank) continue;
                        constexpr int OWN = HAS_EQUAL_PARTS ? BOXES_B / BLOCKS : BOXES_B;
#pragma unroll
                        for (int j = 0; j < OWN; ++j) {
                            const int box = (HAS_EQUAL_PARTS ? rank * OWN : 0) + j;
                            const int from = step * AV_PATTERN_DEPTH + half * AV_BOX;
                            if constexpr (BLOCKS == 1)
                                av_box_copies<B_IS_WIDE>{b}.one(there + box * AV_BOX_BYTES, tile.column, box, from,
                                                                &full_b[turn_b.stage]);
                            else
                                av_box_copies<B_IS_WIDE>{b}.many(there + box * AV_BOX_BYTES, tile.column, box, from,
                                                                 &full_b[turn_b.stage], (1 << BLOCKS) - 1);
                        }
                    }
                }
            }
        }
    } else {
        av_take_registers<GROUPS == 3 ? 160 : 232>();
        constexpr int STEP_A = 32 >> 4, STEP_B = (B_IS_WIDE ? 32 * 128 : 64) >> 4;
        const int lane = av_lane(), first = (group - 1) * TALL;
        const auto release_a = [&] {
            if (lane == 0) av_arrive(&empty_a[turn_a.before()]);
        };
        const auto release_b = [&] {
            if constexpr (BLOCKS == 1) {
                if (lane == 0) av_arrive(&empty_b[turn_b.before()]);
            } else {
                if (lane < BLOCKS) av_arrive_at(&empty_b[turn_b.before()], lane);
            }
        };
        float sum[TALL][COLUMNS / 2];
        const int patterns = (rows - 1) / AV_PATTERN_ROWS + 1;  // of one step
        const uint32_t* mine[TALL];                             // where the patterns of the next step begin
        const auto load = [&](uint2(&to)[TALL]) {
#pragma unroll
            for (int t = 0; t < TALL; ++t) to[t] = av_load_pattern(mine[t]), mine[t] += int64_t(patterns) * AV_PATTERN_WORDS;
        };
        uint2 even[TALL], odd[TALL];  // the products of one step may still read the one while the other is loaded
        const auto begin_tile = [&](int64_t number) {
            const auto tile = av_place_of_tile<GROUP>(number, ROWS * BLOCKS, COLUMNS, rows, columns);
            const int64_t box = tile.row / AV_BOX + rank * BOXES_A + first;
#pragma unroll
            for (int t = 0; t < TALL; ++t)  // below the matrix any pattern will do, since the values there are zero
                mine[t] = pattern + min(box + t, int64_t(patterns - 1)) * AV_PATTERN_WORDS + threadIdx.x % 128 * 2;
            load(even);
        };
        // One stage of `a` and two of `b`. The pattern of the next step is loaded when no product reads `next` any
        // more.
        const auto multiply = [&](const uint2(&own)[TALL], uint2(&next)[TALL], bool adds, bool is_last) {
            const unsigned char* const boxes = stages_a + turn_a.stage * STAGE_A;
            av_wait_for_phase(&full_a[turn_a.stage], turn_a.parity);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                av_wait_for_phase(&full_b[turn_b.stage], turn_b.parity);
                const uint64_t of_b = av_describe(stages_b + turn_b.stage * STAGE_B, AV_BOX_BYTES);
                av_products_begin();
#pragma unroll
                for (int t = 0; t < TALL; ++t) {
                    const uint64_t of_a = av_describe(boxes + (first + t) * AV_BOX_BYTES) + 2 * half * STEP_A;
                    const uint32_t word = half == 0 ? own[t].x : own[t].y;
                    av_multiply_sparse_group<T, 0, B_IS_WIDE>(sum[t], of_a, of_b, word, adds || half > 0);
                    av_multiply_sparse_group<T, 1, B_IS_WIDE>(sum[t], of_a + STEP_A, of_b + STEP_B, word, true);
                }
                av_products_commit();
                av_products_wait<1>();
                if (adds || half > 0) release_b();
                if (half == 0 && adds) release_a();
                if (half == 0 && !is_last) load(next);
                turn_b.next();
            }
            turn_a.next();
        };
        if (blockIdx.x / BLOCKS < tiles) begin_tile(blockIdx.x / BLOCKS);
        for (int64_t number = blockIdx.x / BLOCKS; number < tiles; number += gridDim.x / BLOCKS) {
            const auto tile = av_place_of_tile<GROUP>(number, ROWS * BLOCKS, COLUMNS, rows, columns);
            int left = steps;
            bool adds = false;
#pragma unroll 1
            do {
                multiply(even, odd, adds, left == 1);
                if (--left == 0) break;
                multiply(odd, even, true, left == 1);
                adds = true;
            } while (--left > 0);
#pragma unroll
            for (int t = 0; t < TALL; ++t) av_products_end(sum[t]);
            release_b();
            release_a();
            if (number + gridDim.x / BLOCKS < tiles) begin_tile(number + gridDim.x / BLOCKS);
            const int64_t row = tile.row + rank * ROWS + first * AV_BOX;
#pragma unroll
            for (int t = 0; t < TALL; ++t) store(sum[t], row + t * AV_BOX, tile.column, group);
        }
    }
    if constexpr (BLOCKS > 1) av_cluster_barrier();  // no block may end while others write to its shared memory
}

// The same product; the copy engine stores the results through OUT_BOXES boxes of each warpgroup.
template <class T, int GROUPS, int TALL, int COLUMNS, bool B_IS_WIDE, int STAGES_A, int STAGES_B, int BLOCKS, int GROUP,
          int OUT_BOXES>
__device__ inline void av_multiply_sparse_and_store(const av_tensor_map& a, const uint32_t* pattern, const av_tensor_map& b,
                                                    const T* bias, const av_tensor_map& out, int rows, int columns, int depth,
                                                    unsigned char* room) {
    constexpr int STAGE_A = GROUPS * TALL * AV_BOX_BYTES, STAGE_B = COLUMNS / AV_BOX * AV_BOX_BYTES;
    T* const stages = av_boxes_in<T>(room);
    T* const boxes = stages + (STAGES_A * STAGE_A + STAGES_B * STAGE_B) / int(sizeof(T));
    int used = 0;
    av_multiply_sparse<T, GROUPS, TALL, COLUMNS, B_IS_WIDE, STAGES_A, STAGES_B, BLOCKS, GROUP>(
        a, pattern, b, rows, columns, depth, stages, [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group) {
            T* const own = boxes + (group - 1) * OUT_BOXES * AV_BOX_ELEMENTS;
            av_store_group_by_engine<OUT_BOXES>(sum, bias, out, row, column, columns, own, group, used);
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}
