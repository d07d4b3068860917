// out = a b in float32 by TF32 like v1_deep.cu, but a `b` in the wide layout is read without a copy, because the tensor
// cores can read their first factor from registers. So they compute the transpose, columns by rows: `b` is loaded from
// shared memory to registers, and `a` is the deep factor. Each number of `b` is rounded on the way.
//
// A block computes ROWS x 128 elements, each of its two warpgroups 64 columns. A warp's 16 columns are four packs of 16
// bytes, chosen so that its loads have no bank conflicts; a lane has two neighbours and stores them together.
#include "products/av_half_warpgroups.cuh"

constexpr int TILE_COLUMNS = 128, DEPTH = 32, BOX_OF_B = DEPTH * 32;  // elements of a step's box of `b`

// The fragments of `b` for one step, in four products of 8 of the depth: lane % 4 and 4 more, of two columns each.
__device__ inline void load_factor(uint32_t (&factor)[16], const float* box, int pack, int half) {
    const int k = av_lane() % 4;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int line = 4 * i + k;
        const float2 two = *reinterpret_cast<const float2*>(box + line * 32 + (pack ^ (line % 8)) * 4 + half * 2);
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(factor[2 * i]) : "f"(two.x));
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(factor[2 * i + 1]) : "f"(two.y));
    }
}

template <int ROWS, int STAGES, int GROUP, bool HAS_PAIRS>
__global__ void __launch_bounds__(384, 1)
matmul_tf32_registers(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, float* out, int rows,
                      int columns, int depth) {
    constexpr int BOXES_A = ROWS / AV_BOX, OF_A = ROWS * DEPTH, STAGE = OF_A + TILE_COLUMNS * DEPTH;
    AV_DYNAMIC_SHARED(unsigned char, room);
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    float* const stages = av_boxes_in<float>(room);
    const int group = av_group_of_thread();
    if (threadIdx.x == 0) {
        av_prefetch_map(a), av_prefetch_map(b);
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 8);
        av_barriers_are_made();
    }
    __syncthreads();
    const int64_t tiles = av_tile_count(ROWS, TILE_COLUMNS, rows, columns);
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        av_keep_registers<40>();
        if (threadIdx.x == 0) {
            for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
                const auto tile = av_place_of_tile<GROUP>(number, ROWS, TILE_COLUMNS, rows, columns);
#pragma unroll 1
                for (int from = 0; from < depth; from += DEPTH, turn.next()) {
                    float* const to = stages + turn.stage * STAGE;
                    av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                    av_arrive_expecting(&full[turn.stage], STAGE * 4);
#pragma unroll
                    for (int i = 0; i < BOXES_A; ++i)
                        av_copy_box(to + i * AV_BOX * DEPTH, a, int(tile.row) + i * AV_BOX, from, &full[turn.stage]);
#pragma unroll
                    for (int i = 0; i < TILE_COLUMNS / 32; ++i)
                        av_copy_box(to + OF_A + i * BOX_OF_B, b, from, int(tile.column) + i * 32, &full[turn.stage]);
                }
            }
        }
    } else {
        av_take_registers<232>();
        const int lane = av_lane(), warp = av_warp() % 4, i = lane / 4, box = 2 * (group - 1) + warp / 2;
        const int pack = i / 2 % 2 * 4 + i / 4 + warp % 2 * 2, half = i % 2;
        float sum[ROWS / 2];
        const auto step = [&](uint32_t(&factor)[16], bool is_first) {
            const float* const boxes = stages + turn.stage * STAGE;
            av_wait_for_phase(&full[turn.stage], turn.parity);
            load_factor(factor, boxes + OF_A + box * BOX_OF_B, pack, half);
            const uint64_t of_a = av_describe(boxes);
            av_products_begin();
#pragma unroll
            for (int k = 0; k < 4; ++k) av_multiply_registers(sum, factor + 4 * k, of_a + k * 2, !is_first || k > 0);
            av_products_commit();
            av_products_wait<1>();
            if (!is_first && lane == 0) av_arrive(&empty[turn.before()]);
            turn.next();
        };
        for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
            const auto tile = av_place_of_tile<GROUP>(number, ROWS, TILE_COLUMNS, rows, columns);
            uint32_t even[16], odd[16];
            int left = (depth - 1) / DEPTH;
            step(even, true);
#pragma unroll 1
            while (left > 0) {
                step(odd, false);
                if (--left == 0) break;
                step(even, false);
                --left;
            }
            av_products_end(sum);
            if (lane == 0) av_arrive(&empty[turn.before()]);
            const int64_t column = tile.column + 32 * box + pack * 4 + half * 2;
            if (column >= columns) continue;
#pragma unroll
            for (int j = 0; j < ROWS / 8; ++j) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int64_t row = tile.row + 8 * j + lane % 4 * 2 + e;
                    if (row >= rows) continue;
                    float* const to = out + row * columns + column;
                    if constexpr (HAS_PAIRS) {
                        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(sum[4 * j + e]), "f"(sum[4 * j + 2 + e])
                                     : "memory");  // the compiler would store two words: they are no neighbours in registers
                    } else {
                        to[0] = sum[4 * j + e];
                        if (column + 1 < columns) to[1] = sum[4 * j + 2 + e];
                    }
                }
            }
        }
    }
}
