// Common parts of the versions of softmax's gradient: the sum of gradient * y, and the result y * (gradient - sum). For
// log-softmax: the sum of the gradient, and the result gradient - e^y * sum.
#pragma once
#include "av_packs.cuh"
#include "av_reduce.cuh"

template <bool IS_LOG> __device__ inline float av_softmax_term(float gradient, float y) {
    return IS_LOG ? gradient : gradient * y;
}
template <bool IS_LOG> __device__ inline float av_softmax_gradient(float gradient, float y, float sum) {
    return IS_LOG ? gradient - expf(y) * sum : y * (gradient - sum);
}

template <bool IS_LOG, class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_softmax_terms(const av_row_packs<T, LANES, VECTORS, THREADS>& a,
                                           const av_row_packs<T, LANES, VECTORS, THREADS>& b) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += av_softmax_term<IS_LOG>(a.value(v, k), b.value(v, k));
    return sum;
}

template <bool IS_LOG, class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_softmax_backward_store(const av_row_packs<T, LANES, VECTORS, THREADS>& gradient,
                                                 const av_row_packs<T, LANES, VECTORS, THREADS>& y, float sum, T* out) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!gradient.has(v)) continue;
        float result[LANES];
#pragma unroll
        for (int k = 0; k < LANES; ++k) result[k] = av_softmax_gradient<IS_LOG>(gradient.value(v, k), y.value(v, k), sum);
        av_store<T, LANES>(out + gradient.column(v), av_packed<T, LANES>(result));
    }
}
