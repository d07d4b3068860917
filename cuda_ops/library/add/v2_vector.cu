// out = x + y, one pack of up to 16 bytes per thread: a quarter (float32) or an eighth of the instructions per byte.
//
// The elements after the last full pack, fewer than LANES, are computed by as many threads of the last block.
#include "av_flat.cuh"

template <class T, int LANES>
__global__ void __launch_bounds__(256) add_vector(const T* x, const T* y, T* out, int64_t count) {
    const int64_t pack = int64_t(blockIdx.x) * 256 + threadIdx.x, packs = count / LANES;
    if (pack < packs) {
        const int64_t i = pack * LANES;
        av_store(out + i, av_add(av_load<T, LANES>(x + i), av_load<T, LANES>(y + i)));
    }
    const int64_t rest = packs * LANES + (pack - packs);
    if (pack >= packs && rest < count) out[rest] = av_add(x[rest], y[rest]);
}
