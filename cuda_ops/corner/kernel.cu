// Corner score: the smaller eigenvalue of the gradients' covariance in a window (Shi and Tomasi, "Good features to
// track", CVPR 1994), defined as in cv2.cornerMinEigenVal.
//
// A block computes 64 x 16 px: picture and halo to shared memory, 4 px per load; Sobel for 4 px per thread, with dx and
// dy packed in one word; then products are summed down the window's rows for 4 px of a column per thread, and along its
// columns for 4 px of a row, each from the previous sum (sliding window). The sums are exact integers, so only the last
// step rounds. The window is a template parameter, so that all loops are unrolled.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int WIDE = 64, TALL = 16, REACH_MAX = 3, THREADS = 288;
constexpr int COLUMNS = WIDE + 8, GROUPS = COLUMNS / 4, WORDS = GROUPS + 2;  // gradients from x0 - 4, picture from x0 - 8
constexpr int LOADS = 2;

struct CornerTile {
    uint32_t in[TALL + 2 * REACH_MAX + 2][WORDS];
    uint4 gradient[TALL + 2 * REACH_MAX][GROUPS];
    int4 down[3][TALL][GROUPS];  // column sums of dx dx, dx dy, dy dy
};

__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

// Loads the rows of the picture that the tile needs; the first is y0 - WINDOW / 2 - 1.
template <int WINDOW>
__device__ void corner_load(CornerTile& tile, const uint8_t* image, int width, int height, int x0, int y0) {
    constexpr int COUNT = (TALL + WINDOW + 1) * WORDS;
    const bool words = (width & 3) == 0 && (reinterpret_cast<uint64_t>(image) & 3u) == 0;
    const auto line_of = [&](int i) {
        return image + int64_t(mirrored(y0 + i / WORDS - WINDOW / 2 - 1, height)) * width;
    };
    for (int first = av_thread(); first < COUNT; first += LOADS * THREADS) {
        uint32_t value[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {  // these loads are in flight together
            const int i = first + k * THREADS, x = x0 - 8 + i % WORDS * 4;
            if (i < COUNT && words && x >= 0 && x < width) value[k] = *reinterpret_cast<const uint32_t*>(line_of(i) + x);
        }
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * THREADS, x = x0 - 8 + i % WORDS * 4;
            if (i >= COUNT) break;
            if (!(words && x >= 0 && x < width)) {
                value[k] = 0u;
                for (int b = 0; b < 4; ++b) value[k] |= uint32_t(line_of(i)[mirrored(x + b, width)]) << (8 * b);
            }
            (&tile.in[0][0])[i] = value[k];
        }
    }
}

template <int WINDOW> __device__ void corner_gradients(CornerTile& tile) {
    for (int i = av_thread(); i < (TALL + WINDOW - 1) * GROUPS; i += THREADS) {
        const int row = i / GROUPS, group = i % GROUPS;
        int p[3][6];  // rows y-1 .. y+1, columns x-1 .. x+4
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            const uint32_t here = tile.in[row + r][group + 1];
            p[r][0] = tile.in[row + r][group] >> 24;
#pragma unroll
            for (int c = 0; c < 4; ++c) p[r][1 + c] = here >> (8 * c) & 0xffu;
            p[r][5] = tile.in[row + r][group + 2] & 0xffu;
        }
        uint32_t packed[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int dx = (p[0][c + 2] + 2 * p[1][c + 2] + p[2][c + 2]) - (p[0][c] + 2 * p[1][c] + p[2][c]);
            const int dy = (p[2][c] + 2 * p[2][c + 1] + p[2][c + 2]) - (p[0][c] + 2 * p[0][c + 1] + p[0][c + 2]);
            packed[c] = (uint32_t(dx) & 0xffffu) | uint32_t(dy) << 16;
        }
        tile.gradient[row][group] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
}

// Outside the picture, sets the gradients of the mirrored position, not of the mirrored picture: their signs differ.
template <int WINDOW> __device__ void corner_mirror(CornerTile& tile, int width, int height, int x0, int y0) {
    uint32_t* gradient = reinterpret_cast<uint32_t*>(&tile.gradient[0][0]);
    const int top = y0 - WINDOW / 2, left = x0 - 4;
    for (int i = av_thread(); i < (TALL + WINDOW - 1) * COLUMNS; i += THREADS) {
        const int x = left + i % COLUMNS, y = top + i / COLUMNS;
        if (x >= 0 && x < width && y >= 0 && y < height) continue;
        const int column = mirrored(x, width) - left, row = mirrored(y, height) - top;
        if (column >= 0 && column < COLUMNS && row >= 0 && row < TALL + WINDOW - 1)  // else no window reaches that far
            gradient[i] = gradient[row * COLUMNS + column];
    }
}

