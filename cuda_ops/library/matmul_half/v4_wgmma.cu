// out = a b + bias by warpgroups of four warps, which multiply matrices in shared memory (wgmma), so that no factor
// passes through registers. One thread starts the copies of the copy engine, which fills shared memory.
//
// A block of two warpgroups computes a tile of 128 x 128; STAGES steps of the depth are loaded ahead.
#include "products/av_half_warpgroups.cuh"

template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__global__ void __launch_bounds__(256, 2)
matmul_half_wgmma(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias, T* out,
                  int rows, int columns, int depth) {
    constexpr int TILE = 128, STAGES = 3, STAGE = 4 * AV_BOX_ELEMENTS;
    AV_DYNAMIC_SHARED(unsigned char, room);
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    T* const stages = av_boxes_in<T>(room);
    const auto tile = av_place_of_tile<8>(blockIdx.x, TILE, TILE, rows, columns);
    const int group = av_group_of_thread();
    int from = 0;
    const auto fill = [&](int stage) {
        if (threadIdx.x == 0 && from < depth) {
            T* const to = stages + stage * STAGE;
            av_arrive_expecting(&full[stage], STAGE * 2);
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                av_box_copies<A_IS_WIDE>{a}.one(to + i * AV_BOX_ELEMENTS, tile.row, i, from, &full[stage]);
                av_box_copies<B_IS_WIDE>{b}.one(to + (2 + i) * AV_BOX_ELEMENTS, tile.column, i, from, &full[stage]);
            }
        }
        from += AV_BOX;
    };
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1);
        av_barriers_are_made();
    }
    __syncthreads();
    for (int s = 0; s < STAGES; ++s) fill(s);
    float sum[TILE / 2];
    int stage = 0;
    unsigned parity = 0;
#pragma unroll 1
    for (int done = 0; done < depth; done += AV_BOX) {
        const T* const boxes = stages + stage * STAGE;
        av_wait_for_phase(&full[stage], parity);
        av_multiply_stage<T, A_IS_WIDE, B_IS_WIDE>(sum, boxes + group * AV_BOX_ELEMENTS, boxes + 2 * AV_BOX_ELEMENTS, done > 0);
        av_products_end(sum);
        __syncthreads();
        fill(stage);
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
    av_store_group_of_sums(sum, bias, out, tile.row + group * AV_BOX, tile.column, rows, columns);
}
