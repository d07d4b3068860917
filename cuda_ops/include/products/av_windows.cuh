// Convolutions as products: the rows of the first factor are pixels, and its depth is the channels of all taps of a
// window.
//
// Pictures are channels last (NHWC). A box of the first factor is a patch of 64 pixels with 64 channels, shifted by a
// tap. The copy engine loads it through a map of four dimensions and fills zeros outside the picture. So the matrix of
// all windows (im2col) exists only in shared memory.
#pragma once
#include "av_half_shapes.cuh"

__device__ inline void av_copy_patch(void* to, const av_tensor_map& map, int channel, int x, int y, int picture,
                                     uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
            av_shared_address_of(to)),
        "l"(reinterpret_cast<uint64_t>(&map)), "r"(channel), "r"(x), "r"(y), "r"(picture), "r"(av_shared_address_of(barrier))
        : "memory");
}
// Copies one patch from a map of pictures; the rows of its box are the pixels of the patch.
struct av_map_of_patch {
    const av_tensor_map& map;
    int x, y, picture;
};
__device__ inline void av_store_box(const av_map_of_patch& one, int, int channel, const void* from) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
                     reinterpret_cast<uint64_t>(&one.map)),
                 "r"(channel), "r"(one.x), "r"(one.y), "r"(one.picture), "r"(av_shared_address_of(from))
                 : "memory");
}

// Pictures in patches of PATCH_WIDE x 64 / PATCH_WIDE pixels.
struct av_pictures {
    int count, height, width, channels, taps_high, taps_wide;
    template <int PATCH_WIDE> __device__ av_map_of_patch patch(const av_tensor_map& map, int64_t number) const {
        constexpr int HIGH = AV_BOX / PATCH_WIDE;
        const int across = (width - 1) / PATCH_WIDE + 1, down = (height - 1) / HIGH + 1;
        const int64_t row = number / across;
        return {map, int(number % across) * PATCH_WIDE, int(row % down) * HIGH, int(row / down)};
    }
    template <int PATCH_WIDE> __device__ int64_t patches() const {
        return int64_t((width - 1) / PATCH_WIDE + 1) * ((height - 1) / (AV_BOX / PATCH_WIDE) + 1) * count;
    }
};

// out = the windows of `pictures` times `weights`, plus bias. Blocks of three warpgroups compute tiles of two patches
// and COLUMNS channels, like `av_multiply_by_roles`. A step is one tap and 64 channels.
template <class T, int COLUMNS, int STAGES, int GROUP, int PATCH_WIDE>
__device__ inline void av_convolve(const av_tensor_map& from, const av_tensor_map& weights, const T* bias,
                                   const av_tensor_map& out, const av_pictures& pictures, int columns, unsigned char* room) {
    constexpr int STAGE = (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS;
    AV_SHARED_ARRAY(uint64_t, full, STAGES);
    AV_SHARED_ARRAY(uint64_t, empty, STAGES);
    T* const stages = av_boxes_in<T>(room);
    const int group = av_group_of_thread();
    if (threadIdx.x == 0) {
        av_prefetch_map(from), av_prefetch_map(weights);
        for (int s = 0; s < STAGES; ++s) av_barrier_init(&full[s], 1), av_barrier_init(&empty[s], 8);
        av_barriers_are_made();
    }
    __syncthreads();
    const int rows = int(pictures.template patches<PATCH_WIDE>()) * AV_BOX;
    const int64_t tiles = av_tile_count(AV_ROWS_OF_TWO, COLUMNS, rows, columns);
    const int blocks_of_channels = (pictures.channels - 1) / AV_BOX + 1, taps = pictures.taps_high * pictures.taps_wide;
    av_stage_turn<STAGES> turn;
    if (group == 0) {
        av_keep_registers<40>();
        if (threadIdx.x == 0) {
            for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
                const auto tile = av_place_of_tile<GROUP>(number, AV_ROWS_OF_TWO, COLUMNS, rows, columns);
                const av_map_of_patch first = pictures.template patch<PATCH_WIDE>(from, tile.row / AV_BOX);
                const av_map_of_patch second = pictures.template patch<PATCH_WIDE>(from, tile.row / AV_BOX + 1);
#pragma unroll 1
                for (int tap = 0; tap < taps; ++tap) {
                    const int right = tap % pictures.taps_wide - pictures.taps_wide / 2;
                    const int below = tap / pictures.taps_wide - pictures.taps_high / 2;
#pragma unroll 1
                    for (int c = 0; c < blocks_of_channels; ++c, turn.next()) {
                        T* const to = stages + turn.stage * STAGE;
                        uint64_t* const barrier = &full[turn.stage];
                        av_wait_for_phase(&empty[turn.stage], turn.parity ^ 1);
                        av_arrive_expecting(barrier, STAGE * int(sizeof(T)));
                        av_copy_patch(to, from, c * AV_BOX, first.x + right, first.y + below, first.picture, barrier);
                        av_copy_patch(to + AV_BOX_ELEMENTS, from, c * AV_BOX, second.x + right, second.y + below, second.picture,
                                      barrier);
                        const av_map_of_pair column{weights, int(tile.column)};  // channels, taps, columns
                        av_copy_box(to + 2 * AV_BOX_ELEMENTS, column, tap, c * AV_BOX, barrier);
                    }
                }
            }
        }
    } else {
        av_take_registers<232>();
        T* const boxes = stages + STAGES * STAGE + (group - 1) * 2 * AV_BOX_ELEMENTS;
        const int steps = taps * blocks_of_channels;
        float sum[COLUMNS / 2];
        int used = 0;
        for (int64_t number = blockIdx.x; number < tiles; number += gridDim.x) {
            const auto tile = av_place_of_tile<GROUP>(number, AV_ROWS_OF_TWO, COLUMNS, rows, columns);
            int step = 0;
#pragma unroll 1
            do {
                const T* const stage = stages + turn.stage * STAGE;
                av_wait_for_phase(&full[turn.stage], turn.parity);
                av_multiply_stage<T, false, false>(sum, stage + (group - 1) * AV_BOX_ELEMENTS, stage + 2 * AV_BOX_ELEMENTS,
                                                   step > 0);
                av_products_wait<1>();
                if (step > 0 && av_lane() == 0) av_arrive(&empty[turn.before()]);
                turn.next();
            } while (++step < steps);
            av_products_end(sum);
            if (av_lane() == 0) av_arrive(&empty[turn.before()]);
            const av_map_of_patch own = pictures.template patch<PATCH_WIDE>(out, tile.row / AV_BOX + group - 1);
            av_store_squares_by_engine<T, COLUMNS>(own, 0, tile.column, boxes, group, used, [&](int j, float(&values)[4]) {
                const int64_t c = tile.column + av_lane() % 4 * 2 + 8 * j;  // columns are a multiple of 8
                float more[2] = {};
                if (bias && c < columns) av_unpack<T, 2>(av_load<T, 2>(bias + c), more);
#pragma unroll
                for (int e = 0; e < 4; ++e) values[e] = sum[4 * j + e] + more[e % 2];
            });
        }
        if (threadIdx.x % 128 == 0) av_wait_until_stored();
    }
}
