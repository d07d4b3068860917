// Corner score: the smaller eigenvalue of the gradients' covariance in a window (Shi and Tomasi, "Good features to
// track", CVPR 1994), as cv2.cornerMinEigenVal has it.
//
// A block makes 64 x 16 px: gradients with halo -> shared memory, packed in one word; sums of products are exact
// integers, so only the last step rounds.
#include "av_cuda.cuh"

constexpr int WIDE = 64, TALL = 16, REACH_MAX = 3;

struct CornerTile {
    uint32_t gradient[TALL + 2 * REACH_MAX][WIDE + 2 * REACH_MAX];
};

__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

extern "C" __global__ void __launch_bounds__(256)
corner_score(const uint8_t* image, float* out, int width, int height, int before, int after, float scale) {
    AV_SHARED(CornerTile, tile);
    const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * TALL, wide = WIDE + before + after, tall = TALL + before + after;
    for (int i = av_thread(); i < wide * tall; i += av_threads()) {
        const int row = i / wide, column = i % wide;
        const int x = mirrored(x0 + column - before, width), y = mirrored(y0 + row - before, height);
        const int left = mirrored(x - 1, width), right = mirrored(x + 1, width);
        const uint8_t* above = image + int64_t(mirrored(y - 1, height)) * width;
        const uint8_t* here = image + int64_t(y) * width;
        const uint8_t* below = image + int64_t(mirrored(y + 1, height)) * width;
        const int dx = above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
        const int dy = below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
        tile.gradient[row][column] = (uint32_t(dx) & 0xffffu) | uint32_t(dy) << 16;
    }
    __syncthreads();
    for (int i = av_thread(); i < WIDE * TALL; i += av_threads()) {
        const int row = i / WIDE, column = i % WIDE, x = x0 + column, y = y0 + row;
        if (x >= width || y >= height) continue;
        int xx = 0, xy = 0, yy = 0;
        for (int r = 0; r <= before + after; ++r)
            for (int c = 0; c <= before + after; ++c) {
                const uint32_t packed = tile.gradient[row + r][column + c];
                const int dx = int(short(packed & 0xffffu)), dy = int(short(packed >> 16));
                xx += dx * dx, xy += dx * dy, yy += dy * dy;
            }
        const float a = float(xx) * scale * 0.5f, b = float(xy) * scale, c = float(yy) * scale * 0.5f;
        out[int64_t(y) * width + x] = (a + c) - sqrtf((a - c) * (a - c) + b * b);
    }
}