template <int WINDOW> __device__ void corner_sum_down(CornerTile& tile) {
    const uint32_t* gradient = reinterpret_cast<const uint32_t*>(&tile.gradient[0][0]);
    int* down = reinterpret_cast<int*>(&tile.down[0][0][0]);
    const int column = av_thread() % COLUMNS, first = av_thread() / COLUMNS * 4;
    int xx[WINDOW + 3], xy[WINDOW + 3], yy[WINDOW + 3];
#pragma unroll
    for (int r = 0; r < WINDOW + 3; ++r) {
        const uint32_t packed = gradient[(first + r) * COLUMNS + column];
        const int dx = int(short(packed & 0xffffu)), dy = int(short(packed >> 16));
        xx[r] = dx * dx, xy[r] = dx * dy, yy[r] = dy * dy;
    }
    int sum[3] = {0, 0, 0};
#pragma unroll
    for (int r = 0; r < WINDOW + 3; ++r) {
        sum[0] += xx[r], sum[1] += xy[r], sum[2] += yy[r];
        if (r >= WINDOW) sum[0] -= xx[r - WINDOW], sum[1] -= xy[r - WINDOW], sum[2] -= yy[r - WINDOW];
        if (r < WINDOW - 1) continue;
#pragma unroll
        for (int k = 0; k < 3; ++k) down[(k * TALL + first + r - WINDOW + 1) * COLUMNS + column] = sum[k];
    }
}

// Sums over the windows around the 4 px of `group`, from the column sums.
template <int WINDOW> __device__ inline void corner_sum_across(const int4* row, int group, int (&sum)[4]) {
    const int4 a = row[group], b = row[group + 1], c = row[group + 2];  // the middle one holds the pixels themselves
    const int column[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w};
    constexpr int FIRST = 4 - WINDOW / 2;
    sum[0] = 0;
#pragma unroll
    for (int k = 0; k < WINDOW; ++k) sum[0] += column[FIRST + k];
#pragma unroll
    for (int k = 1; k < 4; ++k) sum[k] = sum[k - 1] + column[FIRST + WINDOW - 1 + k] - column[FIRST + k - 1];
}

template <int WINDOW>
__device__ void corner(CornerTile& tile, const uint8_t* image, float* out, int width, int height, float scale) {
    const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * TALL;
    corner_load<WINDOW>(tile, image, width, height, x0, y0);
    __syncthreads();
    corner_gradients<WINDOW>(tile);
    __syncthreads();
    if (x0 < 4 || x0 + WIDE + 4 > width || y0 < WINDOW || y0 + TALL + WINDOW > height) {
        corner_mirror<WINDOW>(tile, width, height, x0, y0);
        __syncthreads();
    }
    corner_sum_down<WINDOW>(tile);
    __syncthreads();
    const int row = av_thread() / (WIDE / 4), group = av_thread() % (WIDE / 4), x = x0 + group * 4, y = y0 + row;
    if (row >= TALL || x >= width || y >= height) return;
    int xx[4], xy[4], yy[4];
    corner_sum_across<WINDOW>(tile.down[0][row], group, xx);
    corner_sum_across<WINDOW>(tile.down[1][row], group, xy);
    corner_sum_across<WINDOW>(tile.down[2][row], group, yy);
    float score[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float a = float(xx[k]) * scale * 0.5f, b = float(xy[k]) * scale, c = float(yy[k]) * scale * 0.5f;
        score[k] = (a + c) - sqrtf((a - c) * (a - c) + b * b);
    }
    float* place = out + int64_t(y) * width + x;
    if ((width & 3) == 0) *reinterpret_cast<float4*>(place) = make_float4(score[0], score[1], score[2], score[3]);
    else for (int k = 0; k < 4 && x + k < width; ++k) place[k] = score[k];
}

extern "C" __global__ void __launch_bounds__(288)
corner_score(const uint8_t* image, float* out, int width, int height, int window, float scale) {
    AV_SHARED(CornerTile, tile);
    av_wait_for_earlier();
    switch (window) {
        case 1: return corner<1>(tile, image, out, width, height, scale);
        case 2: return corner<2>(tile, image, out, width, height, scale);
        case 3: return corner<3>(tile, image, out, width, height, scale);
        case 4: return corner<4>(tile, image, out, width, height, scale);
        case 5: return corner<5>(tile, image, out, width, height, scale);
        case 6: return corner<6>(tile, image, out, width, height, scale);
        default: return corner<7>(tile, image, out, width, height, scale);
    }
}
