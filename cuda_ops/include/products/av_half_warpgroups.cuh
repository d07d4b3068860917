// Products by warpgroups. The copy engine loads boxes of 8 KiB: 64 rows or columns of a matrix by 128 bytes of the
// depth.
//
// A stage is one step of the depth, as long as a box: two boxes of a tile of `a`, one for each warpgroup, and COLUMNS /
// 64 boxes of `b`. Elements are half precision. They may also be float32, read as TF32, or 8 bits, if both matrices
// have the deep layout (av_half_product.cuh).
#pragma once
#include "av_half_product.cuh"
#include "av_warpgroup.cuh"

constexpr int AV_BOX = 64, AV_BOX_ELEMENTS = AV_BOX * AV_BOX, AV_BOX_BYTES = AV_BOX_ELEMENTS * 2;
constexpr int AV_ROWS_OF_TWO = 2 * AV_BOX;  // of the tile that two warpgroups compute
template <class T> constexpr int AV_BOX_DEPTH = 128 / int(sizeof(T));
template <class T> constexpr int AV_ELEMENTS_OF_BOX = AV_BOX_BYTES / int(sizeof(T));

// The first address in `room` with the alignment of boxes, which the copy engine's swizzle needs.
template <class T> __device__ inline T* av_boxes_in(unsigned char* room) {
    const unsigned place = av_shared_address_of(room);
    return reinterpret_cast<T*>(room + ((place + 1023) / 1024 * 1024 - place));
}

// Copies box `number` of the tile that begins at row or column `first`, from position `from` of the depth.
template <bool IS_WIDE, class M = av_tensor_map> struct av_box_copies {
    const M& map;
    __device__ void one(void* to, int64_t first, int number, int from, uint64_t* barrier) const {
        const int side = int(first) + number * AV_BOX;
        av_copy_box(to, map, IS_WIDE ? from : side, IS_WIDE ? side : from, barrier);
    }
    __device__ void many(void* to, int64_t first, int number, int from, uint64_t* barrier, uint16_t blocks) const {
        const int side = int(first) + number * AV_BOX;
        av_copy_box_to_many(to, map, IS_WIDE ? from : side, IS_WIDE ? side : from, barrier, blocks);
    }
};

// Starts the products of one stage: sum (64 x COLUMNS) += a box of `a`, times the boxes of `b`.
template <class T, bool A_IS_WIDE, bool B_IS_WIDE, class S, int COUNT>
__device__ inline void av_multiply_stage(S (&sum)[COUNT], const T* box_a, const T* boxes_b, bool adds) {
    constexpr int STEP_A = (A_IS_WIDE ? 16 * 128 : 32) >> 4, STEP_B = (B_IS_WIDE ? 16 * 128 : 32) >> 4;
    const uint64_t a = av_describe(box_a, AV_BOX_BYTES), b = av_describe(boxes_b, AV_BOX_BYTES);
    av_products_begin();
#pragma unroll
    for (int k = 0; k < 4; ++k)  // 32 bytes of the depth each
        av_multiply_group<T, A_IS_WIDE, B_IS_WIDE>(sum, a + k * STEP_A, b + k * STEP_B, adds || k > 0);
    av_products_commit();
}

// Stores a warpgroup's sums from registers; HAS_PAIRS: two neighbours in `out` can be stored by one instruction.
template <class T, bool HAS_PAIRS = true, int COUNT>
__device__ inline void av_store_group_of_sums(const float (&sum)[COUNT], const T* bias, T* out, int64_t row, int64_t column,
                                              int rows, int columns) {
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
        const float square[4] = {sum[4 * j], sum[4 * j + 1], sum[4 * j + 2], sum[4 * j + 3]};
        av_store_square_of_sums<T, HAS_PAIRS>(square, bias, out, row + av_warp() % 4 * 16, column + 8 * j, rows, columns);
    }
}

