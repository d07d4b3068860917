// What the versions of softmax's gradient share: the sum of gradient * y, and y * (gradient - sum).
#pragma once
#include "av_packs.cuh"
#include "av_reduce.cuh"

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_sum_of_products(const av_row_packs<T, LANES, VECTORS, THREADS>& a,
                                           const av_row_packs<T, LANES, VECTORS, THREADS>& b) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += a.value(v, k) * b.value(v, k);
    return sum;
}

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_softmax_backward_store(const av_row_packs<T, LANES, VECTORS, THREADS>& gradient,
                                                 const av_row_packs<T, LANES, VECTORS, THREADS>& y, float sum, T* out) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!gradient.has(v)) continue;
        float result[LANES];
#pragma unroll
        for (int k = 0; k < LANES; ++k) result[k] = y.value(v, k) * (gradient.value(v, k) - sum);
        av_store<T, LANES>(out + gradient.column(v), av_packed<T, LANES>(result));
    }
}
