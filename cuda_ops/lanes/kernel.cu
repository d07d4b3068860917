// Colour of paint, seen from above: each cell of a ground grid looks up its place in the camera's picture (pinhole with
// Brown-Conrady distortion), takes the colour there, and is tested against two ranges of hue, lightness, saturation.
//
// One gather: neither a rectified picture nor a table of places goes through memory; projecting a cell costs about 40
// operations, reading its place from a table would cost 8 bytes, more than the cell's picture and mask together.
// `colour_mask` tests a picture's own pixels, 4 a thread, one 16-byte load and one 4-byte store.
#include "av_cuda.cuh"

struct Range {  // OpenCV's units: hue 0..180 (low > high goes through 0), lightness and saturation 0..255
    float h0, l0, s0, h1, l1, s1;
};

// Hue and saturation as quotients: a range test multiplies instead of dividing, at a third of the instructions.
struct Hls {
    float hue, hue_of;      // hue in degrees = hue / hue_of
    float l;                // 0..255
    float spread, spread_of;  // saturation 0..255 = spread / spread_of
};

__device__ inline Hls to_hls(float b, float g, float r) {
    const float high = fmaxf(fmaxf(b, g), r), low = fminf(fminf(b, g), r), diff = high - low, sum = high + low;
    if (diff <= 0.0f) return {0.0f, 1.0f, sum * 0.5f, 0.0f, 1.0f};
    float hue = high == r ? (g - b) * 60.0f
                          : (high == g ? (b - r) * 60.0f + 120.0f * diff : (r - g) * 60.0f + 240.0f * diff);
    if (hue < 0.0f) hue += 360.0f * diff;
    return {hue, diff, sum * 0.5f, diff * 255.0f, sum < 255.0f ? sum : 510.0f - sum};
}

__device__ inline bool in_range(const Hls& c, const Range& r) {
    const bool above = c.hue >= 2.0f * r.h0 * c.hue_of, below = c.hue <= 2.0f * r.h1 * c.hue_of;
    const bool hue = r.h0 <= r.h1 ? above && below : above || below;
    return hue && c.l >= r.l0 && c.l <= r.l1 && c.spread >= r.s0 * c.spread_of && c.spread <= r.s1 * c.spread_of;
}

// Bit 0: in the first range; bit 1: in the second.
__device__ inline uint8_t classify(float b, float g, float r, const Range& first, const Range& second) {
    const Hls c = to_hls(b, g, r);
    return uint8_t((in_range(c, first) ? 1 : 0) | (in_range(c, second) ? 2 : 0));
}

struct Colour {
    float b, g, r;
};

template <int CHANNELS> __device__ inline Colour pixel(const uint8_t* image, int width, int x, int y) {
    const uint8_t* p = image + (int64_t(y) * width + x) * CHANNELS;
    if (CHANNELS == 4) {
        const uint32_t v = *reinterpret_cast<const uint32_t*>(p);
        return {float(v & 0xffu), float(v >> 8 & 0xffu), float(v >> 16 & 0xffu)};
    }
    return {float(p[0]), float(p[1]), float(p[2])};
}

__device__ inline float blend(float a, float b, float t) { return a + (b - a) * t; }

#define RANGES                                                                                                     \
    float ah0, float al0, float as0, float ah1, float al1, float as1, float bh0, float bl0, float bs0, float bh1, \
        float bl1, float bs1
#define FIRST {ah0, al0, as0, ah1, al1, as1}
#define SECOND {bh0, bl0, bs0, bh1, bl1, bs1}

// m: (x, y, 1) on the ground -> camera frame; f, c, k, p: intrinsics and distortion, px.
#define GROUND                                                                                                      \
    const uint8_t *image, int width, int height, uint8_t *mask, uint8_t *view, int rows, int columns, float x_far, \
        float y_left, float cell, float m0, float m1, float m2, float m3, float m4, float m5, float m6, float m7,  \
        float m8, float fx, float fy, float cx, float cy, float k1, float k2, float p1, float p2, float k3, RANGES

struct Cell {
    Colour colour;
    uint8_t kind;
};

