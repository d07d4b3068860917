// Mask of the pixels within ranges of CIE L*a*b* (D65, ITU-R BT.709 primaries, sRGB's curve), scaled to bytes like
// OpenCV.
//
// sRGB's curve is a table of 256 floats that each block copies to shared memory, which saves three powers per pixel.
// The cube root divides the bits by three and makes three steps of Newton's method. It uses only additions,
// multiplications and divisions, which numpy rounds in the same way. One thread takes 4 px of BGRA (16 bytes) or 1 px
// of BGR.
#include "av_cuda.cuh"

struct Curve {
    float linear[256];
};

struct LabRange {
    float l0, a0, b0, l1, a1, b1;
};

__device__ inline float cube_root(float x) {
    float y = __int_as_float(__float_as_int(x) / 3 + 709921077);
#pragma unroll
    for (int i = 0; i < 3; ++i) y = (y + y + x / (y * y)) / 3.0f;
    return y;
}

__device__ inline float bent(float t) { return t > 0.008856f ? cube_root(t) : 7.787f * t + 0.13793103f; }

__device__ inline bool inside(LabRange r, float l, float a, float b) {
    return l >= r.l0 && l <= r.l1 && a >= r.a0 && a <= r.a1 && b >= r.b0 && b <= r.b1;
}

__device__ inline uint32_t lab_class(const float* linear, uint32_t bgr, LabRange first, LabRange second) {
    const float b = linear[bgr & 255u], g = linear[bgr >> 8 & 255u], r = linear[bgr >> 16 & 255u];
    const float y = 0.212671f * r + 0.715160f * g + 0.072169f * b;
    const float fx = bent(0.43395275f * r + 0.37621944f * g + 0.18982783f * b), fy = bent(y);
    const float fz = bent(0.01775791f * r + 0.10947652f * g + 0.87276557f * b);
    const float lightness = (y > 0.008856f ? 116.0f * fy - 16.0f : 903.3f * y) * 2.55f;
    const float red = 500.0f * (fx - fy) + 128.0f, yellow = 200.0f * (fy - fz) + 128.0f;
    return (inside(first, lightness, red, yellow) ? 1u : 0u) | (inside(second, lightness, red, yellow) ? 2u : 0u);
}

#define ARGUMENTS                                                                                                     \
    const uint8_t *image, int size, uint8_t *mask, const float *linear, float l0, float a0, float b0, float l1,      \
        float a1, float b1, float m0, float c0, float d0, float m1, float c1, float d1
#define RANGES LabRange{l0, a0, b0, l1, a1, b1}, LabRange{m0, c0, d0, m1, c1, d1}

extern "C" __global__ void __launch_bounds__(256) lab_mask_bgr(ARGUMENTS) {
    AV_SHARED(Curve, curve);
    av_wait_for_earlier();
    for (int i = av_thread(); i < 256; i += av_threads()) curve.linear[i] = linear[i];
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const uint8_t* p = image + int64_t(i) * 3;
    mask[i] = uint8_t(lab_class(curve.linear, p[0] | p[1] << 8 | p[2] << 16, RANGES));
}

extern "C" __global__ void __launch_bounds__(256) lab_mask_bgra(ARGUMENTS) {
    AV_SHARED(Curve, curve);
    av_wait_for_earlier();
    for (int i = av_thread(); i < 256; i += av_threads()) curve.linear[i] = linear[i];
    __syncthreads();
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const uint32_t* words = reinterpret_cast<const uint32_t*>(image);
    if (i + 3 < size) {
        const uint4 four = *reinterpret_cast<const uint4*>(words + i);
        const uint32_t found = lab_class(curve.linear, four.x, RANGES) | lab_class(curve.linear, four.y, RANGES) << 8 |
                               lab_class(curve.linear, four.z, RANGES) << 16 |
                               lab_class(curve.linear, four.w, RANGES) << 24;
        *reinterpret_cast<uint32_t*>(mask + i) = found;
        return;
    }
    for (int k = i; k < size; ++k) mask[k] = uint8_t(lab_class(curve.linear, words[k], RANGES));
}
