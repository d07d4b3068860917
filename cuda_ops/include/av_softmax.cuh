// The running state of a softmax: the greatest element so far, and the sum of e^(x - greatest).
//
// The states of two disjoint parts of a row can be joined (Milakov and Gimelshein, 2018, "Online normalizer calculation
// for softmax"). While all elements are -inf, the sum is 0, because e^(-inf - -inf) would be NaN.
#pragma once
#include "av_reduce.cuh"

struct av_softmax_state {
    float most, sum;
};

// The number that is subtracted before exponentiation; it is finite even if all elements are -inf.
__device__ inline float av_softmax_shift(float most) { return most == -INFINITY ? 0.0f : most; }

__device__ inline av_softmax_state av_softmax_join(av_softmax_state a, av_softmax_state b) {
    const float most = fmaxf(a.most, b.most), shift = av_softmax_shift(most);
    return {most, a.sum * expf(a.most - shift) + b.sum * expf(b.most - shift)};
}

// The state of all THREADS threads, in the same order in each of them.
template <int THREADS> __device__ inline av_softmax_state av_softmax_join_block(av_softmax_state own, float2* slots) {
    const float most = av_reduce_warp<av_max>(own.most);
    own = {most, av_reduce_warp<av_sum>(own.sum * expf(own.most - av_softmax_shift(most)))};
    if (av_lane() == 0) slots[av_warp()] = make_float2(own.most, own.sum);
    __syncthreads();
    own = {slots[0].x, slots[0].y};
    for (int i = 1; i < THREADS / 32; ++i) own = av_softmax_join(own, {slots[i].x, slots[i].y});
    return own;
}

// The steps on the part of a row that a thread holds: exponentials, or with IS_LOG the exponents; their sum; the
// result.
template <bool IS_LOG, class Part> __device__ inline void av_softmax_exponentials(Part& part, float shift) {
#pragma unroll
    for (int i = 0; i < part.EACH; ++i) part.at[i] = IS_LOG ? part.at[i] - shift : expf(part.at[i] - shift);
}
template <bool IS_LOG, class Part> __device__ inline float av_softmax_sum(const Part& part) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < part.EACH; ++i) sum += IS_LOG ? expf(part.at[i]) : part.at[i];
    return sum;
}
template <bool IS_LOG, class Part> __device__ inline void av_softmax_finish(Part& part, float factor, float log_sum) {
#pragma unroll
    for (int i = 0; i < part.EACH; ++i) part.at[i] = IS_LOG ? part.at[i] - log_sum : part.at[i] * factor;
}
