// Count, mean and sum of squared distances to the mean of a set of numbers (Welford, 1962), and how those of two sets
// are joined (Chan, Golub and LeVeque, 1979).
#pragma once
#include "av_cuda.cuh"

struct av_moments {
    float count, mean, squares;
};

// With IS_RMS the mean stays 0, and `squares` is the sum of squares.
template <int LANES, bool IS_RMS> __device__ inline av_moments av_moments_of(const float* x) {
    av_moments m = {float(LANES), 0.0f, 0.0f};
    if (!IS_RMS) {
#pragma unroll
        for (int k = 0; k < LANES; ++k) m.mean += x[k];
        m.mean /= float(LANES);
    }
#pragma unroll
    for (int k = 0; k < LANES; ++k) m.squares += (x[k] - m.mean) * (x[k] - m.mean);
    return m;
}

__device__ inline av_moments av_moments_join(av_moments a, av_moments b) {
    const float count = a.count + b.count, apart = b.mean - a.mean;
    if (count == 0.0f) return a;
    const float share = b.count / count;
    return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * a.count * share};
}

// The moments of all THREADS threads, joined in the same order in each of them.
template <int THREADS> __device__ inline av_moments av_moments_join_block(av_moments own, av_moments* slots) {
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const av_moments other = {__shfl_xor_sync(AV_FULL_WARP, own.count, distance),
                                  __shfl_xor_sync(AV_FULL_WARP, own.mean, distance),
                                  __shfl_xor_sync(AV_FULL_WARP, own.squares, distance)};
        own = av_lane() & distance ? av_moments_join(other, own) : av_moments_join(own, other);
    }
    if (av_lane() == 0) slots[av_warp()] = own;
    __syncthreads();
    own = slots[0];
    for (int i = 1; i < THREADS / 32; ++i) own = av_moments_join(own, slots[i]);
    return own;
}
