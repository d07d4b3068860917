// Median and interquartile range of the depth in the middle of a box, by one block: exact order statistics by radix
// selection, all three quartiles in the same four passes over shared memory.
#pragma once
#include "av_cuda.cuh"

constexpr int DEPTH_SIDE = 64;  // a box is sampled on at most 64 x 64 places
constexpr float DEPTH_INNER = 0.5f;  // of the box's width and height: the rim shows what is behind

struct DepthScratch {
    uint32_t value[DEPTH_SIDE * DEPTH_SIDE];
    int histogram[3][256];
    uint32_t prefix[3];
    int rank[3], count;
};

// The k-th of `samples` places along [from, to), as a pixel of 0 .. size - 1.
__device__ inline int depth_place(int k, int samples, float from, float to, int size) {
    return av_clamp(int(floorf(from + (to - from) * ((float(k) + 0.5f) / float(samples)))), 0, size - 1);
}

__device__ inline int depth_samples(float from, float to) { return av_clamp(int(ceilf(to - from)), 1, DEPTH_SIDE); }

__device__ inline void depth_select(DepthScratch& s, int total) {
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int i = av_thread(); i < 3 * 256; i += av_threads()) (&s.histogram[0][0])[i] = 0;
        __syncthreads();
        for (int i = av_thread(); i < total; i += av_threads()) {
            const uint32_t v = s.value[i];
            for (int q = 0; q < 3; ++q) {
                const bool alike = shift == 24 || v >> (shift + 8) == s.prefix[q];
                if (v != 0xffffffffu && alike) atomicAdd(&s.histogram[q][v >> shift & 255u], 1);
            }
        }
        __syncthreads();
        const int q = av_warp(), lane = av_lane();
        if (q < 3) {
            int own = 0;
            for (int b = 0; b < 8; ++b) own += s.histogram[q][lane * 8 + b];
            int upto = own;
            for (int d = 1; d < 32; d *= 2) {
                const int other = __shfl_up_sync(AV_FULL_WARP, upto, d);
                if (lane >= d) upto += other;
            }
            const int rank = s.rank[q];
            __syncwarp();
            int below = upto - own;
            if (below <= rank && rank < upto) {
                int bin = lane * 8;
                while (below + s.histogram[q][bin] <= rank) below += s.histogram[q][bin++];
                s.prefix[q] = s.prefix[q] << 8 | uint32_t(bin);
                s.rank[q] = rank - below;
            }
        }
        __syncthreads();
    }
}

// `box` in px of `depth`; result: median, interquartile range, number of valid samples. All threads of the block call.
__device__ inline void depth_stats(DepthScratch& s, const float* depth, int width, int height, float4 box, float* out) {
    const float margin_x = (box.z - box.x) * (0.5f - 0.5f * DEPTH_INNER);
    const float margin_y = (box.w - box.y) * (0.5f - 0.5f * DEPTH_INNER);
    const float x0 = box.x + margin_x, x1 = box.z - margin_x, y0 = box.y + margin_y, y1 = box.w - margin_y;
    const int across = depth_samples(x0, x1), down = depth_samples(y0, y1), total = across * down;
    if (av_thread() == 0) s.count = 0;
    __syncthreads();
    for (int i = av_thread(); i < total; i += av_threads()) {
        const int x = depth_place(i % across, across, x0, x1, width), y = depth_place(i / across, down, y0, y1, height);
        const float d = depth[int64_t(y) * width + x];
        const bool valid = d > 0.0f && d < INFINITY;
        s.value[i] = valid ? __float_as_uint(d) : 0xffffffffu;
        if (valid) atomicAdd(&s.count, 1);
    }
    __syncthreads();
    const int count = s.count;
    if (av_thread() < 3) {
        s.rank[av_thread()] = (count - 1) * (av_thread() + 1) / 4;
        s.prefix[av_thread()] = 0u;
    }
    __syncthreads();
    if (count > 0) depth_select(s, total);
    if (av_thread() == 0) {
        out[0] = count > 0 ? __uint_as_float(s.prefix[1]) : 0.0f;
        out[1] = count > 0 ? __uint_as_float(s.prefix[2]) - __uint_as_float(s.prefix[0]) : 0.0f;
        out[2] = float(count);
    }
    __syncthreads();
}
