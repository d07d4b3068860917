// What follows a convolution, in one pass: x + bias of its channel, then SiLU, x / (1 + e^-x), then, where there is one,
// the residual's sum, in half precision.
//
// torch takes two kernels, and the sum between them is rounded to half; here it stays in float32. A network of a
// hundred small convolutions is a chain of short kernels, so each one fewer counts for more than the bytes it moves.
// Exponential and quotient are the GPU's quick ones, 2 ulp of float32 off: half keeps 11 bits of 24. Version 1, with the
// exact ones, took 2.7 us a launch over a network's 87.
// 8 elements (16 bytes) a thread. Of a channels-last picture they are 8 channels of a pixel: `inner`, the distance of
// two channels, is 1, and their biases are one load; of a channels-first one each looks its own up.
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

// `residual` may be null; else its pixels lie `pitch` elements apart, channels last: it may be a part of a wider picture.
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
