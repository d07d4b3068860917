// Self-attention between the pixels ("places") of a small feature map, in half precision, channels last. The result is
// the mean of all values, weighted by the softmax of query times key, plus a 3x3 depthwise convolution of the values
// with a bias (the positional encoding).
//
// It replaces some ten kernels of a framework, most of which copy into another layout. A block computes 8 places of one
// head and keeps their scores in shared memory. Keys and values come from the L2 cache: one head's take 46 kB at 240
// places.
//   1. Each thread multiplies one key with the 8 queries.
//   2. Each warp takes one place: largest score, exponentials, their sum.
//   3. Each warp takes every eighth value for all 8 places, and each lane two channels; the warps' sums meet in shared
//      memory.
//   4. Each thread takes two channels of a place: the warps' sums, the neighbours' values, the result.
// All intermediate values are float32.
#include "av_cuda.cuh"

constexpr int THREADS = 256, WARPS = THREADS / 32, PLACES = 8, KEY = 32, VALUE = 64, HEAD = 2 * KEY + VALUE;

struct AttendShared {
    float query[PLACES][KEY], sum[PLACES];
    float mixed[WARPS][PLACES][VALUE];
};

struct alignas(16) Eight {
    av_half at[8];
};
struct alignas(4) Two {
    av_half at[2];
};

#ifdef AV_ON_CPU
inline float quick_exp(float x) { return expf(x); }
#else
__device__ inline float quick_exp(float x) { return __expf(x); }
#endif

// Step 1: scores of the block's places, (count, PLACES), in shared memory.
__device__ void score(AttendShared& s, float* scores, const av_half* keys, int pitch, int count) {
    for (int i = av_thread(); i < count; i += THREADS) {
        float key[KEY];
#pragma unroll
        for (int k = 0; k < KEY / 8; ++k) {
            const Eight eight = *reinterpret_cast<const Eight*>(keys + int64_t(i) * pitch + 8 * k);
#pragma unroll
            for (int j = 0; j < 8; ++j) key[8 * k + j] = av_to_float(eight.at[j]);
        }
        for (int place = 0; place < PLACES; ++place) {
            float sum = 0.0f;
#pragma unroll
            for (int k = 0; k < KEY; k += 4) {
                const float4 query = *reinterpret_cast<const float4*>(&s.query[place][k]);
                sum = __fmaf_rn(query.x, key[k], sum), sum = __fmaf_rn(query.y, key[k + 1], sum);
                sum = __fmaf_rn(query.z, key[k + 2], sum), sum = __fmaf_rn(query.w, key[k + 3], sum);
            }
            scores[i * PLACES + place] = sum;
        }
    }
}

// Step 2: replaces the scores of the warp's place by their exponentials, and sums them.
__device__ void soften(AttendShared& s, float* scores, int count) {
    float* own = scores + av_warp();
    float most = -INFINITY, sum = 0.0f;
    for (int i = av_lane(); i < count; i += 32) most = fmaxf(most, own[i * PLACES]);
    for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(AV_FULL_WARP, most, d));
    for (int i = av_lane(); i < count; i += 32) {
        const float power = quick_exp(own[i * PLACES] - most);
        own[i * PLACES] = power;
        sum += power;
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(AV_FULL_WARP, sum, d);
    if (av_lane() == 0) s.sum[av_warp()] = sum;
}

__device__ void mix(AttendShared& s, const float* scores, const av_half* values, int pitch, int count) {
    float sum[PLACES][2] = {};
#pragma unroll 4
    for (int i = av_warp(); i < count; i += WARPS) {
        const Two two = *reinterpret_cast<const Two*>(values + int64_t(i) * pitch + 2 * av_lane());
        const float a = av_to_float(two.at[0]), b = av_to_float(two.at[1]);
        const float4 low = *reinterpret_cast<const float4*>(&scores[i * PLACES]);
        const float4 high = *reinterpret_cast<const float4*>(&scores[i * PLACES + 4]);
        const float weight[PLACES] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int place = 0; place < PLACES; ++place) {
            sum[place][0] = __fmaf_rn(weight[place], a, sum[place][0]);
            sum[place][1] = __fmaf_rn(weight[place], b, sum[place][1]);
        }
    }
#pragma unroll
    for (int place = 0; place < PLACES; ++place)
        *reinterpret_cast<float2*>(&s.mixed[av_warp()][place][2 * av_lane()]) = make_float2(sum[place][0], sum[place][1]);
}

// `qkv`: (images, places, pitch), where a head has 32 channels of query, 32 of key and 64 of value in a row; `weights`:
// (channels, 3, 3); `out`: (images, places, 64 heads).
extern "C" __global__ void __launch_bounds__(256)
attend(const av_half* qkv, int pitch, const av_half* weights, const av_half* bias, av_half* out, int height, int width,
       float scale) {
    AV_SHARED(AttendShared, s);
    AV_DYNAMIC_SHARED(float, scores);
    const int count = height * width, first = blockIdx.x * PLACES, head = blockIdx.y, channels = int(gridDim.y) * VALUE;
    av_wait_for_earlier();
    qkv += int64_t(blockIdx.z) * count * pitch + head * HEAD;
    if (av_thread() < PLACES * KEY) {
        const int place = av_thread() / KEY, k = av_thread() % KEY;
        s.query[place][k] = first + place < count ? scale * av_to_float(qkv[int64_t(first + place) * pitch + k]) : 0.0f;
    }
    __syncthreads();
    score(s, scores, qkv + KEY, pitch, count);
    __syncthreads();
    soften(s, scores, count);
    __syncthreads();
    const av_half* values = qkv + 2 * KEY;
    mix(s, scores, values, pitch, count);
    __syncthreads();
    const int place = first + av_warp(), channel = head * VALUE + 2 * av_lane(), y = place / width, x = place - y * width;
    if (place >= count) return;
    float made[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) sum += s.mixed[w][av_warp()][2 * av_lane() + c];
        made[c] = sum / s.sum[av_warp()] + av_to_float(bias[channel + c]);
    }
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
        for (int dx = -1; dx <= 1; ++dx) {
            if (y + dy < 0 || y + dy >= height || x + dx < 0 || x + dx >= width) continue;
            const int64_t at = int64_t(place + dy * width + dx) * pitch + 2 * av_lane();
            const Two two = *reinterpret_cast<const Two*>(values + at);
#pragma unroll
            for (int c = 0; c < 2; ++c)
                made[c] = __fmaf_rn(av_to_float(weights[(channel + c) * 9 + (dy + 1) * 3 + dx + 1]), av_to_float(two.at[c]), made[c]);
        }
    const Two two = {{av_to_half(made[0]), av_to_half(made[1])}};
    *reinterpret_cast<Two*>(out + (int64_t(blockIdx.z) * count + place) * channels + channel) = two;
}
