// Gaussian blur of an 8-bit picture, equal to cv2.GaussianBlur's fixed-point arithmetic: weights in 1/256.
//
// A block computes 128 x 16 px in three steps: picture and halo to shared memory, 4 px per load; rows to 16-bit sums in
// shared memory, two px per multiplication (no sum of a row exceeds 16 bits); columns to bytes, 4 x 2 px per thread.
// One kernel does both passes, so that the sums between them never leave the processor. The radius is a template
// parameter, so that all loops are unrolled.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int WIDE = 128, TALL = 16, RADIUS_MAX = 7, WORDS = WIDE / 4, MARGIN = 2;  // MARGIN: words left and right
constexpr int LOADS = 3;

struct BlurTile {
    uint32_t in[TALL + 2 * RADIUS_MAX][WORDS + 2 * MARGIN];  // the first column is x0 - 4 * MARGIN
    uint2 rows[TALL + 2 * RADIUS_MAX][WORDS];                // sums of 4 px, 16 bits each: 0 and 2, 1 and 3
};

struct Weights {
    uint32_t of[RADIUS_MAX + 1];  // from the middle outwards
};

// Coordinate mirrored at the picture's border without repeating the edge, as often as necessary.
__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

template <int RADIUS>
__device__ void blur_load(BlurTile& tile, const uint8_t* image, int width, int height, int x0, int y0) {
    constexpr int ACROSS = WORDS + 2 * MARGIN, COUNT = (TALL + 2 * RADIUS) * ACROSS;
    const bool words = (width & 3) == 0 && (reinterpret_cast<uint64_t>(image) & 3u) == 0;
    const auto line_of = [&](int i) { return image + int64_t(mirrored(y0 + i / ACROSS - RADIUS, height)) * width; };
    for (int first = av_thread(); first < COUNT; first += LOADS * av_threads()) {
        uint32_t value[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {  // these loads are in flight together
            const int i = first + k * av_threads(), x = x0 + (i % ACROSS - MARGIN) * 4;
            if (i < COUNT && words && x >= 0 && x < width) value[k] = *reinterpret_cast<const uint32_t*>(line_of(i) + x);
        }
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            const int i = first + k * av_threads(), x = x0 + (i % ACROSS - MARGIN) * 4;
            if (i >= COUNT) break;
            if (!(words && x >= 0 && x < width)) {
                value[k] = 0u;
                for (int b = 0; b < 4; ++b) value[k] |= uint32_t(line_of(i)[mirrored(x + b, width)]) << (8 * b);
            }
            tile.in[i / ACROSS][i % ACROSS] = value[k];
        }
    }
}

template <int RADIUS> __device__ void blur_rows(BlurTile& tile, const Weights& weights) {
    constexpr int REACH = (RADIUS + 3) / 4;  // words needed on each side
    for (int i = av_thread(); i < (TALL + 2 * RADIUS) * WORDS; i += av_threads()) {
        const int row = i / WORDS, word = i % WORDS;
        uint32_t even[2 * REACH + 1], odd[2 * REACH + 1];  // bytes 0 and 2, 1 and 3 of a word, 16 bits each
#pragma unroll
        for (int k = 0; k <= 2 * REACH; ++k) {
            const uint32_t four = tile.in[row][word + MARGIN - REACH + k];
            even[k] = four & 0x00ff00ffu, odd[k] = four >> 8 & 0x00ff00ffu;
        }
        // The pixels at `shift` and `shift + 2` from the word's first pixel.
        const auto pair = [&](int shift) {
            const int at = shift + 4 * REACH, k = at / 4;
            const uint32_t here = at & 1 ? odd[k] : even[k];
            if ((at & 2) == 0) return here;
            return __funnelshift_r(here, at & 1 ? odd[k + 1] : even[k + 1], 16u);
        };
        uint32_t sum[2];
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            sum[side] = weights.of[0] * pair(side);
#pragma unroll
            for (int d = 1; d <= RADIUS; ++d) sum[side] += weights.of[d] * (pair(side - d) + pair(side + d));
        }
        tile.rows[row][word] = make_uint2(sum[0], sum[1]);
    }
}

template <int RADIUS>
__device__ void blur_columns(const BlurTile& tile, const Weights& weights, uint8_t* out, int width, int height, int x0, int y0) {
    for (int i = av_thread(); i < WORDS * TALL / 2; i += av_threads()) {
        const int row = i / WORDS * 2, word = i % WORDS, x = x0 + word * 4;
        uint32_t sum[2][4];
#pragma unroll
        for (int k = 0; k < 8; ++k) sum[k / 4][k % 4] = 1u << 15;
#pragma unroll
        for (int r = 0; r <= 2 * RADIUS + 1; ++r) {
            const uint2 pairs = tile.rows[row + r][word];
            const uint32_t px[4] = {pairs.x & 0xffffu, pairs.y & 0xffffu, pairs.x >> 16, pairs.y >> 16};
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const int d = r - RADIUS - k / 4;
                if (d >= -RADIUS && d <= RADIUS) sum[k / 4][k % 4] += weights.of[d < 0 ? -d : d] * px[k % 4];
            }
        }
#pragma unroll
        for (int line = 0; line < 2; ++line) {
            const int y = y0 + row + line;
            if (x >= width || y >= height) continue;
            const uint32_t packed = av_pack_bytes(sum[line][0], sum[line][1], sum[line][2], sum[line][3], 2);
            uint8_t* place = out + int64_t(y) * width + x;
            if ((width & 3) == 0) *reinterpret_cast<uint32_t*>(place) = packed;
            else for (int k = 0; k < 4 && x + k < width; ++k) place[k] = uint8_t(packed >> (8 * k));
        }
    }
}

template <int RADIUS>
__device__ void blur(BlurTile& tile, const uint8_t* image, uint8_t* out, int width, int height, const Weights& weights) {
    const int x0 = blockIdx.x * WIDE, y0 = blockIdx.y * TALL;
    blur_load<RADIUS>(tile, image, width, height, x0, y0);
    __syncthreads();
    blur_rows<RADIUS>(tile, weights);
    __syncthreads();
    blur_columns<RADIUS>(tile, weights, out, width, height, x0, y0);
}

extern "C" __global__ void __launch_bounds__(256)
gaussian_blur(const uint8_t* image, uint8_t* out, int width, int height, int radius, int w0, int w1, int w2, int w3,
              int w4, int w5, int w6, int w7) {
    AV_SHARED(BlurTile, tile);
    av_wait_for_earlier();
    const Weights weights = {{uint32_t(w0), uint32_t(w1), uint32_t(w2), uint32_t(w3), uint32_t(w4), uint32_t(w5),
                              uint32_t(w6), uint32_t(w7)}};
    switch (radius) {
        case 0: return blur<0>(tile, image, out, width, height, weights);
        case 1: return blur<1>(tile, image, out, width, height, weights);
        case 2: return blur<2>(tile, image, out, width, height, weights);
        case 3: return blur<3>(tile, image, out, width, height, weights);
        case 4: return blur<4>(tile, image, out, width, height, weights);
        case 5: return blur<5>(tile, image, out, width, height, weights);
        case 6: return blur<6>(tile, image, out, width, height, weights);
        default: return blur<7>(tile, image, out, width, height, weights);
    }
}
