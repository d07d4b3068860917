// out = F(gradient, y). A block computes one tile of 256 * UNROLL packs, and a thread issues all its loads before the
// first use.
#include "av_flat.cuh"

template <class F, class T, int LANES, int UNROLL>
__global__ void __launch_bounds__(256)
activation_backward_tile(const T* __restrict__ gradient, const T* __restrict__ y, T* out, int64_t count) {
    const int64_t packs = count / LANES, first = int64_t(blockIdx.x) * (256 * UNROLL) + threadIdx.x;
    av_pack<T, LANES> a[UNROLL], b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int64_t pack = first + u * 256;
        if (pack >= packs) continue;
        a[u] = av_load_once<T, LANES>(gradient + pack * LANES);
        b[u] = av_load_once<T, LANES>(y + pack * LANES);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int64_t pack = first + u * 256;
        if (pack < packs) av_store(out + pack * LANES, av_apply<F>(a[u], b[u]));
    }
    const int64_t rest = packs * LANES + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < count) out[rest] = av_apply<F>(gradient[rest], y[rest]);
}
