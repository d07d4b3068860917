// Products by warpgroups in tiles of many shapes: 64 rows for each of GROUPS warpgroups, and COLUMNS columns, a
// multiple of 16. The host chooses a shape whose number of tiles fills the last round of blocks well.
//
// The depth of a tile may be shared by `parts` blocks. Each block writes its sums to memory, and the last one to finish
// adds them up in the order of the parts. So no block waits for another, and the result is bit-equal in every run.
#pragma once
#include "av_half_warpgroups.cuh"

// The places of the boxes of a stage. The blocks of a cluster compute tiles below each other, and each loads a part of
// the boxes of `b` for all of them: a part of the depth of a wide matrix, or a part of the columns of a deep one.
template <class T, int GROUPS, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int BLOCKS> struct av_shape {
    static constexpr int ROWS = GROUPS * AV_BOX, BOXES_B = (COLUMNS + AV_BOX - 1) / AV_BOX;
    static constexpr int ELEMENTS_B = B_IS_WIDE ? BOXES_B * AV_BOX_ELEMENTS : COLUMNS * AV_BOX;
    static constexpr int STAGE = GROUPS * AV_BOX_ELEMENTS + ELEMENTS_B, LINES_B = (B_IS_WIDE ? AV_BOX : COLUMNS) / BLOCKS;
    static_assert(LINES_B % 8 == 0 && LINES_B <= 256, "the swizzle of a box begins anew every 8 lines");

    __device__ static void copy(const av_tensor_map& map, T* to, int row, int column, uint64_t* barrier) {
        if constexpr (BLOCKS == 1) av_copy_box(to, map, row, column, barrier);
        else av_copy_box_to_many(to, map, row, column, barrier, (1 << BLOCKS) - 1);
    }
    // Starts the copies that fill a stage, and announces the bytes that arrive in this block.
    __device__ static void fill(const av_tensor_map& a, const av_tensor_map& b, T* to, int64_t row, int64_t column, int from,
                                int rank, uint64_t* barrier) {
        av_arrive_expecting(barrier, STAGE * int(sizeof(T)));
#pragma unroll
        for (int i = 0; i < GROUPS; ++i)
            av_box_copies<A_IS_WIDE>{a}.one(to + i * AV_BOX_ELEMENTS, row, i, from, barrier);
        T* const own = to + GROUPS * AV_BOX_ELEMENTS + rank * LINES_B * AV_BOX;
        if constexpr (B_IS_WIDE) {
#pragma unroll
            for (int j = 0; j < BOXES_B; ++j)
                copy(b, own + j * AV_BOX_ELEMENTS, from + rank * LINES_B, int(column) + j * AV_BOX, barrier);
        } else {
            copy(b, own, int(column) + rank * LINES_B, from, barrier);
        }
    }
};

// Adds the sums of all parts of a tile to those of this block, if it is the last one to finish; `is_last` is in shared
// memory. A thread writes and reads its own sums as packs of 4, each next to those of its neighbours.
template <int THREADS, int COUNT>
__device__ inline bool av_join_parts(float (&sum)[COUNT], float* sums, unsigned* counter, int part, int parts, bool* is_last) {
    constexpr int AHEAD = COUNT <= 64 ? 8 : THREADS > 256 ? 2 : 4, PACKS = COUNT / 4;
    const int thread = int(threadIdx.x) - 128;
    float4* const own = reinterpret_cast<float4*>(sums) + int64_t(part) * PACKS * THREADS + thread;
#pragma unroll
    for (int i = 0; i < PACKS; ++i)
        __stcg(own + i * THREADS, make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]));
    __threadfence();
    av_meet(4, THREADS);
    if (thread == 0) {
        *is_last = av_add_acquire_release(counter, 1u) == unsigned(parts - 1);
        if (*is_last) *counter = 0u;  // as the next launch on this stream finds it
    }
    av_meet(4, THREADS);
    const bool joins = *is_last;
    av_meet(4, THREADS);  // before the next tile's answer is written
    if (!joins) return false;
    __threadfence();
    const float4* const first = reinterpret_cast<const float4*>(sums) + thread;
#pragma unroll
    for (int i = 0; i < PACKS; i += AHEAD) {
        float total[4 * AHEAD] = {};
#pragma unroll 1
        for (int p = 0; p < parts; ++p) {
            float4 more[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; ++k)
                if (i + k < PACKS) more[k] = __ldcg(first + (int64_t(p) * PACKS + i + k) * THREADS);
#pragma unroll
            for (int k = 0; k < AHEAD; ++k)
                if (i + k < PACKS)
                    total[4 * k] += more[k].x, total[4 * k + 1] += more[k].y, total[4 * k + 2] += more[k].z,
                        total[4 * k + 3] += more[k].w;
        }
#pragma unroll
        for (int e = 0; e < 4 * AHEAD; ++e)
            if (4 * i + e < COUNT) sum[4 * i + e] = total[e];
    }
    return true;
}

