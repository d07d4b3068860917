// Median and interquartile range of the depth in the middle of a box, by one block: exact order statistics by radix
// selection over shared memory, all three quartiles in the same passes. Digits begin at the highest bit in which the
// samples differ: depths of one object share their leading bits, which would send all threads to one counter.
#pragma once
#include "av_cuda.cuh"

constexpr int DEPTH_SIDE = 64;  // a box is sampled on at most 64 x 64 places
constexpr float DEPTH_INNER = 0.5f;  // of the box's width and height: the rim shows what is behind

struct DepthScratch {
    uint32_t value[DEPTH_SIDE * DEPTH_SIDE];
    int histogram[3][256];
    uint32_t prefix[3];
    uint32_t low, high;
    int rank[3], count;
};

// The k-th of `samples` places along [from, to), as a pixel of 0 .. size - 1.
__device__ inline int depth_place(int k, int samples, float from, float to, int size) {
    return av_clamp(int(floorf(from + (to - from) * ((float(k) + 0.5f) / float(samples)))), 0, size - 1);
}

__device__ inline int depth_samples(float from, float to) { return av_clamp(int(ceilf(to - from)), 1, DEPTH_SIDE); }

__device__ inline void depth_select(DepthScratch& s, int total) {
    const uint32_t low = s.low;
    int shift = 32 - __clz(int(s.high - low)), width;
    for (; shift > 0;) {
        width = min(shift, 8);
        shift -= width;
        for (int i = av_thread(); i < 3 * 256; i += av_threads()) (&s.histogram[0][0])[i] = 0;
        __syncthreads();
        const uint32_t first = s.prefix[0], second = s.prefix[1], third = s.prefix[2];
        for (int i = av_thread(); i < total; i += av_threads()) {
            const uint32_t v = s.value[i] - low;
            if (s.value[i] == 0xffffffffu) continue;
            const uint32_t above = v >> (shift + width - 1) >> 1, digit = v >> shift & ((1u << width) - 1u);
            if (above == first) atomicAdd(&s.histogram[0][digit], 1);
            if (above == second && second != first) atomicAdd(&s.histogram[1][digit], 1);
            if (above == third && third != second) atomicAdd(&s.histogram[2][digit], 1);
        }
        __syncthreads();
        const int q = av_warp(), lane = av_lane();
        if (q < 3) {  // quartiles that still share a prefix share its histogram
            const int* histogram = s.histogram[q == 0 || second == first ? (q == 2 && third != second ? 2 : 0)
                                                                         : (q == 2 && third != second ? 2 : 1)];
            int own = 0;
            for (int b = 0; b < 8; ++b) own += histogram[lane * 8 + b];
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
                while (below + histogram[bin] <= rank) below += histogram[bin++];
                s.prefix[q] = s.prefix[q] << width | uint32_t(bin);
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
    if (av_thread() == 0) s.count = 0, s.low = 0xffffffffu, s.high = 0u;
    __syncthreads();
    uint32_t low = 0xffffffffu, high = 0u;
    int valid_here = 0;
    for (int i = av_thread(); i < total; i += av_threads()) {
        const int x = depth_place(i % across, across, x0, x1, width), y = depth_place(i / across, down, y0, y1, height);
        const float d = depth[int64_t(y) * width + x];
        const bool valid = d > 0.0f && d < INFINITY;
        const uint32_t bits = __float_as_uint(d);
        s.value[i] = valid ? bits : 0xffffffffu;
        if (valid) low = min(low, bits), high = max(high, bits), ++valid_here;
    }
    for (int step = 16; step > 0; step /= 2) {
        low = min(low, __shfl_xor_sync(AV_FULL_WARP, low, step));
        high = max(high, __shfl_xor_sync(AV_FULL_WARP, high, step));
        valid_here += __shfl_xor_sync(AV_FULL_WARP, valid_here, step);
    }
    if (av_lane() == 0 && valid_here > 0) {
        atomicMin(&s.low, low);
        atomicMax(&s.high, high);
        atomicAdd(&s.count, valid_here);
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
        out[0] = count > 0 ? __uint_as_float(s.low + s.prefix[1]) : 0.0f;
        out[1] = count > 0 ? __uint_as_float(s.low + s.prefix[2]) - __uint_as_float(s.low + s.prefix[0]) : 0.0f;
        out[2] = float(count);
    }
    __syncthreads();
}
