// A reduction over the grid in one launch: each block writes a partial result, and the last block to finish joins them.
//
// Thread 0 of a block writes the partial result, then adds 1 to a counter with release and acquire. The block that
// finds all others counted sees their results. It varies from run to run which block is last, but it joins the results
// always in the same order. It resets the counter to zero for the next launch on this stream.
#pragma once
#include "av_reduction.cuh"
#include "av_vector.cuh"

template <class T, class F, int THREADS>
__device__ inline void av_finish_in_last_block(double own, double* partials, unsigned* counter, T* out, int64_t count) {
    AV_SHARED(bool, is_last);
    AV_SHARED_ARRAY(double, slots, 32);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = own;
        is_last = av_add_acquire_release(counter, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return;
    double total = F::template identity<double>();
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS) total = F::join(total, __ldcg(&partials[i]));
    total = av_reduce_block<F, THREADS>(total, slots);
    if (threadIdx.x != 0) return;
    out[0] = av_from_float<T>(float(F::finish(total, count)));
    *counter = 0u;
}