// Adds the elements of `out` to a warpgroup's sums.
template <bool HAS_PAIRS, int COUNT>
__device__ inline void av_add_stored_group(float (&sum)[COUNT], const float* out, int64_t row, int64_t column, int rows,
                                           int columns) {
    const int lane = av_lane();
#pragma unroll
    for (int j = 0; j < COUNT / 4; ++j) {
        const int64_t c = column + 8 * j + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t r = row + av_warp() % 4 * 16 + lane / 4 + 8 * i;
            if (r >= rows || c >= columns) continue;
            const float* const from = out + r * columns + c;
            if constexpr (HAS_PAIRS) {
                const float2 pair = *reinterpret_cast<const float2*>(from);
                sum[4 * j + 2 * i] += pair.x, sum[4 * j + 2 * i + 1] += pair.y;
            } else {
                sum[4 * j + 2 * i] += from[0];
                if (c + 1 < columns) sum[4 * j + 2 * i + 1] += from[1];
            }
        }
    }
}

// Stores 64 x COLUMNS results of a warpgroup by the copy engine, through BOXES boxes in turn; `used` counts the boxes
// of all its tiles. The warpgroup uses barrier `number` of the block. `square(j, values)` computes this lane's results
// in the j-th 8 columns (order: `av_store_square_of_sums`). It is called box by box, so that its loads take few
// registers. `ahead(box)` is called one box before.
struct av_nothing_ahead {
    __device__ void operator()(int) const {}
};
template <class T, int COLUMNS, class M, int BOXES = 2, class F, class G = av_nothing_ahead>
__device__ inline void av_store_squares_by_engine(const M& out, int64_t row, int64_t column, T* boxes, int number,
                                                  int& used, F square, G ahead = G{}) {
    const int lane = av_lane(), r = av_warp() % 4 * 16 + lane % 16;
    const bool is_first = threadIdx.x % 128 == 0;
    ahead(0);
#pragma unroll
    for (int box = 0; box < COLUMNS / AV_BOX; ++box, ++used) {
        T* const to = boxes + used % BOXES * AV_BOX_ELEMENTS;
        if (box + 1 < COLUMNS / AV_BOX) ahead(box + 1);
        if (is_first) av_wait_until_read<BOXES - 1>();
        av_meet(number, 128);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float s[4], t[4];
            square(8 * box + 2 * j, s), square(8 * box + 2 * j + 1, t);
            const uint32_t words[4] = {av_pair_of<T>(s[0], s[1]), av_pair_of<T>(s[2], s[3]), av_pair_of<T>(t[0], t[1]),
                                       av_pair_of<T>(t[2], t[3])};
            av_store_matrices(to + r * AV_BOX + ((2 * j + lane / 16) ^ (r % 8)) * 8, words);
        }
        av_show_shared_to_engines();
        av_meet(number, 128);
        if (is_first) {
            av_store_box(out, int(row), int(column) + box * AV_BOX, to);
            av_commit_boxes();
        }
    }
}

// Stores a warpgroup's sums in this way, with the bias added.
template <int BOXES = 2, class T, int COUNT>
__device__ inline void av_store_group_by_engine(float (&sum)[COUNT], const T* bias, const av_tensor_map& out, int64_t row,
                                                int64_t column, int columns, T* boxes, int number, int& used) {
    if (bias) {
#pragma unroll
        for (int j = 0; j < COUNT / 4; ++j) {
            const int64_t c = column + 8 * j + av_lane() % 4 * 2;
            if (c >= columns) continue;
            const float more[2] = {av_to_float(bias[c]), av_to_float(bias[c + 1])};
#pragma unroll
            for (int i = 0; i < 4; ++i) sum[4 * j + i] += more[i % 2];
        }
    }
    const auto square = [&](int j, float(&values)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) values[i] = sum[4 * j + i];
    };
    av_store_squares_by_engine<T, 2 * COUNT, av_tensor_map, BOXES>(out, row, column, boxes, number, used, square);
}

