// A part of a row in the registers of a group of THREADS threads, as the packs that were loaded: half precision takes half
// the registers of av_row_part, and each use converts again. The layout is that of av_row_part.
#pragma once
#include "av_vector.cuh"

template <class T, int LANES, int VECTORS, int THREADS> struct av_row_packs {
    static constexpr int EACH = VECTORS * LANES;
    static constexpr int COLUMNS = THREADS * EACH;
    av_pack<T, LANES> at[VECTORS];
    int thread, columns;  // of the group; of the part, at most COLUMNS and a multiple of LANES

    __device__ int column(int v) const { return (v * THREADS + thread) * LANES; }
    __device__ bool has(int v) const { return column(v) < columns; }
    __device__ float value(int v, int k) const { return av_to_float(at[v].at[k]); }

    // Elements behind the end become 0.
    __device__ void load(const T* row) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (has(v)) {
                at[v] = av_load_once<T, LANES>(row + column(v));
            } else {
#pragma unroll
                for (int k = 0; k < LANES; ++k) at[v].at[k] = av_from_float<T>(0.0f);
            }
        }
    }
};

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_sum_of(const av_row_packs<T, LANES, VECTORS, THREADS>& x) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += x.value(v, k);
    return sum;
}

// Sum of (x - mean)^2; elements behind the end do not count.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_sum_of_squares(const av_row_packs<T, LANES, VECTORS, THREADS>& x, float mean) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!x.has(v)) continue;
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const float off = x.value(v, k) - mean;
            sum += off * off;
        }
    }
    return sum;
}
