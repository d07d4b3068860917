// The last step of LayerNorm and RMSNorm for a part of a row: (x - mean) * scale * weight + bias.
//
// RMSNorm is LayerNorm with a mean of zero and without a bias. A null pointer for `weight` or `bias` means 1 or 0.
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