template <int CHANNELS> __device__ inline Cell look_up(GROUND, int row, int column) {
    const float x = x_far - (float(row) + 0.5f) * cell, y = y_left - (float(column) + 0.5f) * cell;
    const float cam_x = m0 * x + m1 * y + m2, cam_y = m3 * x + m4 * y + m5, cam_z = m6 * x + m7 * y + m8;
    Colour c = {0.0f, 0.0f, 0.0f};
    if (!(cam_z > 1e-3f)) return {c, 0};
    const float scale = 1.0f / cam_z, u = cam_x * scale, v = cam_y * scale, uu = u * u, vv = v * v, uv = u * v;
    const float r2 = uu + vv, radial = 1.0f + r2 * (k1 + r2 * (k2 + r2 * k3));
    const float px = fx * (u * radial + 2.0f * p1 * uv + p2 * (r2 + 2.0f * uu)) + cx;
    const float py = fy * (v * radial + p1 * (r2 + 2.0f * vv) + 2.0f * p2 * uv) + cy;
    if (!(px >= 0.0f && px <= float(width - 1) && py >= 0.0f && py <= float(height - 1))) return {c, 0};
    const int x0 = int(px), y0 = int(py), x1 = min(x0 + 1, width - 1), y1 = min(y0 + 1, height - 1);
    const float tx = px - float(x0), ty = py - float(y0);
    const Colour a = pixel<CHANNELS>(image, width, x0, y0), b = pixel<CHANNELS>(image, width, x1, y0);
    const Colour d = pixel<CHANNELS>(image, width, x0, y1), e = pixel<CHANNELS>(image, width, x1, y1);
    c.b = blend(blend(a.b, b.b, tx), blend(d.b, e.b, tx), ty);
    c.g = blend(blend(a.g, b.g, tx), blend(d.g, e.g, tx), ty);
    c.r = blend(blend(a.r, b.r, tx), blend(d.r, e.r, tx), ty);
    return {c, classify(c.b, c.g, c.r, FIRST, SECOND)};
}

#define GROUND_VALUES                                                                                                \
    image, width, height, mask, view, rows, columns, x_far, y_left, cell, m0, m1, m2, m3, m4, m5, m6, m7, m8, fx, fy, \
        cx, cy, k1, k2, p1, p2, k3, ah0, al0, as0, ah1, al1, as1, bh0, bl0, bs0, bh1, bl1, bs1

// Four cells of a row a thread: 16 loads under way, the mask leaves as one word, the view as three.
template <int CHANNELS> __device__ void ground_mask(GROUND) {
    const int row = blockIdx.y, first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= columns) return;
    Cell cells[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) cells[k] = look_up<CHANNELS>(GROUND_VALUES, row, first + k);
    uint8_t bytes[12];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        bytes[3 * k] = uint8_t(cells[k].colour.b + 0.5f);
        bytes[3 * k + 1] = uint8_t(cells[k].colour.g + 0.5f);
        bytes[3 * k + 2] = uint8_t(cells[k].colour.r + 0.5f);
    }
    const int64_t at = int64_t(row) * columns + first;
    if ((columns & 3) == 0) {
        *reinterpret_cast<uint32_t*>(mask + at) = cells[0].kind | cells[1].kind << 8 | cells[2].kind << 16 | cells[3].kind << 24;
        uint32_t* place = reinterpret_cast<uint32_t*>(view + at * 3);
#pragma unroll
        for (int k = 0; k < 3; ++k)
            if (view != nullptr)
                place[k] = bytes[4 * k] | bytes[4 * k + 1] << 8 | bytes[4 * k + 2] << 16 | uint32_t(bytes[4 * k + 3]) << 24;
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (first + k >= columns) break;
        mask[at + k] = cells[k].kind;
        if (view != nullptr)
            for (int channel = 0; channel < 3; ++channel) view[(at + k) * 3 + channel] = bytes[3 * k + channel];
    }
}

extern "C" __global__ void ground_mask_bgr(GROUND) { ground_mask<3>(GROUND_VALUES); }
extern "C" __global__ void ground_mask_bgra(GROUND) { ground_mask<4>(GROUND_VALUES); }

extern "C" __global__ void colour_mask_bgr(const uint8_t* image, int size, uint8_t* mask, RANGES) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const Colour c = pixel<3>(image, 0, i, 0);
    mask[i] = classify(c.b, c.g, c.r, FIRST, SECOND);
}

extern "C" __global__ void colour_mask_bgra(const uint8_t* image, int size, uint8_t* mask, RANGES) {
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= size) {
        const uint4 v = *reinterpret_cast<const uint4*>(image + int64_t(i) * 4);
        const uint32_t px[4] = {v.x, v.y, v.z, v.w};
        uint32_t kinds = 0u;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float b = float(px[k] & 0xffu), g = float(px[k] >> 8 & 0xffu), r = float(px[k] >> 16 & 0xffu);
            kinds |= uint32_t(classify(b, g, r, FIRST, SECOND)) << (8 * k);
        }
        *reinterpret_cast<uint32_t*>(mask + i) = kinds;
        return;
    }
    for (int k = i; k < size; ++k) {
        const Colour c = pixel<4>(image, 0, k, 0);
        mask[k] = classify(c.b, c.g, c.r, FIRST, SECOND);
    }
}
