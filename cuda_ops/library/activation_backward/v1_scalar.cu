// out = F(gradient, y), one element per thread; F is av_relu_backward or av_sigmoid_backward, y the forward result.
#include "av_flat.cuh"

template <class F, class T>
__global__ void __launch_bounds__(256)
activation_backward_scalar(const T* gradient, const T* y, T* out, int64_t count) {
    const int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < count) out[i] = av_apply<F>(gradient[i], y[i]);
}
