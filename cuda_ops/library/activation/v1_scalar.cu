// out = F(x), one element per thread; F is av_relu or av_sigmoid.
#include "av_flat.cuh"

template <class F, class T>
__global__ void __launch_bounds__(256) activation_scalar(const T* x, T* out, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < count) out[i] = av_apply<F>(x[i]);
}
