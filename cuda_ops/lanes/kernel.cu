// Colour of paint, seen from above: each cell of a ground grid looks up its place in the camera's picture (pinhole with
// Brown-Conrady distortion), takes the colour there, and is tested against two ranges of hue, lightness, saturation.
//
// One gather: neither a rectified picture nor a table of places goes through memory; reading a cell's place from a table
// would cost 8 bytes, more than its picture and mask together. What bounds it are instructions (8 bytes a cell would take
// 2 us): so a cell's four neighbours are blended in integers, a dot product of bytes for two of them, its colour is rounded
// once and tested as bytes, and its place is a chain of fused multiply-adds whose last 8 bits are the weights.
// `colour_mask` tests a picture's own pixels, 4 a thread, one 16-byte load and one 4-byte store.
//
// Version 1, a cell a thread and three divisions more: 11.5 us. Version 2, four cells a thread, but branches between their
// loads, and 260 instructions a cell, 17 of them for the conversion unit, which takes 16 a cycle: 11.0 us. This
// one, 172 instructions a cell: 7.0 us. Tried: lanes take cells beside each other, so that a load of the warp touches fewer
// lines of the picture, and results leave through shared memory: 7.9; 32 or 128 threads a block: 7.1, 7.5.
#include "av_cuda.cuh"

struct Range {  // hue from `hue` degrees on, `span` degrees wide, through 0 too; lightness doubled, saturation 0..255
    float hue, span, l0, l1, s0, s1;
};

// Hue and saturation as quotients: a range test multiplies instead of dividing, at a third of the instructions. Of bytes,
// all these are integers, exact in a float.
struct Hls {
    float hue, hue_of;        // hue in degrees = hue / hue_of
    float twice_l;            // lightness 0..255, doubled
    float spread, spread_of;  // saturation 0..255 = spread / spread_of
};

__device__ inline Hls to_hls(float b, float g, float r) {
    const float high = fmaxf(fmaxf(b, g), r), low = fminf(fminf(b, g), r), diff = high - low, sum = high + low;
    const bool is_red = high == r, is_green = high == g;
    const float across = is_red ? g - b : (is_green ? b - r : r - g);
    const float hue = __fmaf_rn(across, 60.0f, (is_red ? 0.0f : (is_green ? 120.0f : 240.0f)) * diff);
    const float spread_of = fmaxf(fminf(sum, 510.0f - sum), 1.0f);  // grey has no saturation, whatever this is
    return {hue < 0.0f ? __fmaf_rn(diff, 360.0f, hue) : hue, fmaxf(diff, 1.0f), sum, diff * 255.0f, spread_of};
}

__device__ inline bool in_range(const Hls& c, const Range& r) {
    float hue = __fmaf_rn(-r.hue, c.hue_of, c.hue);
    if (hue < 0.0f) hue = __fmaf_rn(360.0f, c.hue_of, hue);
    return hue <= r.span * c.hue_of && c.twice_l >= r.l0 && c.twice_l <= r.l1 && c.spread >= r.s0 * c.spread_of &&
           c.spread <= r.s1 * c.spread_of;
}

// Of bytes. Bit 0: in the first range; bit 1: in the second.
__device__ inline uint32_t classify(float b, float g, float r, const Range& first, const Range& second) {
    const Hls c = to_hls(b, g, r);
    return (in_range(c, first) ? 1u : 0u) | (in_range(c, second) ? 2u : 0u);
}

template <int CHANNELS> __device__ inline uint32_t pixel(const uint8_t* image, uint32_t index) {
    const uint8_t* p = image + index * uint32_t(CHANNELS);
    if (CHANNELS == 4) return *reinterpret_cast<const uint32_t*>(p);
    return p[0] | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16;
}
__device__ inline uint32_t classify(uint32_t px, const Range& first, const Range& second) {
    return classify(av_byte_to_float(px, 0), av_byte_to_float(px, 1), av_byte_to_float(px, 2), first, second);
}

#define RANGES                                                                                                   \
    float a_hue, float a_span, float al0, float al1, float as0, float as1, float b_hue, float b_span, float bl0, \
        float bl1, float bs0, float bs1
