// out = x + y with as many blocks as the GPU runs at the same time; each thread advances by the size of the grid.
//
// So no block has to start when another ends, and the size of the grid does not depend on that of the array.
#include "av_flat.cuh"

template <class T, int LANES>
__global__ void __launch_bounds__(256) add_grid_stride(const T* x, const T* y, T* out, int64_t count) {
    const int64_t first = int64_t(blockIdx.x) * 256 + threadIdx.x, step = int64_t(gridDim.x) * 256;
    const int64_t packs = count / LANES;
    for (int64_t pack = first; pack < packs; pack += step) {
        const int64_t i = pack * LANES;
        av_store(out + i, av_add(av_load<T, LANES>(x + i), av_load<T, LANES>(y + i)));
    }
    const int64_t rest = packs * LANES + first;
    if (rest < count) out[rest] = av_add(x[rest], y[rest]);
}
