// A part of a row in the registers of a group of THREADS threads (a warp or a block): each thread holds VECTORS packs
// of LANES elements. Thread t's pack v begins at column (v * THREADS + t) * LANES of the part, so that the threads of a
// warp load one contiguous piece. All loads are issued before the first is used.
#pragma once
#include "av_vector.cuh"

template <class T, int LANES, int VECTORS, int THREADS> struct av_row_part {
    static constexpr int EACH = VECTORS * LANES;
    static constexpr int COLUMNS = THREADS * EACH;
    float at[EACH];
    int thread, columns;  // of the group; of the part, at most COLUMNS and a multiple of LANES

    __device__ int column(int v) const { return (v * THREADS + thread) * LANES; }
    __device__ bool has(int v) const { return column(v) < columns; }

    // Elements after the end of the row become `other`, which must be exact in T.
    __device__ void load(const T* row, float other) {
        av_pack<T, LANES> packs[VECTORS];
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (has(v)) {
                packs[v] = av_load_once<T, LANES>(row + column(v));
            } else {
#pragma unroll
                for (int k = 0; k < LANES; ++k) packs[v].at[k] = av_from_float<T>(other);
            }
        }
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) av_unpack<T, LANES>(packs[v], at + v * LANES);
    }
    __device__ void store(T* row) const {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            if (has(v)) av_store<T, LANES>(row + column(v), av_packed<T, LANES>(at + v * LANES));
    }
    __device__ float sum() const {
        float total = 0.0f;
#pragma unroll
        for (int i = 0; i < EACH; ++i) total += at[i];
        return total;
    }
    __device__ float max() const {
        float most = at[0];
#pragma unroll
        for (int i = 1; i < EACH; ++i) most = fmaxf(most, at[i]);
        return most;
    }
    __device__ void scale(float factor) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) at[i] *= factor;
    }
};
