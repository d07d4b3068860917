// Camera pictures to the network's input: letterbox (bilinear, aspect ratio kept, grey border), RGB, 1/255, planar fp16
// or fp32; or packed for a first convolution that reads 16 bytes per pixel: R, G, B and five zeros in fp16.
//
// One launch serves up to 8 cameras of different sizes, with one output picture each; the geometry is passed in the
// launch's arguments (constant memory), so that nothing is uploaded first.
// A warp takes 128 px of an output row, 4 px per lane, 32 apart. At half size the taps of one load instruction then lie
// in two cache lines; with 4 adjacent px per lane they lay in eight. 16 independent 4-byte loads per lane are in
// flight.
//
// Bytes moved: each source pixel once (4, or 1.5 for NV12), each output value once.
#include "av_cuda.cuh"

constexpr int PX = 4, ROWS = 8;
constexpr float BORDER = 114.0f;

struct Picture {
    const uint8_t* data;
    int width, height, fit_width, fit_height, left, top, pitch;
};

struct Rgb {
    float r, g, b;
};

struct Bgra {
    __device__ static inline Rgb at(const Picture& p, int x, int y, const float*) {
        const uint32_t v = *reinterpret_cast<const uint32_t*>(p.data + int64_t(y) * p.pitch + x * 4);
        return {float(v >> 16 & 0xffu), float(v >> 8 & 0xffu), float(v & 0xffu)};
    }
};

struct Bgr {
    __device__ static inline Rgb at(const Picture& p, int x, int y, const float*) {
        const uint8_t* v = p.data + int64_t(y) * p.pitch + x * 3;
        return {float(v[2]), float(v[1]), float(v[0])};
    }
};

__device__ inline float byte_range(float x) { return fminf(fmaxf(x, 0.0f), 255.0f); }

// A plane of luma, then a plane of half size with alternating U and V; `m`: weights of Y, V in R, U in G, V in G, U in
// B.
struct Nv12 {
    __device__ static inline Rgb at(const Picture& p, int x, int y, const float* m) {
        const uint8_t* chroma = p.data + int64_t(p.pitch) * (p.height + (y >> 1)) + (x & ~1);
        const float luma = fmaxf(float(p.data[int64_t(y) * p.pitch + x]) - 16.0f, 0.0f) * m[0];
        const float u = float(chroma[0]) - 128.0f, v = float(chroma[1]) - 128.0f;
        return {byte_range(luma + m[1] * v), byte_range(luma - m[2] * u - m[3] * v), byte_range(luma + m[4] * u)};
    }
};

__device__ inline float mix(float a, float b, float t) { return a + (b - a) * t; }
__device__ inline Rgb mix(const Rgb& a, const Rgb& b, float t) {
    return {mix(a.r, b.r, t), mix(a.g, b.g, t), mix(a.b, b.b, t)};
}

// The two source pixels around the centre of output pixel `i`, and the fraction `t` between them.
__device__ inline void taps(int i, float step, int size, int& first, int& second, float& t) {
    const float at = (float(i) + 0.5f) * step - 0.5f;
    const float low = floorf(at);
    first = av_clamp(int(low), 0, size - 1);
    second = av_clamp(int(low) + 1, 0, size - 1);
    t = at - low;
}

struct alignas(16) Packed {
    av_half at[8];
};

// Writes pixel (x, y) of picture `image`; RGB in 0..1.
template <class Out> __device__ inline void write(Out* out, int image, int x, int y, int width, int height, const Rgb& rgb) {
    const int64_t plane = int64_t(width) * height;
    Out* place = out + image * 3 * plane + int64_t(y) * width + x;
    place[0] = av_from_float<Out>(rgb.r), place[plane] = av_from_float<Out>(rgb.g), place[2 * plane] = av_from_float<Out>(rgb.b);
}
__device__ inline void write(Packed* out, int image, int x, int y, int width, int height, const Rgb& rgb) {
    const Packed packed = {{av_to_half(rgb.r), av_to_half(rgb.g), av_to_half(rgb.b), {0}, {0}, {0}, {0}, {0}}};
    out[(int64_t(image) * height + y) * width + x] = packed;
}

