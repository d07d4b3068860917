// Inverse perspective mapping with a colour threshold: each cell of a ground grid is projected into the camera's
// picture (pinhole with Brown-Conrady distortion); the interpolated colour there is tested against two ranges of hue,
// lightness and saturation.
//
// It is one gather: neither a rectified picture nor a table of positions goes through memory; a cell's position in a
// table would cost 8 bytes, more than its picture and mask together. The kernel is bounded by instructions (8 bytes per
// cell would take 2 us). Therefore a cell's four neighbours are blended in integers, with one dot product of bytes for
// two of them; its colour is rounded once and tested as bytes; and its position is a chain of fused multiply-adds whose
// last 8 bits are the weights. The usual form (`is_usual` in host.py) computes hue only in warps with a cell whose hue
// matters.
// `colour_mask` tests the picture's own pixels, 4 per thread with one 16-byte load and one 4-byte store.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

// A colour range. Hue: starts at `hue` degrees (-60 .. 300) and is `span` degrees wide, possibly through 300; in the
// usual form the second range has centre and half width instead, and does not pass through 300. Lightness, doubled:
// centre `light` and half width `apart`. Saturation: 0..255.
struct Range {
    float hue, span, light, apart, s0, s1;
};

// Hue and saturation as quotients, so that a range test multiplies instead of dividing, at a third of the instructions.
// For byte colours all these values are integers, exact in a float.
struct Hls {
    float high, diff;
    float twice_l;            // twice the lightness 0..255
    float spread, spread_of;  // saturation 0..255 = spread / spread_of
};

// b, g, r are 2^23 + byte (see `av_byte_behind`): their differences are those of the bytes, and the sum of two is exact
// if 2^24 is subtracted first.
__device__ inline Hls to_hls(float b, float g, float r) {
    const float high = fmaxf(fmaxf(b, g), r), low = fminf(fminf(b, g), r), diff = high - low;
    const float sum = (high - 16777216.0f) + low;
    return {high, diff, sum, diff * 255.0f, 255.0f - fabsf(sum - 255.0f)};  // black and white are 0 / 0
}
// Hue in degrees (-60 to 300) multiplied by `diff`.
__device__ inline float hue_of(float b, float g, float r, float high, float diff) {
    const bool is_red = high == r, is_green = high == g;
    const float across = is_red ? g - b : (is_green ? b - r : r - g);
    return __fmaf_rn(across, 60.0f, (is_red ? 0.0f : (is_green ? 120.0f : 240.0f)) * diff);
}

__device__ inline bool is_as_light(const Hls& c, const Range& r) { return fabsf(c.twice_l - r.light) <= r.apart; }

__device__ inline bool in_range(const Hls& c, float hue, const Range& r) {
    const float diff = fmaxf(c.diff, 1.0f), spread_of = fmaxf(c.spread_of, 1.0f);  // grey has hue 0 and saturation 0
    float past = __fmaf_rn(-r.hue, diff, hue);  // both begin at -60, so one full turn at most is missing
    if (past < 0.0f) past = __fmaf_rn(360.0f, diff, past);
    return (past <= r.span * diff) & is_as_light(c, r) & (c.spread >= r.s0 * spread_of) & (c.spread <= r.s1 * spread_of);
}

// Class of a colour given as 2^23 + byte. Bit 0: in the first range; bit 1: in the second.
__device__ inline uint32_t classify(float b, float g, float r, const Range& first, const Range& second) {
    const Hls c = to_hls(b, g, r);
    const float hue = hue_of(b, g, r, c.high, c.diff);
    return (in_range(c, hue, first) ? 1u : 0u) | (in_range(c, hue, second) ? 2u : 0u);
}

template <int CHANNELS> __device__ inline uint32_t pixel(const uint8_t* image, uint32_t index) {
    if (CHANNELS == 4) return reinterpret_cast<const uint32_t*>(image)[index];
    const uint8_t* p = image + uint64_t(index) * 3u;
    return p[0] | uint32_t(p[1]) << 8 | uint32_t(p[2]) << 16;
}
__device__ inline uint32_t classify(uint32_t px, const Range& first, const Range& second) {
    return classify(av_byte_behind(px, 0), av_byte_behind(px, 1), av_byte_behind(px, 2), first, second);
}

#define RANGES                                                                                                   \
    float a_hue, float a_span, float a_light, float a_apart, float as0, float as1, float b_hue, float b_span,     \
        float b_light, float b_apart, float bs0, float bs1
#define FIRST {a_hue, a_span, a_light, a_apart, as0, as1}
#define SECOND {b_hue, b_span, b_light, b_apart, bs0, bs1}

