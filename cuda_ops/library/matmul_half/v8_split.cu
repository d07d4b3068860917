// out = a b + bias for few tiles and a long depth: the blocks of a cluster compute one tile, each a part of its depth.
// Their sums are joined in shared memory: each block adds up and stores a part of the rows, in the order of the blocks.
#include "products/av_half_warpgroups.cuh"

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(384, 1)
matmul_half_split(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias, T* out,
                  int rows, int columns, int depth) {
    constexpr int STAGE = (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS, PITCH = COLUMNS + 8, EACH = AV_ROWS_OF_TWO / BLOCKS;
    AV_DYNAMIC_SHARED(unsigned char, room);
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    T* const stages = av_boxes_in<T>(room);
    float* const sums = reinterpret_cast<float*>(stages + STAGES * STAGE);
    const int group = av_group_of_thread(), rank = av_rank_in_cluster();
    const auto tile = av_place_of_tile<8>(blockIdx.x / BLOCKS, AV_ROWS_OF_TWO, COLUMNS, rows, columns);
    const auto part = av_part_of_depth<BLOCKS>(rank, depth);
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 8);
        av_barriers_are_made();
    }
    __syncthreads();
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        if (threadIdx.x == 0) {
#pragma unroll 1
            for (int from = part.begin; from < part.end; from += AV_BOX, turn.next()) {
                T* const to = stages + turn.stage * STAGE;
                av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                av_arrive_expecting(&full[turn.stage], STAGE * 2);
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    av_box_copies<A_IS_WIDE>{a}.one(to + i * AV_BOX_ELEMENTS, tile.row, i, from, &full[turn.stage]);
#pragma unroll
                for (int j = 0; j < COLUMNS / AV_BOX; ++j)
                    av_box_copies<B_IS_WIDE>{b}.one(to + (2 + j) * AV_BOX_ELEMENTS, tile.column, j, from, &full[turn.stage]);
            }
        }
        av_cluster_barrier();
    } else {
        float sum[COLUMNS / 2];
#pragma unroll 1
        for (int from = part.begin; from < part.end; from += AV_BOX, turn.next()) {
            const T* const boxes = stages + turn.stage * STAGE;
            av_wait_for_phase(&full[turn.stage], turn.parity);
            av_multiply_stage<T, A_IS_WIDE, B_IS_WIDE>(sum, boxes + (group - 1) * AV_BOX_ELEMENTS, boxes + 2 * AV_BOX_ELEMENTS,
                                                       from > part.begin);
            av_products_wait<1>();
            if (from > part.begin && av_lane() == 0) av_arrive(&empty[turn.before()]);
        }
        av_products_end(sum);
        if (part.begin == part.end) {
#pragma unroll
            for (float& one : sum) one = 0.0f;
        }
        const int lane = av_lane(), first = (group - 1) * AV_BOX + av_warp() % 4 * 16 + lane / 4;
#pragma unroll
        for (int j = 0; j < COLUMNS / 4; ++j) {
            float* const to = sums + (first + j % 2 * 8) * PITCH + j / 2 * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(to) = make_float2(sum[2 * j], sum[2 * j + 1]);
        }
        av_cluster_barrier();
        const int thread = int(threadIdx.x) - 128;
        for (int pack = thread; pack < EACH * COLUMNS / 8; pack += 256) {
            const int r = rank * EACH + pack / (COLUMNS / 8), c = pack % (COLUMNS / 8) * 8;
            const int64_t row = tile.row + r, column = tile.column + c;
            if (row >= rows || column >= columns) continue;
            float values[8] = {};
#pragma unroll
            for (int block = 0; block < BLOCKS; ++block) {
                float more[8];
                av_load_from_block(sums + r * PITCH + c, block, more);
#pragma unroll
                for (int i = 0; i < 8; ++i) values[i] += more[i];
            }
            if (bias) {
                float more[8];
                av_unpack<T, 8>(av_load<T, 8>(bias + column), more);
#pragma unroll
                for (int i = 0; i < 8; ++i) values[i] += more[i];
            }
            av_store<T, 8>(out + row * columns + column, av_packed<T, 8>(values));
        }
    }
    av_cluster_barrier();  // no block may end while others read its sums
}
