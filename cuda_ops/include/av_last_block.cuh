// A reduction over the grid in one launch: each block leaves a partial sum, and the block that comes last adds them.
//
// Thread 0 writes the partial sum, then adds 1 to the counter with release and acquire: the block that finds all others
// counted sees their sums. Which block that is varies from run to run, but the order of its additions does not. It sets
// the counter to zero again, which the next launch on this stream finds.
#pragma once
#include "av_reduce.cuh"
#include "av_vector.cuh"

template <class T, int THREADS>
__device__ inline void av_finish_in_last_block(double sum, double* partials, unsigned* counter, T* out) {
    AV_SHARED(bool, is_last);
    AV_SHARED_ARRAY(double, slots, 32);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
        is_last = av_add_acquire_release(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    double total = 0.0;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS) total += __ldcg(&partials[i]);
    total = av_reduce_block<av_sum, THREADS>(total, slots);
    if (threadIdx.x != 0) return;
    out[0] = av_from_float<T>(float(total));
    *counter = 0u;
}