// m: matrix from (x, y, 1) on the ground to the camera frame; f, c, k, p: intrinsics (px) and distortion.
#define GROUND                                                                                                      \
    const uint8_t *image, int width, int height, uint8_t *mask, uint8_t *view, int rows, int columns, float x_far, \
        float y_left, float cell, float m0, float m1, float m2, float m3, float m4, float m5, float m6, float m7,  \
        float m8, float fx, float fy, float cx, float cy, float k1, float k2, float p1, float p2, float k3, RANGES

struct Place {  // a cell's position in the picture: upper left neighbour, and the fraction between pixels in 1/256 px
    uint32_t at, tx, ty;
    bool is_inside;
};

// A coordinate in steps of 1/256 px, rounded down: in 2^15 + px the lowest 8 bits of the float are the fraction.
// Coordinates left of or above the picture, and NaN, become numbers larger than any picture.
__device__ inline uint32_t in_steps(float px) { return __float_as_uint(__fadd_rd(px, 32768.0f)) - 0x47000000u; }

// `row_x`, `row_y`, `row_z`: the part of the camera coordinates that all cells of a row share; `column`: the cell's
// centre.
__device__ inline Place find_place(GROUND, float row_x, float row_y, float row_z, float column) {
    const float y = __fmaf_rn(-column, cell, y_left), cam_z = __fmaf_rn(m7, y, row_z);
    const float scale = av_reciprocal(cam_z), u = __fmaf_rn(m1, y, row_x) * scale, v = __fmaf_rn(m4, y, row_y) * scale;
    const float r2 = __fmaf_rn(v, v, u * u), radial = __fmaf_rn(r2, __fmaf_rn(r2, __fmaf_rn(r2, k3, k2), k1), 1.0f);
    const float factor = __fmaf_rn(2.0f * p1, v, __fmaf_rn(2.0f * p2, u, radial));  // radial and tangential distortion
    const float px = __fmaf_rn(fx * u, factor, __fmaf_rn(fx * p2, r2, cx));
    const float py = __fmaf_rn(fy * v, factor, __fmaf_rn(fy * p1, r2, cy));
    const uint32_t across = in_steps(px), down = in_steps(py);
    const bool is_inside = cam_z > 1e-3f && across <= uint32_t(width - 1) << 8 && down <= uint32_t(height - 1) << 8;
    // The last pixel counts as the right neighbour of the one before, so that all four neighbours exist in any picture
    // of at least 2 x 2 px.
    const uint32_t left = min(across >> 8, uint32_t(max(width - 2, 0))), top = min(down >> 8, uint32_t(max(height - 2, 0)));
    return {top * uint32_t(width) + left, across + left * 0xffffff00u, down + top * 0xffffff00u, is_inside};
}

struct Cell {
    uint32_t b, g, r;  // the colour's byte is byte 2
};

// Blends the sums of the upper and the lower two neighbours. The weights of each sum add up to 2^8, so that the result
// is scaled by 2^16. The constant rounds, and its top byte lets `blended` make 2^23 + byte 2 as a float: see
// `av_byte_behind`.
__device__ inline uint32_t blend(uint32_t top, uint32_t below, uint32_t ty) {
    return top * (256u - ty) + below * ty + 0x4b008000u;
}
__device__ inline float blended(uint32_t sum) { return __uint_as_float(__byte_perm(sum, 0u, 0x3442u)); }

__device__ inline Cell look_at(const Place& place, const uint32_t (&px)[4]) {
    const uint32_t across = place.is_inside ? place.tx * 0xffffu + 256u : 0u;  // lower half 256 - tx, upper half tx
    const uint32_t top = __byte_perm(px[0], px[1], 0x5140u), below = __byte_perm(px[2], px[3], 0x5140u);  // blue, green
    const uint32_t red_top = __byte_perm(px[0], px[1], 0x0062u), red_below = __byte_perm(px[2], px[3], 0x0062u);
    const uint32_t b = blend(__dp2a_lo(across, top, 0u), __dp2a_lo(across, below, 0u), place.ty);
    const uint32_t g = blend(__dp2a_hi(across, top, 0u), __dp2a_hi(across, below, 0u), place.ty);
    const uint32_t r = blend(__dp2a_lo(across, red_top, 0u), __dp2a_lo(across, red_below, 0u), place.ty);
    return {b, g, r};
}

// The classes of four cells, one byte each.
__device__ inline uint32_t classify(const Cell (&cells)[4], const Place (&places)[4], const Range& first, const Range& second) {
    uint32_t kinds = 0u;
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (places[k].is_inside)
            kinds |= classify(blended(cells[k].b), blended(cells[k].g), blended(cells[k].r), first, second) << (8 * k);
    return kinds;
}

