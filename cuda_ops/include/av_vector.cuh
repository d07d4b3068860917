// Elements of the operator library (float32, float16, bfloat16), and packs of them: up to 16 bytes that one instruction
// loads or stores. Arithmetic is in float32; a result is rounded once, when it is packed.
//
// The host chooses LANES, the elements of a pack, so that every pack of a problem is aligned and full (`lanes_for` in
// ladder.py); for misaligned addresses LANES is smaller. So no kernel needs a second code path for them.
#pragma once
#include "av_cuda.cuh"

struct av_bf16 {
    uint16_t bits;
};

__device__ inline float av_to_float(av_bf16 x) { return __uint_as_float(uint32_t(x.bits) << 16); }
__device__ inline av_bf16 av_to_bf16(float x) {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    av_bf16 rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded.bits) : "f"(x));
    return rounded;
#else
    const uint32_t u = __float_as_uint(x);
    if (x != x) return {uint16_t(u >> 16 | 0x40u)};                      // rounding could make an infinity of a NaN
    return {uint16_t((u + 0x7fffu + (u >> 16 & 1u)) >> 16)};             // to nearest, ties to even
#endif
}
template <> __device__ inline av_bf16 av_from_float<av_bf16>(float x) { return av_to_bf16(x); }

template <class T, int LANES> struct alignas(sizeof(T) * LANES) av_pack {
    T at[LANES];
};

template <class T, int LANES> __device__ inline av_pack<T, LANES> av_load(const T* p) {
    return *reinterpret_cast<const av_pack<T, LANES>*>(p);
}
template <class T, int LANES> __device__ inline void av_store(T* p, av_pack<T, LANES> pack) {
    *reinterpret_cast<av_pack<T, LANES>*>(p) = pack;
}
// Loads data that no thread reads again, without evicting weights from the L1 cache.
__device__ inline void av_load_words_once(const void* p, uint32_t (&word)[4]) {
#ifndef AV_ON_CPU
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
        : "l"(p));
#else
    for (int i = 0; i < 4; ++i) word[i] = reinterpret_cast<const uint32_t*>(p)[i];
#endif
}
// Whether loads may have the hint below. NVRTC 13.0 makes an illegal instruction of an asynchronous copy that has one
// and an offset in shared memory; and what the hint is for GPUs after sm_90 is not known.
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800 && __CUDA_ARCH__ <= 900 && \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1302
#define AV_HAS_L2_HINTS 1
#else
#define AV_HAS_L2_HINTS 0
#endif
// The policy of data that the L2 cache evicts last: what NVRTC makes of createpolicy.fractional.L2::evict_last for
// sm_80 to sm_89. An H200 (sm_90) was timed with it.
constexpr uint64_t AV_L2_EVICT_LAST = 0x14f0000000000000ull;
// av_load_words_once with the hint that the L2 cache keeps the data longest. It then writes results to memory sooner.
__device__ inline void av_load_words_kept_in_l2(const void* p, uint32_t (&word)[4]) {
#if AV_HAS_L2_HINTS
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
        : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
        : "l"(p), "l"(AV_L2_EVICT_LAST));
#else
    av_load_words_once(p, word);
#endif
}
template <class T, int LANES> __device__ inline av_pack<T, LANES> av_load_once(const T* p) {
    if constexpr (sizeof(T) * LANES == 16) {
        union {
            uint32_t word[4];
            av_pack<T, LANES> pack;
        } got;
        av_load_words_once(p, got.word);
        return got.pack;
    } else {
        return av_load<T, LANES>(p);
    }
}
// Element k of a word that holds one float or two half-precision numbers; the type of the first argument says which.
__device__ inline float av_word_value(float, uint32_t word, int) { return __uint_as_float(word); }
__device__ inline float av_word_value(av_bf16, uint32_t word, int k) {
    return __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xffff0000u);
}
__device__ inline float av_word_value(av_half, uint32_t word, int k) {
    return av_to_float(av_half{uint16_t(k % 2 == 0 ? word : word >> 16)});
}

template <class T, int LANES> __device__ inline void av_unpack(av_pack<T, LANES> pack, float* x) {
#pragma unroll
    for (int k = 0; k < LANES; ++k) x[k] = av_to_float(pack.at[k]);
}
template <class T, int LANES> __device__ inline av_pack<T, LANES> av_packed(const float* x) {
    av_pack<T, LANES> pack;
#pragma unroll
    for (int k = 0; k < LANES; ++k) pack.at[k] = av_from_float<T>(x[k]);
    return pack;
}
