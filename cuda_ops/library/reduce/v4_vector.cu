// Reductions in one launch, from packs of up to 16 bytes; a thread has UNROLL packs in flight.
//
// A thread has a sum for each lane of its packs, so the additions do not depend on each other. Each sum has few terms,
// which keeps float32 exact enough, like pairwise summation. The elements after the last full pack are added by the
// first threads.
#include "av_last_block.cuh"

template <class T, int LANES, class F>
__device__ inline void join_pack(float (&sum)[LANES], av_pack<T, LANES> a, av_pack<T, LANES> b) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) sum[k] = F::join(sum[k], F::term(av_to_float(a.at[k]), av_to_float(b.at[k])));
}

template <class T, int LANES, int UNROLL, int THREADS, class F>
__global__ void __launch_bounds__(THREADS)
reduce_vector(const T* __restrict__ x, const T* __restrict__ y, double* partials, unsigned* control, T* out,
              int64_t count) {
    AV_SHARED_ARRAY(double, slots, 32);
    const int64_t first = int64_t(blockIdx.x) * THREADS + threadIdx.x, step = int64_t(gridDim.x) * THREADS;
    const int64_t packs = count / LANES;
    float sum[LANES];
#pragma unroll
    for (int k = 0; k < LANES; ++k) sum[k] = F::template identity<float>();
    int64_t pack = first;
    for (; pack + (UNROLL - 1) * step < packs; pack += UNROLL * step) {
        av_pack<T, LANES> a[UNROLL], b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            a[u] = av_load_once<T, LANES>(x + (pack + u * step) * LANES);
            b[u] = F::HAS_Y ? av_load_once<T, LANES>(y + (pack + u * step) * LANES) : a[u];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) join_pack<T, LANES, F>(sum, a[u], b[u]);
    }
    for (; pack < packs; pack += step) {
        const av_pack<T, LANES> a = av_load_once<T, LANES>(x + pack * LANES);
        join_pack<T, LANES, F>(sum, a, F::HAS_Y ? av_load_once<T, LANES>(y + pack * LANES) : a);
    }
    double total = F::template identity<double>();
#pragma unroll
    for (int k = 0; k < LANES; ++k) total = F::join(total, double(sum[k]));
    const int64_t rest = packs * LANES + first;
    if (rest < count)
        total = F::join(total, double(F::term(av_to_float(x[rest]), F::HAS_Y ? av_to_float(y[rest]) : 0.0f)));
    total = av_reduce_block<F, THREADS>(total, slots);
    av_finish_in_last_block<T, F, THREADS>(total, partials, control + 1, out, count);
}
