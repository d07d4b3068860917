// Gaussian blur of an 8-bit picture, equal to cv2.GaussianBlur's fixed-point arithmetic: weights in 1/256.
//
// A block makes 128 x 16 px: picture and halo -> shared memory, rows -> 16-bit sums in shared memory, columns -> bytes,
// 4 px a store. Both passes in one kernel: the sums between them never leave the processor.
#include "av_cuda.cuh"

constexpr int WIDE = 128, TALL = 16, RADIUS_MAX = 7;

struct BlurTile {
    uint8_t in[TALL + 2 * RADIUS_MAX][WIDE + 2 * RADIUS_MAX + 2];
    uint16_t rows[TALL + 2 * RADIUS_MAX][WIDE];
};

// Mirrored without repeating the edge, as often as it takes.
__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

extern "C" __global__ void __launch_bounds__(256)
gaussian_blur(const uint8_t* image, uint8_t* out, int width, int height, int radius, int w0, int w1, int w2, int w3,
              int w4, int w5, int w6, int w7) {
    AV_SHARED(BlurTile, tile);
    const int weight[RADIUS_MAX + 1] = {w0, w1, w2, w3, w4, w5, w6, w7};
    const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * TALL, wide = WIDE + 2 * radius, tall = TALL + 2 * radius;
    for (int i = av_thread(); i < wide * tall; i += av_threads()) {
        const int row = i / wide, column = i % wide;
        const uint8_t* line = image + int64_t(mirrored(y0 + row - radius, height)) * width;
        tile.in[row][column] = line[mirrored(x0 + column - radius, width)];
    }
    __syncthreads();
    for (int i = av_thread(); i < WIDE * tall; i += av_threads()) {
        const int row = i / WIDE, column = i % WIDE;
        int sum = 0;
#pragma unroll
        for (int d = -RADIUS_MAX; d <= RADIUS_MAX; ++d)
            if (d >= -radius && d <= radius) sum += weight[d < 0 ? -d : d] * tile.in[row][column + radius + d];
        tile.rows[row][column] = uint16_t(sum);
    }
    __syncthreads();
    for (int i = av_thread(); i < WIDE / 4 * TALL; i += av_threads()) {
        const int row = i / (WIDE / 4), column = i % (WIDE / 4) * 4, x = x0 + column, y = y0 + row;
        if (x >= width || y >= height) continue;
        uint32_t packed = 0u;
        for (int k = 0; k < 4; ++k) {
            uint32_t sum = 1u << 15;
#pragma unroll
            for (int d = -RADIUS_MAX; d <= RADIUS_MAX; ++d)
                if (d >= -radius && d <= radius)
                    sum += uint32_t(weight[d < 0 ? -d : d]) * tile.rows[row + radius + d][column + k];
            packed |= (sum >> 16) << (8 * k);
        }
        uint8_t* place = out + int64_t(y) * width + x;
        if ((width & 3) == 0) *reinterpret_cast<uint32_t*>(place) = packed;
        else for (int k = 0; k < 4 && x + k < width; ++k) place[k] = uint8_t(packed >> (8 * k));
    }
}