#define FIRST {a_hue, a_span, al0, al1, as0, as1}
#define SECOND {b_hue, b_span, bl0, bl1, bs0, bs1}

// m: (x, y, 1) on the ground -> camera frame; f, c, k, p: intrinsics and distortion, px.
#define GROUND                                                                                                      \
    const uint8_t *image, int width, int height, uint8_t *mask, uint8_t *view, int rows, int columns, float x_far, \
        float y_left, float cell, float m0, float m1, float m2, float m3, float m4, float m5, float m6, float m7,  \
        float m8, float fx, float fy, float cx, float cy, float k1, float k2, float p1, float p2, float k3, RANGES

struct Place {  // of a cell in the picture: its four neighbours, and how far between them in 1/256 px
    uint32_t at[4], tx, ty;
    bool is_inside;
};

// `row_x`, `row_y`, `row_z`: the part of the camera's coordinates that all cells of a row share.
__device__ inline Place find_place(GROUND, float row_x, float row_y, float row_z, int column) {
    const float y = __fmaf_rn(-(float(column) + 0.5f), cell, y_left), cam_z = __fmaf_rn(m7, y, row_z);
    const float scale = av_reciprocal(cam_z), u = __fmaf_rn(m1, y, row_x) * scale, v = __fmaf_rn(m4, y, row_y) * scale;
    const float uu = u * u, vv = v * v, uv = u * v, r2 = uu + vv;
    const float radial = __fmaf_rn(r2, __fmaf_rn(r2, __fmaf_rn(r2, k3, k2), k1), 1.0f);
    const float in_x = __fmaf_rn(p2, __fmaf_rn(2.0f, uu, r2), __fmaf_rn(2.0f * p1, uv, u * radial));
    const float in_y = __fmaf_rn(p1, __fmaf_rn(2.0f, vv, r2), __fmaf_rn(2.0f * p2, uv, v * radial));
    const float px = __fmaf_rn(fx, in_x, cx), py = __fmaf_rn(fy, in_y, cy);
    const bool is_inside =
        cam_z > 1e-3f && px >= 0.0f && px <= float(width - 1) && py >= 0.0f && py <= float(height - 1);
    // Behind 2^15 a float's lowest 8 bits are its fraction.
    const uint32_t left = __float_as_uint(__fadd_rd(is_inside ? px : 0.0f, 32768.0f));
    const uint32_t top = __float_as_uint(__fadd_rd(is_inside ? py : 0.0f, 32768.0f));
    const uint32_t first = (top >> 8 & 0x7fffu) * uint32_t(width) + (left >> 8 & 0x7fffu), below = first + uint32_t(width);
    const uint32_t last = uint32_t(width) * uint32_t(height) - 1u;  // what lies outside has no weight
    return {{first, min(first + 1u, last), min(below, last), min(below + 1u, last)}, left & 0xffu, top & 0xffu, is_inside};
}

struct Cell {
    uint32_t b, g, r;  // 0 .. 255 in bits 16 to 23
    uint32_t kind;
};

// One channel of four neighbours (a byte each), blended; the sum of the weights is 2^16.
__device__ inline uint32_t blend(uint32_t four, uint32_t across, uint32_t ty) {
    return __dp2a_lo(across, four, 0u) * (256u - ty) + __dp2a_hi(across, four, 0u) * ty + 32768u;
}

__device__ inline Cell look_at(const Place& place, const uint32_t (&px)[4], const Range& first, const Range& second) {
    const uint32_t low_top = __byte_perm(px[0], px[1], 0x5140u), low_below = __byte_perm(px[2], px[3], 0x5140u);
    const uint32_t high_top = __byte_perm(px[0], px[1], 0x0062u), high_below = __byte_perm(px[2], px[3], 0x0062u);
    const uint32_t across = place.tx * 0xffffu + 256u;  // 256 - tx, and tx above it
    const uint32_t b = blend(__byte_perm(low_top, low_below, 0x5410u), across, place.ty);
    const uint32_t g = blend(__byte_perm(low_top, low_below, 0x7632u), across, place.ty);
    const uint32_t r = blend(__byte_perm(high_top, high_below, 0x5410u), across, place.ty);
    if (!place.is_inside) return {0u, 0u, 0u, 0u};
    return {b, g, r, classify(av_byte_to_float(b, 2), av_byte_to_float(g, 2), av_byte_to_float(r, 2), first, second)};
}

