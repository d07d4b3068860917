// Reductions in two launches; a block adds its threads' sums by shuffles.
//
// The lanes of a warp exchange registers five times, without shared memory or a barrier; one value per warp goes
// through shared memory. From this version on, sums across threads are in double precision, which is cheap because
// there are few of them.
#include "av_reduction.cuh"
#include "av_vector.cuh"

template <class T, class F>
__global__ void __launch_bounds__(256) reduce_shuffle(const T* x, const T* y, double* partials, int64_t count) {
    AV_SHARED_ARRAY(double, slots, 8);
    float sum = F::template identity<float>();
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < count; i += int64_t(gridDim.x) * 256)
        sum = F::join(sum, F::term(av_to_float(x[i]), F::HAS_Y ? av_to_float(y[i]) : 0.0f));
    const double total = av_reduce_block<F, 256>(double(sum), slots);
    if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

template <class T, class F>
__global__ void __launch_bounds__(256) finish_shuffle(const double* partials, T* out, int blocks, int64_t count) {
    AV_SHARED_ARRAY(double, slots, 8);
    double sum = F::template identity<double>();
    for (int i = threadIdx.x; i < blocks; i += 256) sum = F::join(sum, partials[i]);
    sum = av_reduce_block<F, 256>(sum, slots);
    if (threadIdx.x == 0) out[0] = av_from_float<T>(float(F::finish(sum, count)));
}
