// out = x + y. A block computes one tile of 256 * UNROLL packs, and a thread issues all its loads before the first sum.
//
// So more bytes per thread are in flight than in a loop whose next load waits for the previous store. The hardware
// gives the next tile to any processor that has room.
#include "av_flat.cuh"

template <class T, int LANES, int UNROLL>
__global__ void __launch_bounds__(256) add_tile(const T* __restrict__ x, const T* __restrict__ y, T* out, int64_t count) {
    const int64_t packs = count / LANES, first = int64_t(blockIdx.x) * (256 * UNROLL) + threadIdx.x;
    av_pack<T, LANES> a[UNROLL], b[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int64_t pack = first + u * 256;
        if (pack >= packs) continue;
        a[u] = av_load_once<T, LANES>(x + pack * LANES);
        b[u] = av_load_once<T, LANES>(y + pack * LANES);
    }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u) {
        const int64_t pack = first + u * 256;
        if (pack < packs) av_store(out + pack * LANES, av_add(a[u], b[u]));
    }
    const int64_t rest = packs * LANES + threadIdx.x;
    if (blockIdx.x == gridDim.x - 1 && rest < count) out[rest] = av_add(x[rest], y[rest]);
}
