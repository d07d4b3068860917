// YOLO's spatial pyramid pooling (SPPF) in one launch: a picture, and behind its channels repeated max pools with a
// square window (stride 1, windows cut off at the edges). Each round pools the result of the round before. Channels
// last, half precision.
//
// A block keeps 8 channels (16 bytes per pixel) of a whole picture in shared memory and takes maxima along rows, then
// along columns: 2 size reads per pixel and round instead of size^2. Unlike torch's kernel, it keeps no indices of the
// maxima.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int THREADS = 256, EACH = 8;

struct alignas(16) Halves {
    av_half at[EACH];
};

// The larger of two values; NaN propagates.
__device__ inline av_half larger(av_half a, av_half b) {
    const float x = av_to_float(a), y = av_to_float(b);
    return y > x || y != y ? b : a;
}

// Maximum over the pixels `first`, `first + step` .. `last`.
__device__ inline Halves largest(const Halves* picture, int first, int last, int step) {
    Halves best = picture[first];
    for (int i = first + step; i <= last; i += step) {
        const Halves other = picture[i];
#pragma unroll
        for (int k = 0; k < EACH; ++k) best.at[k] = larger(best.at[k], other.at[k]);
    }
    return best;
}

// `x`: (images, pixels, pitch), `out`: (images, pixels, (rounds + 1) channels).
extern "C" __global__ void __launch_bounds__(256)
max_pools(const av_half* x, int pitch, av_half* out, int height, int width, int channels, int radius, int rounds) {
    AV_DYNAMIC_SHARED(Halves, picture);
    const int count = height * width, all = (rounds + 1) * channels, channel = blockIdx.x * EACH;
    Halves* along_rows = picture + count;
    av_wait_for_earlier();
    x += int64_t(blockIdx.y) * count * pitch + channel;
    out += int64_t(blockIdx.y) * count * all + channel;
    for (int i = av_thread(); i < count; i += THREADS) {
        picture[i] = *reinterpret_cast<const Halves*>(x + int64_t(i) * pitch);
        *reinterpret_cast<Halves*>(out + int64_t(i) * all) = picture[i];
    }
    for (int round = 1; round <= rounds; ++round) {
        __syncthreads();
        for (int i = av_thread(); i < count; i += THREADS) {
            const int row = i / width, column = i - row * width;
            along_rows[i] = largest(picture, i - min(column, radius), i + min(width - 1 - column, radius), 1);
        }
        __syncthreads();
        for (int i = av_thread(); i < count; i += THREADS) {
            const int row = i / width;
            picture[i] = largest(along_rows, i - min(row, radius) * width, i + min(height - 1 - row, radius) * width, width);
            *reinterpret_cast<Halves*>(out + int64_t(i) * all + round * channels) = picture[i];
        }
    }
}
