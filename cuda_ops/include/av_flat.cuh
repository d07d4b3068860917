// Sums of packs, and functions of one number, for operators that treat an array as a flat list of elements.
#pragma once
#include "av_vector.cuh"

template <class T> __device__ inline T av_add(T a, T b) { return av_from_float<T>(av_to_float(a) + av_to_float(b)); }
template <class T, int LANES> __device__ inline av_pack<T, LANES> av_add(av_pack<T, LANES> a, av_pack<T, LANES> b) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) a.at[k] = av_add(a.at[k], b.at[k]);
    return a;
}

struct av_relu {
    __device__ static float of(float x) { return x <= 0.0f ? 0.0f : x; }  // NaN stays NaN
};
struct av_sigmoid {
    __device__ static float of(float x) { return 1.0f / (1.0f + expf(-x)); }
};
template <class F, class T> __device__ inline T av_apply(T x) { return av_from_float<T>(F::of(av_to_float(x))); }
template <class F, class T, int LANES> __device__ inline av_pack<T, LANES> av_apply(av_pack<T, LANES> x) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) x.at[k] = av_apply<F>(x.at[k]);
    return x;
}

// Functions of two numbers: the gradient of a result, and the result.
struct av_relu_backward {
    __device__ static float of(float gradient, float y) { return y <= 0.0f ? 0.0f : gradient; }  // NaN passes it on
};
struct av_sigmoid_backward {
    __device__ static float of(float gradient, float y) { return gradient * ((1.0f - y) * y); }
};
template <class F, class T> __device__ inline T av_apply(T a, T b) {
    return av_from_float<T>(F::of(av_to_float(a), av_to_float(b)));
}
template <class F, class T, int LANES> __device__ inline av_pack<T, LANES> av_apply(av_pack<T, LANES> a, av_pack<T, LANES> b) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) a.at[k] = av_apply<F>(a.at[k], b.at[k]);
    return a;
}
