// Sum, maximum or mean of x, or dot product of x and y (av_reduction.cuh), in two launches: a partial sum per block,
// then the sum of these.
//
// A thread adds up elements whose distance is the size of the grid. A block adds its threads' sums by a tree in shared
// memory: in each round half of the remaining threads add the sums of the other half, with a barrier between rounds.
#include "av_reduction.cuh"
#include "av_vector.cuh"

template <class F> __device__ inline float join_by_tree(float x) {
    AV_SHARED_ARRAY(float, sums, 256);
    sums[threadIdx.x] = x;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] = F::join(sums[threadIdx.x], sums[threadIdx.x + half]);
    }
    __syncthreads();
    return sums[0];
}

template <class T, class F>
__global__ void __launch_bounds__(256) reduce_tree(const T* x, const T* y, double* partials, int64_t count) {
    float sum = F::template identity<float>();
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < count; i += int64_t(gridDim.x) * 256)
        sum = F::join(sum, F::term(av_to_float(x[i]), F::HAS_Y ? av_to_float(y[i]) : 0.0f));
    sum = join_by_tree<F>(sum);
    if (threadIdx.x == 0) partials[blockIdx.x] = double(sum);
}

template <class T, class F>
__global__ void __launch_bounds__(256) finish_tree(const double* partials, T* out, int blocks, int64_t count) {
    float sum = F::template identity<float>();
    for (int i = threadIdx.x; i < blocks; i += 256) sum = F::join(sum, float(partials[i]));
    sum = join_by_tree<F>(sum);
    if (threadIdx.x == 0) out[0] = av_from_float<T>(float(F::finish(double(sum), count)));
}