// Stores a warpgroup's sums with the bias added: whole boxes by the copy engine, the remaining columns from registers.
template <class T, int OUT_BOXES, int COUNT>
__device__ inline void av_store_shape(float (&sum)[COUNT], const T* bias, const av_tensor_map& map, T* out, int64_t row,
                                      int64_t column, int rows, int columns, T* boxes, int number, int& used) {
    constexpr int COLUMNS = 2 * COUNT, WHOLE = COLUMNS / AV_BOX * AV_BOX;
    const int64_t own_column = column + av_lane() % 4 * 2;
    if constexpr (WHOLE > 0) {
        av_store_squares_by_engine<T, WHOLE, av_tensor_map, OUT_BOXES>(
            map, row, column, boxes, number, used, [&](int j, float(&values)[4]) {
                const int64_t c = own_column + 8 * j;  // columns are a multiple of 8: with one, its neighbour is there
                float more[2] = {};
                if (bias && c < columns) av_unpack<T, 2>(av_load<T, 2>(bias + c), more);
#pragma unroll
                for (int e = 0; e < 4; ++e) values[e] = sum[4 * j + e] + more[e % 2];
            });
    }
#pragma unroll
    for (int j = WHOLE / 8; j < COLUMNS / 8; ++j) {
        const float square[4] = {sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]};
        av_store_square_of_sums<T, true>(square, bias, out, row + av_warp() % 4 * 16, column + 8 * j, rows, columns);
    }
}

// The product, by blocks of GROUPS + 1 warpgroups; the first one starts the copies. REGISTERS is the number of
// registers of a thread in the other warpgroups, or 0 if all keep theirs. If tiles have parts, `partial` has 64 GROUPS
// COLUMNS floats for each part of each tile of each block, and `counters`, after the first word, a zero for each tile
// of each block.
template <class T, int GROUPS, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS, int GROUP, int REGISTERS,
          int OUT_BOXES, bool HAS_PARTS>
__device__ inline void av_multiply_shapes(const av_tensor_map& a, const av_tensor_map& b, const T* bias,
                                          const av_tensor_map& map, T* out, float* partial, unsigned* counters, int rows,
                                          int columns, int depth, int wanted_parts, unsigned char* room) {
    using S = av_shape<T, GROUPS, COLUMNS, A_IS_WIDE, B_IS_WIDE, BLOCKS>;
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    AV_SHARED(bool, is_last);
    T* const stages = av_boxes_in<T>(room);
    const int group = av_group_of_thread(), rank = BLOCKS == 1 ? 0 : av_rank_in_cluster();
    if (threadIdx.x == 0) {
        av_prefetch_map(a), av_prefetch_map(b);
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 4 * GROUPS * BLOCKS);
        av_barriers_are_made();
    }
    if constexpr (BLOCKS == 1) __syncthreads();
    else av_cluster_barrier();
    const int parts = HAS_PARTS ? wanted_parts : 1;
    const int units = int(av_tile_count(S::ROWS * BLOCKS, COLUMNS, rows, columns)) * parts;
    const int steps = (depth - 1) / AV_BOX + 1;
    const auto place = [&](int unit) {
        return av_place_of_tile<GROUP>(unit / parts, S::ROWS * BLOCKS, COLUMNS, rows, columns);
    };
    const auto begin_of = [&](int part) { return int(int64_t(part) * steps / parts) * AV_BOX; };
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        if constexpr (REGISTERS > 0) av_keep_registers<GROUPS == 3 ? 32 : 40>();
        if (threadIdx.x == 0) {
            for (int unit = int(blockIdx.x) / BLOCKS; unit < units; unit += int(gridDim.x) / BLOCKS) {
                const auto tile = place(unit);
                const int part = unit % parts, end = begin_of(part + 1);
#pragma unroll 1
                for (int from = begin_of(part); from < end; from += AV_BOX, turn.next()) {
                    av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                    S::fill(a, b, stages + turn.stage * S::STAGE, tile.row + rank * S::ROWS, tile.column, from, rank,
                            &full[turn.stage]);
                }
            }
        }
    } else {
        if constexpr (REGISTERS > 0) av_take_registers<REGISTERS>();
        const int lane = av_lane();
        const auto release = [&](int s) {
            if constexpr (BLOCKS == 1) {
                if (lane == 0) av_arrive(&empty[s]);
            } else {
                if (lane < BLOCKS) av_arrive_at(&empty[s], lane);
            }
        };
        T* const boxes = stages + STAGES * S::STAGE + (group - 1) * OUT_BOXES * AV_BOX_ELEMENTS;
        float sum[COLUMNS / 2];
        int used = 0;
        for (int unit = int(blockIdx.x) / BLOCKS; unit < units; unit += int(gridDim.x) / BLOCKS) {
            const auto tile = place(unit);
            const int part = unit % parts, begin = begin_of(part), end = begin_of(part + 1);
            int from = begin;
#pragma unroll 1
            do {
                const T* const stage = stages + turn.stage * S::STAGE;
                av_wait_for_phase(&full[turn.stage], turn.parity);
                av_multiply_stage<T, A_IS_WIDE, B_IS_WIDE>(sum, stage + (group - 1) * AV_BOX_ELEMENTS,
                                                           stage + GROUPS * AV_BOX_ELEMENTS, from > begin);
                av_products_wait<1>();
                if (from > begin) release(turn.before());
                from += AV_BOX, turn.next();
            } while (from < end);
            av_products_end(sum);
            release(turn.before());
            if constexpr (HAS_PARTS) {
                const int number = unit / parts * BLOCKS + rank;
                float* const sums = partial + int64_t(number) * parts * S::ROWS * COLUMNS;
                if (!av_join_parts<128 * GROUPS>(sum, sums, counters + 1 + number, part, parts, &is_last)) continue;
            }
            const int64_t row = tile.row + rank * S::ROWS + (group - 1) * AV_BOX;
            av_store_shape<T, OUT_BOXES>(sum, bias, map, out, row, tile.column, rows, columns, boxes, group, used);
        }
        if (threadIdx.x % 128 == 0) av_wait_until_stored();
    }
    if constexpr (BLOCKS > 1) av_cluster_barrier();  // no block may end while others write to its shared memory
}
