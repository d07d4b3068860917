// The steps of a softmax on the chunk of a row that a warp holds.
#pragma once
#include "av_packs.cuh"
#include "av_softmax.cuh"

// A word of -inf.
__device__ inline uint32_t av_minus_infinities(float) { return 0xff800000u; }
__device__ inline uint32_t av_minus_infinities(av_bf16) { return 0xff80ff80u; }
__device__ inline uint32_t av_minus_infinities(av_half) { return 0xfc00fc00u; }

// The greater number of each half of two words, by one instruction; a number wins against NaN, as in fmaxf.
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
__device__ inline uint32_t av_max_of_halves(av_bf16, uint32_t a, uint32_t b) {
    uint32_t most;
    asm("max.bf16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
}
__device__ inline uint32_t av_max_of_halves(av_half, uint32_t a, uint32_t b) {
    uint32_t most;
    asm("max.f16x2 %0, %1, %2;" : "=r"(most) : "r"(a), "r"(b));
    return most;
}
#else
template <class T> __device__ inline uint32_t av_max_of_halves(T type, uint32_t a, uint32_t b) {
    uint32_t most = 0u;
    for (int k = 0; k < 2; ++k) {
        const float one = fmaxf(av_word_value(type, a, k), av_word_value(type, b, k));
        most |= uint32_t(av_from_float<T>(one).bits) << 16 * k;
    }
    return most;
}
#endif
// The greatest element of a chunk; -inf fills it up.
template <class T, int LANES, int VECTORS>
__device__ inline float av_max_of(const av_row_packs<T, LANES, VECTORS, 32>& x) {
    float most = -INFINITY;
    if constexpr (sizeof(T) == 2 && LANES % 2 == 0) {
        uint32_t word = av_minus_infinities(T());
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
#pragma unroll
            for (int i = 0; i < LANES / 2; ++i) word = av_max_of_halves(T(), word, x.at[v].word[i]);
        most = fmaxf(av_word_value(T(), word, 0), av_word_value(T(), word, 1));
    } else {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
#pragma unroll
            for (int k = 0; k < LANES; ++k) most = fmaxf(most, x.value(v, k));
    }
    return most;
}

// 2^raise e^x for x <= 0; raise is 0 or 8. Half precision needs three instructions. The one for powers of two gives 0
// for results below 2^-126; raised by 2^8 these are the ones that bfloat16 rounds to 0.
template <class T> __device__ inline float av_row_exp(float x, float raise = 0.0f) {
#ifndef AV_ON_CPU
    if constexpr (sizeof(T) == 2) {
        float power;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(__fmaf_rn(x, 1.4426950408889634f, raise)));
        return power;
    }
#endif
    return expf(x) * (raise > 0.0f ? 256.0f : 1.0f);
}

// The exponentials of a chunk, those of half precision 2^8 times; the logarithm needs only their sum.
template <class T, int LANES, int VECTORS, bool IS_LOG> struct av_row_powers {
    static constexpr float RAISE = sizeof(T) == 2 && !IS_LOG ? 8.0f : 0.0f;
    float at[IS_LOG ? 1 : VECTORS * LANES];

    // Returns the sum.
    template <class Part> __device__ float take(const Part& part, float shift) {
        float sum = 0.0f;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float power = av_row_exp<T>(part.value(v, k) - shift, RAISE);
                sum += power;
                if (!IS_LOG) at[v * LANES + k] = power;
            }
        return sum;
    }
    // Stores the powers times `number`, or x - shift - number.
    template <class Part> __device__ void store(Part& part, float shift, float number, T* out) {
        if (IS_LOG) part.stay_packed();
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (!part.has(v)) continue;
            float result[LANES];
#pragma unroll
            for (int k = 0; k < LANES; ++k)
                result[k] = IS_LOG ? (part.value(v, k) - shift) - number : at[v * LANES + k] * number;
            av_words<T, LANES> words;
            words.round(result);
            words.store(out + part.column(v));
        }
    }
};

// The state of all pairs of maximum and sum, in the same order in each warp.
template <class T, int PAIRS> __device__ inline av_softmax_state av_softmax_join_pairs(const float2* pairs) {
    constexpr int EACH = (PAIRS + 31) / 32, AT_ONCE = EACH < 4 ? EACH : 4;
    constexpr bool IS_KEPT = EACH == AT_ONCE;  // more do not fit into the registers beside a row, and are read again
    float2 own[AT_ONCE];
    float most = -INFINITY, sum = 0.0f;
#pragma unroll AT_ONCE
    for (int i = 0; i < EACH; ++i) {
        const int at = i * 32 + av_lane();
        own[i % AT_ONCE] = at < PAIRS ? pairs[at] : make_float2(-INFINITY, 0.0f);
        most = fmaxf(most, own[i % AT_ONCE].x);
    }
    most = av_reduce_warp<av_max>(most);
    const float shift = av_softmax_shift(most);
#pragma unroll AT_ONCE
    for (int i = 0; i < EACH; ++i) {
        const int at = i * 32 + av_lane();
        if (!IS_KEPT) own[i % AT_ONCE] = at < PAIRS ? pairs[at] : make_float2(-INFINITY, 0.0f);
        sum += own[i % AT_ONCE].y * av_row_exp<T>(own[i % AT_ONCE].x - shift);
    }
    return {most, av_reduce_warp<av_sum>(sum)};
}
