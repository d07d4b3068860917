// What LayerNorm and RMSNorm share: the last step, (x - mean) * scale * weight + bias, for a part of a row.
//
// RMSNorm is LayerNorm with a mean of zero and without a bias. `weight` and `bias` may be null: then they are 1 and 0.
#pragma once
#include "av_packs.cuh"

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_norm_store(const av_row_packs<T, LANES, VECTORS, THREADS>& part, float mean, float scale,
                                     const T* weight, const T* bias, T* out) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!part.has(v)) continue;
        float result[LANES], factor[LANES], more[LANES];
        if (weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + part.column(v)), factor);
        if (bias != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(bias + part.column(v)), more);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            result[k] = (part.value(v, k) - mean) * scale;
            if (weight != nullptr) result[k] *= factor[k];
            if (bias != nullptr) result[k] += more[k];
        }
        av_store<T, LANES>(out + part.column(v), av_packed<T, LANES>(result));
    }
}
