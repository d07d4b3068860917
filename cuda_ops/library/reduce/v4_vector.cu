// Sum or dot product in one launch, from packs of up to 16 bytes of which a thread has UNROLL in flight.
//
// A thread keeps a sum for each lane of its packs: the additions do not wait for one another, and each sum takes few
// terms, which keeps float32 exact enough (pairwise summation, in effect). The elements behind the last full pack are
// the first threads' last terms.
#include "av_last_block.cuh"

template <class T, int LANES, bool IS_DOT>
__device__ inline void add_pack(float (&sum)[LANES], av_pack<T, LANES> a, av_pack<T, LANES> b) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) sum[k] += av_to_float(a.at[k]) * (IS_DOT ? av_to_float(b.at[k]) : 1.0f);
}

template <class T, int LANES, int UNROLL, int THREADS, bool IS_DOT>
__global__ void __launch_bounds__(THREADS)
reduce_vector(const T* __restrict__ x, const T* __restrict__ y, double* partials, unsigned* control, T* out,
              int64_t count) {
    AV_SHARED_ARRAY(double, slots, 32);
    const int64_t first = int64_t(blockIdx.x) * THREADS + threadIdx.x, step = int64_t(gridDim.x) * THREADS;
    const int64_t packs = count / LANES;
    float sum[LANES] = {};
    int64_t pack = first;
    for (; pack + (UNROLL - 1) * step < packs; pack += UNROLL * step) {
        av_pack<T, LANES> a[UNROLL], b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            a[u] = av_load_once<T, LANES>(x + (pack + u * step) * LANES);
            b[u] = IS_DOT ? av_load_once<T, LANES>(y + (pack + u * step) * LANES) : a[u];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) add_pack<T, LANES, IS_DOT>(sum, a[u], b[u]);
    }
    for (; pack < packs; pack += step) {
        const av_pack<T, LANES> a = av_load_once<T, LANES>(x + pack * LANES);
        add_pack<T, LANES, IS_DOT>(sum, a, IS_DOT ? av_load_once<T, LANES>(y + pack * LANES) : a);
    }
    double total = 0.0;
#pragma unroll
    for (int k = 0; k < LANES; ++k) total += double(sum[k]);
    const int64_t rest = packs * LANES + first;
    if (rest < count) total += double(av_to_float(x[rest]) * (IS_DOT ? av_to_float(y[rest]) : 1.0f));
    total = av_reduce_block<av_sum, THREADS>(total, slots);
    av_finish_in_last_block<T, THREADS>(total, partials, control + 1, out);
}