#define GROUND_VALUES                                                                                                \
    image, width, height, mask, view, rows, columns, x_far, y_left, cell, m0, m1, m2, m3, m4, m5, m6, m7, m8, fx, fy, \
        cx, cy, k1, k2, p1, p2, k3, a_hue, a_span, al0, al1, as0, as1, b_hue, b_span, bl0, bl1, bs0, bs1

// Four cells of a row a thread: all places first, then 16 loads under way together, with no branch between them; the mask
// leaves as one word, the view as three.
template <int CHANNELS> __device__ void ground_mask(GROUND) {
    const int row = blockIdx.y, first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= columns) return;
    const float x = __fmaf_rn(-(float(row) + 0.5f), cell, x_far);
    Place places[4];
    uint32_t px[4][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k)
        places[k] = find_place(GROUND_VALUES, m0 * x + m2, m3 * x + m5, m6 * x + m8, first + k);
    Cell cells[4] = {};
    av_wait_for_earlier();  // where cells lie hangs on nothing that was made before
    if (places[0].is_inside || places[1].is_inside || places[2].is_inside || places[3].is_inside) {
#pragma unroll
        for (int k = 0; k < 16; ++k) px[k / 4][k % 4] = pixel<CHANNELS>(image, places[k / 4].at[k % 4]);
#pragma unroll
        for (int k = 0; k < 4; ++k) cells[k] = look_at(places[k], px[k], FIRST, SECOND);
    }
    uint32_t bytes[12];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        bytes[3 * k] = cells[k].b;
        bytes[3 * k + 1] = cells[k].g;
        bytes[3 * k + 2] = cells[k].r;
    }
    const int64_t at = int64_t(row) * columns + first;
    if ((columns & 3) == 0) {
        *reinterpret_cast<uint32_t*>(mask + at) = av_pack_bytes(cells[0].kind, cells[1].kind, cells[2].kind, cells[3].kind, 0);
        if (view == nullptr) return;
        uint32_t* place = reinterpret_cast<uint32_t*>(view + at * 3);
#pragma unroll
        for (int k = 0; k < 3; ++k)
            place[k] = av_pack_bytes(bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2], bytes[4 * k + 3], 2);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (first + k >= columns) break;
        mask[at + k] = uint8_t(cells[k].kind);
        if (view != nullptr)
            for (int channel = 0; channel < 3; ++channel) view[(at + k) * 3 + channel] = uint8_t(bytes[3 * k + channel] >> 16);
    }
}

extern "C" __global__ void ground_mask_bgr(GROUND) { ground_mask<3>(GROUND_VALUES); }
extern "C" __global__ void ground_mask_bgra(GROUND) { ground_mask<4>(GROUND_VALUES); }

extern "C" __global__ void colour_mask_bgr(const uint8_t* image, int size, uint8_t* mask, RANGES) {
    av_wait_for_earlier();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    mask[i] = uint8_t(classify(pixel<3>(image, uint32_t(i)), FIRST, SECOND));
}

extern "C" __global__ void colour_mask_bgra(const uint8_t* image, int size, uint8_t* mask, RANGES) {
    av_wait_for_earlier();
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 4 <= size) {
        const uint4 v = *reinterpret_cast<const uint4*>(image + int64_t(i) * 4);
        const uint32_t px[4] = {v.x, v.y, v.z, v.w};
        uint32_t kinds = 0u;
#pragma unroll
        for (int k = 0; k < 4; ++k) kinds |= classify(px[k], FIRST, SECOND) << (8 * k);
        *reinterpret_cast<uint32_t*>(mask + i) = kinds;
        return;
    }
    for (int k = i; k < size; ++k) {
        mask[k] = uint8_t(classify(pixel<4>(image, uint32_t(k)), FIRST, SECOND));
    }
}
