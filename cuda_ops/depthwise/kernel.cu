// Depthwise 3x3 convolution, stride 1, with bias and SiLU, in half precision, channels last.
//
// A thread computes 8 channels (16 bytes) of a pixel, with nine loads of the picture and nine of the weights in flight
// together; the loads of neighbouring pixels hit the L1 cache. Most of the time is the start and end of the kernel.
#include "av_cuda.cuh"

constexpr int EACH = 8, TAPS = 9;

struct alignas(16) Eight {
    av_half at[EACH];
};

#ifdef AV_ON_CPU
inline float quick_silu(float x) { return x / (1.0f + expf(-x)); }
#else
__device__ inline float quick_silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
#endif

// `x`: (images, height, width, pitch), `weights`: (channels, 3, 3), `out`: (images, height, width, channels).
extern "C" __global__ void __launch_bounds__(128)
depthwise(const av_half* x, int pitch, const av_half* weights, const av_half* bias, av_half* out, int pixels, int height,
          int width, int channels) {
    const int groups = channels / EACH, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels * groups) return;
    const int pixel = i / groups, channel = (i - pixel * groups) * EACH;
    const int column = pixel % width, row = pixel / width % height;
    Eight weight[TAPS], given[TAPS];  // `weight`: the 8 channels' 72 weights in a row, nine per channel
#pragma unroll
    for (int k = 0; k < TAPS; ++k) weight[k] = *reinterpret_cast<const Eight*>(weights + channel * TAPS + EACH * k);
    const Eight biases = *reinterpret_cast<const Eight*>(bias + channel);
    av_wait_for_earlier();
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
        const int dy = k / 3 - 1, dx = k % 3 - 1;
        const bool is_inside = row + dy >= 0 && row + dy < height && column + dx >= 0 && column + dx < width;
        given[k] = {};
        if (is_inside) given[k] = *reinterpret_cast<const Eight*>(x + int64_t(pixel + dy * width + dx) * pitch + channel);
    }
    Eight made;
#pragma unroll
    for (int c = 0; c < EACH; ++c) {
        float sum = av_to_float(biases.at[c]);
#pragma unroll
        for (int k = 0; k < TAPS; ++k) {
            const int at = c * TAPS + k;
            sum = __fmaf_rn(av_to_float(weight[at / EACH].at[at % EACH]), av_to_float(given[k].at[c]), sum);
        }
        made.at[c] = av_to_half(quick_silu(sum));
    }
    *reinterpret_cast<Eight*>(out + int64_t(pixel) * channels + channel) = made;
}
