// The reductions of a whole array: the term of an element, how two terms join, and the last step.
#pragma once
#include "av_reduce.cuh"

struct av_sum_all : av_sum {
    static constexpr bool HAS_Y = false;
    __device__ static float term(float x, float) { return x; }
    __device__ static double finish(double total, int64_t) { return total; }
};
struct av_dot_all : av_sum_all {
    static constexpr bool HAS_Y = true;
    __device__ static float term(float x, float y) { return x * y; }
};
struct av_mean_all : av_sum_all {
    __device__ static double finish(double total, int64_t count) { return total / double(count); }
};
struct av_max_all : av_sum_all {
    template <class V> __device__ static V identity() { return V(-INFINITY); }
    template <class V> __device__ static V join(V a, V b) { return a > b || a != a ? a : b; }  // NaN stays NaN
};
