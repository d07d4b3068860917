// A part of a row in the registers of a group of THREADS threads, kept as the words that were loaded. Half precision
// takes half the registers of av_row_part, but each use converts the elements again. The layout is that of av_row_part.
#pragma once
#include "av_vector.cuh"

// Two floats rounded to half precision, as one word; the lower half first.
__device__ inline uint32_t av_word_of(av_bf16, float low, float high) {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return av_to_bf16(low).bits | uint32_t(av_to_bf16(high).bits) << 16;
#endif
}
__device__ inline uint32_t av_word_of(av_half, float low, float high) {
    return av_to_half(low).bits | uint32_t(av_to_half(high).bits) << 16;
}

// One pack as 32-bit words; a single half-precision element takes a whole word.
template <class T, int LANES> struct av_words {
    static constexpr int COUNT = (sizeof(T) * LANES + 3) / 4;
    uint32_t word[COUNT];

    __device__ float value(int k) const { return av_word_value(T(), word[k * int(sizeof(T)) / 4], k); }
    __device__ void fill(uint32_t value) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) word[i] = value;
    }
    __device__ void clear() { fill(0u); }
    __device__ void load_once(const T* p) {
        if constexpr (sizeof(T) * LANES == 16) {
            av_load_words_once(p, word);
        } else {
            load(p);
        }
    }
    // load_once with the hint that the L2 cache keeps the data longest.
    __device__ void load_kept_in_l2(const T* p) {
        if constexpr (sizeof(T) * LANES == 16) {
            av_load_words_kept_in_l2(p, word);
        } else {
            load(p);
        }
    }
    __device__ void load(const T* p) {
        if constexpr (sizeof(T) * LANES < 4) {
            word[0] = reinterpret_cast<const uint16_t*>(p)[0];
        } else {
            const av_pack<uint32_t, COUNT> got = *reinterpret_cast<const av_pack<uint32_t, COUNT>*>(p);
#pragma unroll
            for (int i = 0; i < COUNT; ++i) word[i] = got.at[i];
        }
    }
    __device__ void round(const float* x) {
#pragma unroll
        for (int i = 0; i < COUNT; ++i) {
            if constexpr (sizeof(T) == 4) word[i] = __float_as_uint(x[i]);
            else word[i] = av_word_of(T(), x[2 * i], LANES > 1 ? x[2 * i + 1] : 0.0f);
        }
    }
    // To global memory. A whole pack is one instruction by name: left to itself, the compiler stores some in parts.
    __device__ void store(T* p) const {
        if constexpr (sizeof(T) * LANES == 16) {
#ifndef AV_ON_CPU
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(word[0]), "r"(word[1]), "r"(word[2]),
                         "r"(word[3])
                         : "memory");
#else
            for (int i = 0; i < COUNT; ++i) reinterpret_cast<uint32_t*>(p)[i] = word[i];
#endif
        } else if constexpr (sizeof(T) * LANES < 4) {
            *reinterpret_cast<uint16_t*>(p) = uint16_t(word[0]);
        } else {
            av_pack<uint32_t, COUNT> pack;
#pragma unroll
            for (int i = 0; i < COUNT; ++i) pack.at[i] = word[i];
            *reinterpret_cast<av_pack<uint32_t, COUNT>*>(p) = pack;
        }
    }
    // Hides from the compiler that the words have not changed; otherwise it would keep the converted numbers of one
    // pass in registers until the next pass.
    __device__ void stay_packed() {
#ifndef AV_ON_CPU
#pragma unroll
        for (int i = 0; i < COUNT; ++i) asm volatile("" : "+r"(word[i]));
#endif
    }
};

template <class T, int LANES, int VECTORS, int THREADS> struct av_row_packs {
    static constexpr int EACH = VECTORS * LANES;
    static constexpr int COLUMNS = THREADS * EACH;
    av_words<T, LANES> at[VECTORS];
    int thread, columns;  // of the group; of the part, at most COLUMNS and a multiple of LANES

    __device__ int column(int v) const { return (v * THREADS + thread) * LANES; }
    __device__ bool has(int v) const { return column(v) < columns; }
    __device__ float value(int v, int k) const { return at[v].value(k); }

    // Elements after the end of the row become 0.
    __device__ void load(const T* row) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (has(v)) {
                at[v].load_once(row + column(v));
            } else {
                at[v].clear();
            }
        }
    }
    // Call it between two passes over the elements.
    __device__ void stay_packed() {
        if constexpr (sizeof(T) < 4) {
#pragma unroll
            for (int v = 0; v < VECTORS; ++v) at[v].stay_packed();
        }
    }
};

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_sum_of(const av_row_packs<T, LANES, VECTORS, THREADS>& x) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += x.value(v, k);
    return sum;
}

// Sum of (x - mean)^2, without elements after the end of the row.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float av_sum_of_squares(const av_row_packs<T, LANES, VECTORS, THREADS>& x, float mean) {
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!x.has(v)) continue;
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const float off = x.value(v, k) - mean;
            sum += off * off;
        }
    }
    return sum;
}