// Like `classify`, for ranges that pass `is_usual` in host.py: the second range contains no grey, no black and no
// white, and its hues do not pass through 300. Most of a road is grey: few warps have a cell whose hue matters.
__device__ inline uint32_t classify_usual(const Cell (&cells)[4], const Place (&places)[4], const Range& first,
                                          const Range& second) {
    uint32_t kinds = 0u, open = 0u;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const Hls c = to_hls(blended(cells[k].b), blended(cells[k].g), blended(cells[k].r));
        if (places[k].is_inside & is_as_light(c, first)) kinds |= 1u << (8 * k);
        if (places[k].is_inside & is_as_light(c, second) & (c.spread >= second.s0 * c.spread_of)) open |= 2u << (8 * k);
    }
    if (open == 0u) return kinds;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float b = blended(cells[k].b), g = blended(cells[k].g), r = blended(cells[k].r);
        const float high = fmaxf(fmaxf(b, g), r), diff = high - fminf(fminf(b, g), r);
        const float past = __fmaf_rn(-second.hue, diff, hue_of(b, g, r, high, diff));
        if (fabsf(past) > second.span * diff) open &= ~(2u << (8 * k));
    }
    return kinds | open;
}

#define GROUND_VALUES                                                                                                \
    image, width, height, mask, view, rows, columns, x_far, y_left, cell, m0, m1, m2, m3, m4, m5, m6, m7, m8, fx, fy, \
        cx, cy, k1, k2, p1, p2, k3, a_hue, a_span, a_light, a_apart, as0, as1, b_hue, b_span, b_light, b_apart, bs0, bs1

// Writes four cells of a row: the mask as one word, the view as three.
__device__ inline void put(uint8_t* mask, uint8_t* view, int row, int first, int columns, const Cell (&cells)[4],
                           uint32_t kinds) {
    const int64_t at = int64_t(row) * columns + first;
    uint32_t bytes[12];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        bytes[3 * k] = cells[k].b;
        bytes[3 * k + 1] = cells[k].g;
        bytes[3 * k + 2] = cells[k].r;
    }
    if ((columns & 3) == 0) {
        *reinterpret_cast<uint32_t*>(mask + at) = kinds;
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
        mask[at + k] = uint8_t(kinds >> (8 * k));
        if (view != nullptr)
            for (int channel = 0; channel < 3; ++channel) view[(at + k) * 3 + channel] = uint8_t(bytes[3 * k + channel] >> 16);
    }
}

// A thread takes four cells of a row: first all positions, then their 16 loads, with no branch between them.
// IS_THIN: a picture of one row or one column, whose pixels have no neighbours in that direction.
template <int CHANNELS, bool IS_USUAL, bool IS_THIN> __device__ void ground_mask(GROUND) {
    const int row = blockIdx.y, first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= columns) return;
    const float x = __fmaf_rn(-(float(row) + 0.5f), cell, x_far);
    const uint32_t beside = IS_THIN && width < 2 ? 0u : 1u, below = IS_THIN && height < 2 ? 0u : uint32_t(width);
    Place places[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        places[k] = find_place(GROUND_VALUES, m0 * x + m2, m3 * x + m5, m6 * x + m8, float(first) + (float(k) + 0.5f));
    av_wait_for_earlier();  // the positions above depend on no earlier kernel
    Cell cells[4] = {};
    uint32_t kinds = 0u;
    if (places[0].is_inside | places[1].is_inside | places[2].is_inside | places[3].is_inside) {
        uint32_t px[4][4];
#pragma unroll
        for (int k = 0; k < 16; ++k)
            px[k / 4][k % 4] = pixel<CHANNELS>(image, places[k / 4].at + (k % 4 > 1 ? below : 0u) + (k % 2 > 0 ? beside : 0u));
#pragma unroll
        for (int k = 0; k < 4; ++k) cells[k] = look_at(places[k], px[k]);
        kinds = IS_USUAL ? classify_usual(cells, places, FIRST, SECOND) : classify(cells, places, FIRST, SECOND);
    }
    put(mask, view, row, first, columns, cells, kinds);
}

extern "C" __global__ void ground_mask_bgr(GROUND) { ground_mask<3, false, false>(GROUND_VALUES); }
extern "C" __global__ void ground_mask_bgra(GROUND) { ground_mask<4, false, false>(GROUND_VALUES); }
// With launch bounds of 1024 the compiler uses 52 registers and has more loads in flight; with 37 registers the kernel
// took
// 5.2 us instead of 4.9.
extern "C" __global__ void __launch_bounds__(1024) ground_mask_usual_bgr(GROUND) { ground_mask<3, true, false>(GROUND_VALUES); }
extern "C" __global__ void __launch_bounds__(1024) ground_mask_usual_bgra(GROUND) { ground_mask<4, true, false>(GROUND_VALUES); }
extern "C" __global__ void ground_mask_thin_bgr(GROUND) { ground_mask<3, false, true>(GROUND_VALUES); }
extern "C" __global__ void ground_mask_thin_bgra(GROUND) { ground_mask<4, false, true>(GROUND_VALUES); }

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
