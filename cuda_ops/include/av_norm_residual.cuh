// Common parts of the versions of x + residual and its norm: the sum, in registers and in memory.
#pragma once
#include "av_norm_softmax.cuh"

// Loads x and the residual, stores their rounded sum, and keeps the exact sum.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_add_residual(av_row_part<T, LANES, VECTORS, THREADS>& part, const T* x, const T* residual,
                                       T* total) {
    av_row_part<T, LANES, VECTORS, THREADS> more;
    more.thread = part.thread, more.columns = part.columns;
    part.load(x, 0.0f);
    more.load(residual, 0.0f);
#pragma unroll
    for (int i = 0; i < part.EACH; ++i) part.at[i] += more.at[i];
    part.store(total);
}