template <class Source, class Out>
__device__ void letterbox(const Picture& p, const float* matrix, Out* out, int width, int height, bool is_rounded) {
    const int y = blockIdx.y * ROWS + av_warp(), x0 = blockIdx.x * 32 * PX + av_lane();
    if (y >= height) return;
    const int row = y - p.top;
    const bool in_rows = row >= 0 && row < p.fit_height;
    int y0, y1;
    float ty;
    taps(row, float(p.height) / float(p.fit_height), p.height, y0, y1, ty);
    const float step = float(p.width) / float(p.fit_width);
    Rgb pixel[PX];
#pragma unroll
    for (int i = 0; i < PX; ++i) {
        const int column = x0 + 32 * i - p.left;
        pixel[i] = {BORDER, BORDER, BORDER};
        if (in_rows && column >= 0 && column < p.fit_width) {
            int a, b;
            float tx;
            taps(column, step, p.width, a, b, tx);
            const Rgb top_left = Source::at(p, a, y0, matrix), top_right = Source::at(p, b, y0, matrix);
            const Rgb low_left = Source::at(p, a, y1, matrix), low_right = Source::at(p, b, y1, matrix);
            pixel[i] = mix(mix(top_left, top_right, tx), mix(low_left, low_right, tx), ty);
            if (is_rounded) pixel[i] = {floorf(pixel[i].r + 0.5f), floorf(pixel[i].g + 0.5f), floorf(pixel[i].b + 0.5f)};
        }
    }
#pragma unroll
    for (int i = 0; i < PX; ++i) {
        const int x = x0 + 32 * i;
        if (x >= width) break;
        constexpr float SCALE = 1.0f / 255.0f;
        write(out, blockIdx.z, x, y, width, height, {pixel[i].r * SCALE, pixel[i].g * SCALE, pixel[i].b * SCALE});
    }
}

// Sizes are passed as pairs of 16 bits, with x in the lower half.
#define CAMERA(i) const uint8_t *data##i, int size##i, int fit##i, int pad##i, int pitch##i
#define PICK(i)                                                                                                  \
    case i:                                                                                                      \
        p = {data##i,    size##i & 0xffff, size##i >> 16, fit##i & 0xffff, fit##i >> 16, pad##i & 0xffff, pad##i >> 16, \
             pitch##i};                                                                                          \
        break;
#define ARGUMENTS                                                                                             \
    int width, int height, int is_rounded, float m0, float m1, float m2, float m3, float m4, CAMERA(0), CAMERA(1), \
        CAMERA(2), CAMERA(3), CAMERA(4), CAMERA(5), CAMERA(6), CAMERA(7)
#define PREPROCESS(Source, Out)                                                 \
    av_wait_for_earlier();                                                      \
    Picture p;                                                                  \
    switch (blockIdx.z) { PICK(0) PICK(1) PICK(2) PICK(3) PICK(4) PICK(5) PICK(6) PICK(7) } \
    const float matrix[5] = {m0, m1, m2, m3, m4};                               \
    letterbox<Source, Out>(p, matrix, out, width, height, is_rounded != 0)

extern "C" __global__ void bgra_half(av_half* out, ARGUMENTS) { PREPROCESS(Bgra, av_half); }
extern "C" __global__ void bgra_float(float* out, ARGUMENTS) { PREPROCESS(Bgra, float); }
extern "C" __global__ void bgra_packed(Packed* out, ARGUMENTS) { PREPROCESS(Bgra, Packed); }
extern "C" __global__ void bgr_half(av_half* out, ARGUMENTS) { PREPROCESS(Bgr, av_half); }
extern "C" __global__ void bgr_float(float* out, ARGUMENTS) { PREPROCESS(Bgr, float); }
extern "C" __global__ void bgr_packed(Packed* out, ARGUMENTS) { PREPROCESS(Bgr, Packed); }
extern "C" __global__ void nv12_packed(Packed* out, ARGUMENTS) { PREPROCESS(Nv12, Packed); }
extern "C" __global__ void nv12_half(av_half* out, ARGUMENTS) { PREPROCESS(Nv12, av_half); }
extern "C" __global__ void nv12_float(float* out, ARGUMENTS) { PREPROCESS(Nv12, float); }
