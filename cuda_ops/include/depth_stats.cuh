// Median and interquartile range of the depth in the middle of a box: exact order statistics by radix selection. One
// block of DEPTH_THREADS serves one box.
//
// A thread keeps its samples in registers, so that all their loads are in flight together. The first digit has 10 bits,
// beginning at the highest bit in which the samples differ: the depths of one object share their leading bits, and a
// digit from bit 31 on would send all threads to one counter. The few samples that share a quartile's first digit go to
// a list, where one warp per quartile finishes the selection without a barrier.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#pragma once
#include "av_cuda.cuh"

constexpr int DEPTH_SIDE = 64;  // a box is sampled at no more than 64 x 64 points
constexpr int DEPTH_THREADS = 256, DEPTH_EACH = DEPTH_SIDE * DEPTH_SIDE / DEPTH_THREADS;
constexpr int DEPTH_FIRST_BITS = 10, DEPTH_BITS = 8;  // bits of the first digit and of the others
constexpr float DEPTH_INNER = 0.5f;  // sampled fraction of a box's width and height: its rim shows the background
constexpr uint32_t DEPTH_NONE = 0xffffffffu;

struct DepthScratch {
    int4 counters[(1 << DEPTH_FIRST_BITS) / 4];  // of the first digit; afterwards 256 counters for each quartile
    uint32_t list[DEPTH_SIDE * DEPTH_SIDE];      // samples per quartile, size[] of each; quartiles may share a list
    int64_t line[DEPTH_SIDE];
    int column[DEPTH_SIDE];
    uint32_t prefix[3], low, high;
    int rank[3], size[3], taken[3], count;
};

// Pixel (0 .. size - 1) of the k-th of `samples` sampling points along [from, to).
__device__ inline int depth_place(int k, int samples, float from, float to, int size) {
    return av_clamp(int(floorf(from + (to - from) * ((float(k) + 0.5f) / float(samples)))), 0, size - 1);
}

__device__ inline int depth_samples(float from, float to) { return av_clamp(int(ceilf(to - from)), 1, DEPTH_SIDE); }

__device__ inline int depth_upto(int own) {  // inclusive prefix sum over the warp
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(AV_FULL_WARP, own, d);
        if (av_lane() >= d) own += other;
    }
    return own;
}

// Index of the counter, among 32 * EACH, that holds the `rank`-th sample; `rank` becomes its rank among the samples of
// that counter, and `size` their number.
template <int EACH> __device__ inline int depth_digit(const int4* counters, int& rank, int& size) {
    int own = 0;
#pragma unroll
    for (int k = 0; k < EACH / 4; ++k) {
        const int4 four = counters[av_lane() * (EACH / 4) + k];
        own += four.x + four.y + four.z + four.w;
    }
    const int upto = depth_upto(own), owner = __ffs(int(__ballot_sync(AV_FULL_WARP, rank < upto))) - 1;
    rank -= __shfl_sync(AV_FULL_WARP, upto - own, owner);
    const int one = av_lane() < EACH ? reinterpret_cast<const int*>(counters)[owner * EACH + av_lane()] : 0;
    const int upto_one = depth_upto(one), bin = __ffs(int(__ballot_sync(AV_FULL_WARP, rank < upto_one))) - 1;
    rank -= __shfl_sync(AV_FULL_WARP, upto_one - one, bin);
    size = __shfl_sync(AV_FULL_WARP, one, bin);
    return owner * EACH + bin;
}

// Selects the digits below the first, by one warp: `list` holds the `size` samples that share the first digit `prefix`.
__device__ inline uint32_t depth_finish(int4* counters, const uint32_t* list, int size, uint32_t prefix, int rank, int shift) {
    if (size == 1) return list[0];
    while (shift > 0) {
        const int width = min(shift, DEPTH_BITS);
        shift -= width;
        for (int i = av_lane(); i < 64; i += 32) counters[i] = make_int4(0, 0, 0, 0);
        __syncwarp();
        for (int i = av_lane(); i < size; i += 32) {
            const uint32_t v = list[i];
            if (v >> shift >> width == prefix) atomicAdd(&reinterpret_cast<int*>(counters)[v >> shift & ((1u << width) - 1u)], 1);
        }
        __syncwarp();
        int alike;
        prefix = prefix << width | uint32_t(depth_digit<8>(counters, rank, alike));
        __syncwarp();
    }
    return prefix;
}

__device__ inline void depth_select(DepthScratch& s, const uint32_t (&value)[DEPTH_EACH]) {
    const uint32_t low = s.low;
    const int bits = 32 - __clz(int(s.high - low)), shift = max(bits - DEPTH_FIRST_BITS, 0);
    if (bits == 0) return;
    int* counters = reinterpret_cast<int*>(s.counters);
#pragma unroll
    for (int k = 0; k < DEPTH_EACH; ++k)
        if (value[k] != DEPTH_NONE) atomicAdd(&counters[(value[k] - low) >> shift], 1);
    __syncthreads();
    const int q = av_warp();
    if (q < 3) {
        int rank = s.rank[q], size;
        const int digit = depth_digit<(1 << DEPTH_FIRST_BITS) / 32>(s.counters, rank, size);
        __syncwarp();  // all lanes have read the rank (their ballots needed it), but the memory model requires this
        if (av_lane() == 0) s.prefix[q] = uint32_t(digit), s.rank[q] = rank, s.size[q] = size;
    }
    __syncthreads();
    if (shift == 0) return;
    const uint32_t first = s.prefix[0], second = s.prefix[1], third = s.prefix[2];
    const int second_from = second == first ? 0 : s.size[0], third_from = second_from + (third == second ? 0 : s.size[1]);
#pragma unroll
    for (int k = 0; k < DEPTH_EACH; ++k) {
        const uint32_t v = value[k] - low, digit = v >> shift;
        if (value[k] == DEPTH_NONE) continue;
        if (digit == first) s.list[atomicAdd(&s.taken[0], 1)] = v;
        else if (digit == second) s.list[second_from + atomicAdd(&s.taken[1], 1)] = v;
        else if (digit == third) s.list[third_from + atomicAdd(&s.taken[2], 1)] = v;
    }
    __syncthreads();
    if (q < 3) {
        const int from = q == 0 ? 0 : (q == 1 ? second_from : third_from);
        const uint32_t found =
            depth_finish(s.counters + q * 64, s.list + from, s.size[q], s.prefix[q], s.rank[q], shift);
        __syncwarp();
        if (av_lane() == 0) s.prefix[q] = found;
    }
    __syncthreads();
}

// Depth statistics of `box` (px of `depth`): out = median, interquartile range, number of valid samples. All threads of
// the block must call it.
__device__ inline void depth_stats(DepthScratch& s, const float* depth, int width, int height, float4 box, float* out) {
    const float margin_x = (box.z - box.x) * (0.5f - 0.5f * DEPTH_INNER);
    const float margin_y = (box.w - box.y) * (0.5f - 0.5f * DEPTH_INNER);
    const float x0 = box.x + margin_x, x1 = box.z - margin_x, y0 = box.y + margin_y, y1 = box.w - margin_y;
    const int across = depth_samples(x0, x1), down = depth_samples(y0, y1), i = av_thread() % DEPTH_SIDE;
    if (av_thread() == 0) s.count = 0, s.low = DEPTH_NONE, s.high = 0u;
    if (av_thread() < 3) s.taken[av_thread()] = 0;
    for (int k = av_thread(); k < (1 << DEPTH_FIRST_BITS) / 4; k += DEPTH_THREADS) s.counters[k] = make_int4(0, 0, 0, 0);
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
