// Exchange of two floats of each warp among all warps that share a row: those of a block, or of a cluster's blocks.
//
// It is the only time in a row that warps wait for each other. In a block it is one barrier. In a cluster each warp
// stores its pair into the shared memory of all blocks, by stores that arrive at a barrier there, and waits until the
// pairs of all warps have come to its own block: no block waits for a barrier of the cluster.
//
// Two sets of slots take turns. A warp sends its pair of the next row after it has read the pairs of this row. So once
// all pairs of the next row have come, this row's slots are free.
#pragma once
#include "av_reduce.cuh"
#include "products/av_copy_engine.cuh"

template <int THREADS, int BLOCKS> struct av_row_exchange {
    static constexpr int WARPS = THREADS / 32, PAIRS = WARPS * BLOCKS;
    // Elements of the arrays in static shared memory: 2 barriers and 2 * PAIRS pairs, with room up to a multiple of 128
    // bytes. Dynamic shared memory begins behind them. Where it begins off a line, copies to it ask the L2 cache for
    // more requests, and off a sector for more bytes.
    static constexpr int BARRIERS_WITH_ROOM = 16, PAIRS_WITH_ROOM = (2 * PAIRS + 15) / 16 * 16;
    float2* slots;      // 2 * PAIRS of them, in static shared memory
    uint64_t* arrived;  // 2 barriers
    unsigned row;       // the number of exchanges so far

    __device__ void begin(float2* shared, uint64_t* barriers) {
        slots = shared, arrived = barriers, row = 0u;
        if constexpr (BLOCKS > 1) {
            if (threadIdx.x == 0) {
                av_barrier_init(arrived, 1), av_barrier_init(arrived + 1, 1);
                av_barriers_are_made();
            }
            av_cluster_begin();
        }
    }
    // Sends the pair of this warp, which all its lanes hold, and returns the PAIRS pairs of the row.
    __device__ const float2* of_all(float2 pair) {
        const unsigned set = row & 1u, parity = row >> 1 & 1u;
        if (BLOCKS > 1 && row == 0u) av_cluster_wait();  // the barriers of all blocks are made
        float2* const to = slots + set * PAIRS;
        ++row;
        if constexpr (BLOCKS > 1) {
            if (threadIdx.x == 0) av_arrive_expecting(arrived + set, PAIRS * int(sizeof(float2)));
            const int lane = av_lane();
            if (lane < BLOCKS) av_send_to_block(to + av_cluster_rank() * WARPS + av_warp(), arrived + set, lane, pair);
            av_wait_for_phase(arrived + set, parity);
        } else {
            if (av_lane() == 0) to[av_warp()] = pair;
            __syncthreads();
        }
        return to;
    }
};
