// out = F(x). A block computes one tile of 256 * UNROLL packs, and a thread issues all its loads before the first use.
#include "av_flat.cuh"

template <class F, class T, int LANES, int UNROLL>
__global__ void __launch_bounds__(256) activation_tile(const T* __restrict__ x, T* out, int64_t count) {
    const int64_t packs = count / LANES, first = int64_t(blockIdx.x) * (256 * UNROLL) + threadIdx.x;
    av_pack<T, LANES> loaded[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        if (first + u * 256 < packs) loaded[u] = av_load_once<T, LANES>(x + (first + u * 256) * LANES);
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        if (first + u * 256 < packs) av_store(out + (first + u * 256) * LANES, av_apply<F>(loaded[u]));
    const int64_t rest = packs * LANES + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < count) out[rest] = av_apply<F>(x[rest]);
}
