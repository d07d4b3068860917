// Common parts of the versions of softmax of LayerNorm: the normalized row, which is the input of the softmax.
#pragma once
#include "av_norm.cuh"
#include "av_row.cuh"
#include "av_softmax.cuh"

// (x - mean) * scale * weight + bias for a part of a row, in place; elements after the end of the row become -inf.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_normalize(av_row_part<T, LANES, VECTORS, THREADS>& part, float mean, float scale, const T* weight,
                                    const T* bias) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        float* at = part.at + v * LANES;
        float factor[LANES], more[LANES];
        const bool has = part.has(v);
        if (has && weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + part.column(v)), factor);
        if (has && bias != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(bias + part.column(v)), more);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            at[k] = (at[k] - mean) * scale;
            if (weight != nullptr) at[k] *= factor[k];
            if (bias != nullptr) at[k] += more[k];
            if (!has) at[k] = -INFINITY;
        }
    }
}

// Sum of (x - mean)^2, without elements after the end of the row.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_squares_of(const av_row_part<T, LANES, VECTORS, THREADS>& part, float mean) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!part.has(v)) continue;
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += (part.at[v * LANES + k] - mean) * (part.at[v * LANES + k] - mean);
    }
    return sum;
}
