// out = F(x), one pack of up to 16 bytes per thread. The elements after the last full pack, fewer than LANES, are
// computed by as many threads of the last block.
#include "av_flat.cuh"

template <class F, class T, int LANES>
__global__ void __launch_bounds__(256) activation_vector(const T* x, T* out, int64_t count) {
    const int64_t pack = int64_t(blockIdx.x) * 256 + threadIdx.x, packs = count / LANES;
    if (pack < packs) av_store(out + pack * LANES, av_apply<F>(av_load<T, LANES>(x + pack * LANES)));
    const int64_t rest = packs * LANES + (pack - packs);
    if (pack >= packs && rest < count) out[rest] = av_apply<F>(x[rest]);
}