// The present stage, and the parity of the phase of its barriers.
template <int STAGES> struct av_stage_turn {
    int stage = 0;
    unsigned parity = 0;
    __device__ void next() {
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
    __device__ int before() const { return stage == 0 ? STAGES - 1 : stage - 1; }
};

// The steps of the depth of a block in a cluster: the depth is divided into as many parts as blocks, by rank.
struct av_depth_part {
    int begin, end;
};
template <int BLOCKS> __device__ inline av_depth_part av_part_of_depth(int rank, int depth) {
    const int each = ((depth - 1) / AV_BOX / BLOCKS + 1) * AV_BOX, begin = min(depth, rank * each);
    return {begin, min(depth, begin + each)};
}

// A walk along the depth in which a step has the same position in both matrices.
struct av_same_place {
    static constexpr bool HAS_MANY = false;
    __device__ int of_a(int from) const { return from; }
    __device__ int of_b(int from) const { return from; }
};
// The same walk for `count` pairs of matrices, one after the other; a shared matrix belongs to all pairs.
struct av_many_pairs : av_same_place {
    static constexpr bool HAS_MANY = true;
    int count;
    bool a_is_shared, b_is_shared;
    __device__ av_many_pairs(int count, bool a_is_shared, bool b_is_shared)
        : count(count), a_is_shared(a_is_shared), b_is_shared(b_is_shared) {}
    __device__ int matrix_a(int pair) const { return a_is_shared ? 0 : pair; }
    __device__ int matrix_b(int pair) const { return b_is_shared ? 0 : pair; }
};

// Three warpgroups with roles: one starts the copies that fill stages, two multiply. Each block computes tiles of 128
// rows and COLUMNS columns until none is left. The BLOCKS blocks of a cluster compute tiles below each other: each
// loads a part of the boxes of columns for all of them.
//
// * `walk`: the position of step `from` in each matrix, and the number of pairs of matrices.
// * `store(sum, row, column, group)`, for several pairs `store(sum, row, column, group, pair)`: stores a warpgroup's
//   sums.
// * FRESH: if not 0, new sums are started in the tensor cores every FRESH steps, because the tensor cores truncate
//   their sums after each product. The old ones are added to sums in registers, or, with IN_MEMORY, to those that
//   `store(..., adds)` has stored.
// * S: the type of sums.
template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS, int GROUP, int FRESH = 0,
          bool IN_MEMORY = false, class S = float, class F, class W = av_same_place>
__device__ inline void av_multiply_by_roles(const av_tensor_map& a, const av_tensor_map& b, int rows, int columns, int depth,
                                            T* stages, F store, W walk = W{}) {
    constexpr int BOXES_B = COLUMNS / AV_BOX, BOX = AV_ELEMENTS_OF_BOX<T>, STEP = AV_BOX_DEPTH<T>, STAGE = (2 + BOXES_B) * BOX;
    static_assert(BOXES_B % BLOCKS == 0, "each block brings as many boxes");
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    const int group = av_group_of_thread(), rank = BLOCKS == 1 ? 0 : av_rank_in_cluster();
    if (threadIdx.x == 0) {
        av_prefetch_map(a), av_prefetch_map(b);
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 8 * BLOCKS);
        av_barriers_are_made();
    }
    if constexpr (BLOCKS == 1) __syncthreads();
    else av_cluster_barrier();
    const int64_t each = av_tile_count(AV_ROWS_OF_TWO * BLOCKS, COLUMNS, rows, columns);
    int64_t tiles = each;
    if constexpr (W::HAS_MANY) tiles *= walk.count;
    const auto place = [&](int64_t number) {
        return av_place_of_tile<GROUP>(W::HAS_MANY ? number % each : number, AV_ROWS_OF_TWO * BLOCKS, COLUMNS, rows, columns);
    };
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        av_keep_registers<40>();
        if (threadIdx.x == 0) {
            for (int64_t number = blockIdx.x / BLOCKS; number < tiles; number += gridDim.x / BLOCKS) {
                const auto tile = place(number);
#pragma unroll 1
                for (int from = 0; from < depth; from += STEP, turn.next()) {
                    T* const to = stages + turn.stage * STAGE;
                    av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                    const int from_a = walk.of_a(from), from_b = walk.of_b(from);
                    av_arrive_expecting(&full[turn.stage], STAGE * int(sizeof(T)));
                    if constexpr (W::HAS_MANY) {
                        static_assert(BLOCKS == 1, "clusters multiply one pair");
                        const int pair = int(number / each);
                        const av_map_of_pair of_a{a, walk.matrix_a(pair)}, of_b{b, walk.matrix_b(pair)};
#pragma unroll
                        for (int i = 0; i < 2; ++i)
                            av_box_copies<A_IS_WIDE, av_map_of_pair>{of_a}.one(to + i * BOX, tile.row, i, from_a,
                                                                               &full[turn.stage]);
#pragma unroll
                        for (int j = 0; j < BOXES_B; ++j)
                            av_box_copies<B_IS_WIDE, av_map_of_pair>{of_b}.one(to + (2 + j) * BOX, tile.column, j, from_b,
                                                                               &full[turn.stage]);
                        continue;
                    }
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        av_box_copies<A_IS_WIDE>{a}.one(to + i * BOX, tile.row, 2 * rank + i, from_a,
                                                        &full[turn.stage]);
#pragma unroll
                    for (int j = 0; j < BOXES_B / BLOCKS; ++j) {
                        const int box = rank * (BOXES_B / BLOCKS) + j;
                        T* const there = to + (2 + box) * BOX;
                        if constexpr (BLOCKS == 1)
                            av_box_copies<B_IS_WIDE>{b}.one(there, tile.column, box, from_b, &full[turn.stage]);
                        else
                            av_box_copies<B_IS_WIDE>{b}.many(there, tile.column, box, from_b, &full[turn.stage],
                                                             (1 << BLOCKS) - 1);
                    }
                }
            }
        }
    } else {
        av_take_registers<232>();
        const int lane = av_lane();
        const auto release = [&](int s) {
            if constexpr (BLOCKS == 1) {
                if (lane == 0) av_arrive(&empty[s]);
            } else {
                if (lane < BLOCKS) av_arrive_at(&empty[s], lane);
            }
        };
        S sum[COLUMNS / 2];
        const auto multiply = [&](int begin, int end) {  // not a loop that may have no round: its sums would be copied
            int from = begin;
#pragma unroll 1
            do {
                const T* const boxes = stages + turn.stage * STAGE;
                av_wait_for_phase(&full[turn.stage], turn.parity);
                av_multiply_stage<T, A_IS_WIDE, B_IS_WIDE>(sum, boxes + (group - 1) * BOX,
                                                           boxes + 2 * BOX, from > begin);
                av_products_wait<1>();
                if (from > begin) release(turn.before());
                from += STEP, turn.next();
            } while (from < end);
            av_products_end(sum);
            release(turn.before());
        };
        for (int64_t number = blockIdx.x / BLOCKS; number < tiles; number += gridDim.x / BLOCKS) {
            const auto tile = place(number);
            if constexpr (IN_MEMORY) {
                for (int begin = 0; begin < depth; begin += FRESH * STEP) {
                    multiply(begin, min(depth, begin + FRESH * STEP));
                    store(sum, tile.row + rank * AV_ROWS_OF_TWO + (group - 1) * AV_BOX, tile.column, begin > 0);
                }
                continue;
            } else if constexpr (FRESH == 0) {
                multiply(0, depth);
            } else {
                S total[COLUMNS / 2] = {};
                for (int begin = 0; begin < depth; begin += FRESH * STEP) {
                    multiply(begin, min(depth, begin + FRESH * STEP));
#pragma unroll
                    for (int i = 0; i < COLUMNS / 2; ++i) total[i] += sum[i];
                }
#pragma unroll
                for (int i = 0; i < COLUMNS / 2; ++i) sum[i] = total[i];
            }
            const int64_t row = tile.row + rank * AV_ROWS_OF_TWO + (group - 1) * AV_BOX;
            if constexpr (W::HAS_MANY) store(sum, row, tile.column, group, int(number / each));
            else if constexpr (!IN_MEMORY) store(sum, row, tile.column, group);
        }
    }
    if constexpr (BLOCKS > 1) av_cluster_barrier();  // no block may end while others write to its shared memory
}
