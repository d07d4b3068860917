// Median and interquartile range of the depth in the middle of a box, by one block of DEPTH_THREADS: exact order
// statistics by radix selection, all three quartiles in the same passes. A thread keeps its samples in registers, so that
// all their loads are under way together and no pass reads them again. Digits begin at the highest bit in which the samples
// differ: depths of one object share their leading bits, which would send all threads to one counter.
//
// Version 1 kept samples in shared memory and computed each one's place with two divisions, one load after the other.
#pragma once
#include "av_cuda.cuh"

constexpr int DEPTH_SIDE = 64;  // a box is sampled on at most 64 x 64 places
constexpr int DEPTH_THREADS = 256, DEPTH_EACH = DEPTH_SIDE * DEPTH_SIDE / DEPTH_THREADS;
constexpr float DEPTH_INNER = 0.5f;  // of the box's width and height: the rim shows what is behind
constexpr uint32_t DEPTH_NONE = 0xffffffffu;

struct DepthScratch {
    int4 histogram[3][64];  // 256 counters each
    int64_t line[DEPTH_SIDE];
    int column[DEPTH_SIDE];
    uint32_t prefix[3];
    uint32_t low, high;
    int rank[3], count;
};

// The k-th of `samples` places along [from, to), as a pixel of 0 .. size - 1.
__device__ inline int depth_place(int k, int samples, float from, float to, int size) {
    return av_clamp(int(floorf(from + (to - from) * ((float(k) + 0.5f) / float(samples)))), 0, size - 1);
}

__device__ inline int depth_samples(float from, float to) { return av_clamp(int(ceilf(to - from)), 1, DEPTH_SIDE); }

// A warp finds the counter in which the `rank`-th sample lies, and its rank within.
__device__ inline void depth_digit(const int4* histogram, uint32_t& prefix, int& rank, int width) {
    const int lane = av_lane(), wanted = rank;
    const int4 low = histogram[lane * 2], high = histogram[lane * 2 + 1];
    const int counts[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    int own = 0;
#pragma unroll
    for (int b = 0; b < 8; ++b) own += counts[b];
    int upto = own;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(AV_FULL_WARP, upto, d);
        if (lane >= d) upto += other;
    }
    __syncwarp();
    if (upto - own > wanted || wanted >= upto) return;
    int bin = lane * 8, below = upto - own, left = 0;
#pragma unroll
    for (int b = 0; b < 8; ++b) {
        if (below <= wanted) bin = lane * 8 + b, left = wanted - below;
        below += counts[b];
    }
    prefix = prefix << width | uint32_t(bin);
    rank = left;
}

__device__ inline void depth_select(DepthScratch& s, const uint32_t (&value)[DEPTH_EACH]) {
    const uint32_t low = s.low;
    for (int shift = 32 - __clz(int(s.high - low)); shift > 0;) {
        const int width = min(shift, 8);
        shift -= width;
        for (int i = av_thread(); i < 3 * 64; i += DEPTH_THREADS) (&s.histogram[0][0])[i] = make_int4(0, 0, 0, 0);
        __syncthreads();
        const uint32_t first = s.prefix[0], second = s.prefix[1], third = s.prefix[2];
        int *at = reinterpret_cast<int*>(&s.histogram[0][0]);
#pragma unroll
        for (int k = 0; k < DEPTH_EACH; ++k) {
            if (value[k] == DEPTH_NONE) continue;
            const uint32_t v = value[k] - low;
            const uint32_t above = v >> (shift + width - 1) >> 1, digit = v >> shift & ((1u << width) - 1u);
            if (above == first) atomicAdd(&at[digit], 1);
            if (above == second && second != first) atomicAdd(&at[256 + digit], 1);
            if (above == third && third != second) atomicAdd(&at[512 + digit], 1);
        }
        __syncthreads();
        const int q = av_warp();
        if (q < 3) {  // quartiles that still share a prefix share its histogram
            const int own = q == 0 || second == first ? (q == 2 && third != second ? 2 : 0) : (q == 2 && third != second ? 2 : 1);
            depth_digit(s.histogram[own], s.prefix[q], s.rank[q], width);
        }
        __syncthreads();
    }
}

// `box` in px of `depth`; result: median, interquartile range, number of valid samples. All threads of the block call.
__device__ inline void depth_stats(DepthScratch& s, const float* depth, int width, int height, float4 box, float* out) {
    const float margin_x = (box.z - box.x) * (0.5f - 0.5f * DEPTH_INNER);
    const float margin_y = (box.w - box.y) * (0.5f - 0.5f * DEPTH_INNER);
    const float x0 = box.x + margin_x, x1 = box.z - margin_x, y0 = box.y + margin_y, y1 = box.w - margin_y;
    const int across = depth_samples(x0, x1), down = depth_samples(y0, y1), i = av_thread() % DEPTH_SIDE;
    if (av_thread() == 0) s.count = 0, s.low = DEPTH_NONE, s.high = 0u;
    if (av_thread() < DEPTH_SIDE) s.column[i] = i < across ? depth_place(i, across, x0, x1, width) : 0;
    else if (av_thread() < 2 * DEPTH_SIDE) s.line[i] = i < down ? int64_t(depth_place(i, down, y0, y1, height)) * width : 0;
    __syncthreads();
    uint32_t value[DEPTH_EACH], low = DEPTH_NONE, high = 0u;
    int valid_here = 0;
    const float* column = depth + s.column[i];
#pragma unroll
    for (int k = 0; k < DEPTH_EACH; ++k) {
        const int row = k * (DEPTH_THREADS / DEPTH_SIDE) + av_thread() / DEPTH_SIDE;
        value[k] = i < across && row < down ? __float_as_uint(column[s.line[row]]) : 0u;
    }
#pragma unroll
    for (int k = 0; k < DEPTH_EACH; ++k) {
        const float d = __uint_as_float(value[k]);
        if (d > 0.0f && d < INFINITY) low = min(low, value[k]), high = max(high, value[k]), ++valid_here;
        else value[k] = DEPTH_NONE;
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
    if (count > 0) depth_select(s, value);
    if (av_thread() == 0) {
        out[0] = count > 0 ? __uint_as_float(s.low + s.prefix[1]) : 0.0f;
        out[1] = count > 0 ? __uint_as_float(s.low + s.prefix[2]) - __uint_as_float(s.low + s.prefix[0]) : 0.0f;
        out[2] = float(count);
    }
    __syncthreads();
}
