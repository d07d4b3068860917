// out = x + y, one element per thread: the first kernel to read.
//
// A grid of blocks of 256 threads covers the array. Each thread computes the index of its element from the number of
// its block and its own number. The last block may extend beyond the end of the array, hence the comparison.
#include "av_vector.cuh"

template <class T> __global__ void __launch_bounds__(256) add_scalar(const T* x, const T* y, T* out, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < count) out[i] = av_from_float<T>(av_to_float(x[i]) + av_to_float(y[i]));
}
