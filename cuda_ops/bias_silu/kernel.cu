// What follows a convolution, in one pass: x + bias of its channel, then SiLU, x / (1 + e^-x), in half precision.
//
// torch takes two kernels, and the sum between them is rounded to half; here it stays in float32. A network of a
// hundred small convolutions is a chain of short kernels, so each one fewer counts for more than the bytes it moves.
// 8 elements (16 bytes) a thread. Of a channels-last picture they are 8 channels of a pixel: `inner`, the distance of
// two channels, is 1, and their biases are one load; of a channels-first one each looks its own up.
#include "av_cuda.cuh"

constexpr int EACH = 8;

struct alignas(16) Halves {
    av_half at[EACH];
};

__device__ inline av_half bias_then_silu(av_half x, av_half bias) {
    const float sum = av_to_float(x) + av_to_float(bias);
    return av_to_half(sum / (1.0f + expf(-sum)));
}

extern "C" __global__ void __launch_bounds__(256)
bias_silu(const av_half* x, const av_half* bias, av_half* out, int count, int channels, int inner) {
    const int first = (blockIdx.x * 256 + threadIdx.x) * EACH;
    if (first >= count) return;
    if (inner == 1 && channels % EACH == 0) {
        const Halves given = *reinterpret_cast<const Halves*>(x + first);
        const Halves biases = *reinterpret_cast<const Halves*>(bias + first % channels);
        Halves made;
#pragma unroll
        for (int k = 0; k < EACH; ++k) made.at[k] = bias_then_silu(given.at[k], biases.at[k]);
        *reinterpret_cast<Halves*>(out + first) = made;
        return;
    }
    for (int i = first; i < first + EACH && i < count; ++i) out[i] = bias_then_silu(x[i], bias[i / inner % channels]);
}
