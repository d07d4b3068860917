// What LayerNorm and RMSNorm share: the last step, (x - mean) * scale * weight + bias, for a part of a row.
//
// RMSNorm is LayerNorm with a mean of zero and without a bias. `weight` and `bias` may be null: then they are 1 and 0.
#pragma once
#include "av_row.cuh"

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_norm_store(av_row_part<T, LANES, VECTORS, THREADS>& part, float mean, float scale,
                                     const T* weight, const T* bias, T* out) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!part.has(v)) continue;
        float* x = part.at + v * LANES;
        float factor[LANES], more[LANES];
        if (weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + part.column(v)), factor);
        if (bias != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(bias + part.column(v)), more);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            x[k] = (x[k] - mean) * scale;
            if (weight != nullptr) x[k] *= factor[k];
            if (bias != nullptr) x[k] += more[k];
        }
    }
    part.store(out);
}

// Sum of (x - mean)^2 over the elements of this thread; elements behind the end of the part do not count.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_squares(const av_row_part<T, LANES, VECTORS, THREADS>& part, float mean) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!part.has(v)) continue;
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const float off = part.at[v * LANES + k] - mean;
            sum += off * off;
        }
    }
    return sum;
}
