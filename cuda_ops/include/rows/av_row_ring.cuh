// Rows that are loaded ahead, for kernels in which a block, or a cluster of BLOCKS blocks, takes one row or
// row after row.
//
// Each warp has its own chunk of every row and its own ring of STAGES slots in shared memory. It takes a chunk from its
// slot into registers, and at once asks for a later row's chunk into the same slot: loads are in flight while the block
// reduces, exchanges and stores. A thread reads only what it has copied itself, so the ring needs no barrier. Without
// stages the chunk is loaded into the registers when it is needed. The L2 cache is asked to keep rows longest: nothing
// reads them again, but it then writes results to memory sooner, and the memory has less idle time.
#pragma once
#include "av_async.cuh"
#include "av_packs.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES> struct av_row_ring {
    static constexpr int WARPS = THREADS / 32;
    static constexpr int CHUNK = 32 * VECTORS * LANES;  // elements of a row that a warp takes
    av_row_packs<T, LANES, VECTORS, 32> part;  // the chunk of the present row
    const T* x;
    T* slots;  // of this warp
    int64_t row, rows;
    int columns, first, stage;  // of a row; the chunk's first one; the slot of the present row

    // The place of this warp in rows and shared memory: `ring` has room for STAGES * WARPS chunks.
    __device__ void place(int row_columns, T* ring) {
        columns = row_columns;
        first = ((BLOCKS > 1 ? int(av_cluster_rank()) : 0) * WARPS + av_warp()) * CHUNK;
        part.thread = av_lane(), part.columns = av_clamp(columns - first, 0, CHUNK);
        slots = ring + av_warp() * STAGES * CHUNK;
    }
    // Starts the copies of the first rows.
    __device__ void begin(const T* from, int64_t count) {
        x = from, rows = count, row = blockIdx.x / BLOCKS, stage = 0;
#pragma unroll
        for (int s = 0; s < STAGES; ++s) copy(row + s * step(), s);
    }
    __device__ int64_t step() const { return gridDim.x / BLOCKS; }
    __device__ int64_t offset(int64_t of_row) const { return of_row * columns + first; }

    // Asks for a chunk of a later row; there may be none. An empty group of copies keeps the count of groups.
    __device__ void copy(int64_t later, int to) const {
        const bool is_there = later < rows;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            if (is_there && part.has(v))
                av_copy_async_kept_in_l2<T, LANES>(slots + to * CHUNK + part.column(v), x + offset(later) + part.column(v));
        av_commit_copies();
    }
    // Takes the chunk of the present row into `part`. Elements after the end of the row become `other`, a word of T's.
    __device__ void take(uint32_t other) {
        if constexpr (STAGES > 0) av_wait_for_copies<STAGES - 1>();
        const T* const from = STAGES > 0 ? slots + stage * CHUNK : x + offset(row);
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (!part.has(v)) part.at[v].fill(other);
            else if (STAGES > 0) part.at[v].load(from + part.column(v));
            else part.at[v].load_kept_in_l2(from + part.column(v));
        }
        if constexpr (STAGES > 0) copy(row + STAGES * step(), stage);
    }
    __device__ void next() {
        row += step();
        if (STAGES > 1) stage = stage + 1 < STAGES ? stage + 1 : 0;
    }
};
