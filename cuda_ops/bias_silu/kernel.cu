// The operations after a convolution in one pass, in half precision: add the channel's bias, apply SiLU, x / (1 +
// e^-x), and add a residual if there is one.
//
// torch uses two kernels and rounds the sum between them to half precision; here it stays in float32. A network of a
// hundred small convolutions is a chain of short kernels, so one kernel less saves more time than the bytes that it
// moves. Exponential and quotient are the GPU's fast ones, with an error of 2 ulp of float32; half precision keeps 11
// of its 24 bits.
//
// A thread computes 8 elements (16 bytes). In a channels-last picture these are 8 channels of a pixel, whose biases are
// one load; `inner`, the distance of two channels, is 1. In a channels-first picture the bias of each element is read
// separately. Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int EACH = 8;

struct alignas(16) Halves {
    av_half at[EACH];
};

#ifdef AV_ON_CPU
inline float quick_silu(float x) { return x / (1.0f + expf(-x)); }
#else
__device__ inline float quick_silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
#endif

__device__ inline av_half bias_then_silu(av_half x, av_half bias, float residual) {
    return av_to_half(quick_silu(av_to_float(x) + av_to_float(bias)) + residual);
}

// `residual` may be null; else it is channels last with pixels `pitch` elements apart, and may be a slice of a wider
// picture.
extern "C" __global__ void __launch_bounds__(256)
bias_silu(const av_half* x, const av_half* bias, const av_half* residual, av_half* out, int count, int channels,
          int inner, int pitch) {
    av_wait_for_earlier();
    const int first = (blockIdx.x * 256 + threadIdx.x) * EACH;
    if (first >= count) return;
    if (inner == 1 && channels % EACH == 0 && pitch % EACH == 0) {
        const int pixel = first / channels, channel = first - pixel * channels;
        const Halves given = *reinterpret_cast<const Halves*>(x + first);
        const Halves biases = *reinterpret_cast<const Halves*>(bias + channel);
        Halves made;
        if (residual != nullptr) {
            const Halves more = *reinterpret_cast<const Halves*>(residual + int64_t(pixel) * pitch + channel);
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                made.at[k] = bias_then_silu(given.at[k], biases.at[k], av_to_float(more.at[k]));
        } else {
#pragma unroll
            for (int k = 0; k < EACH; ++k) made.at[k] = bias_then_silu(given.at[k], biases.at[k], 0.0f);
        }
        *reinterpret_cast<Halves*>(out + first) = made;
        return;
    }
    for (int i = first; i < first + EACH && i < count; ++i) {
        const int channel = i / inner % channels;
        const float more = residual == nullptr ? 0.0f : av_to_float(residual[int64_t(i / channels) * pitch + channel]);
        out[i] = bias_then_silu(x[i], bias[channel], more);
    }
}
