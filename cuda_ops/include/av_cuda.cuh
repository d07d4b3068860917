// Common definitions of all kernels: types, half precision, thread indices, grid barrier, number conversion. NVRTC
// compiles it, and so does g++ (with shim.hpp before it), so that the same kernel source runs on the CPU at small
// sizes: see docs/cuda.md, "The same source on the CPU".
#pragma once

#ifndef AV_ON_CPU
#define AV_SHARED(Type, name) __shared__ Type name
#define AV_SHARED_ARRAY(Type, name, count) __shared__ Type name[count]
#define AV_DYNAMIC_SHARED(Type, name)                              \
    extern __shared__ __align__(16) unsigned char av_dynamic_[];   \
    Type* name = reinterpret_cast<Type*>(av_dynamic_)
#define AV_PAUSE()
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
typedef long long int64_t;
#endif

#define AV_FULL_WARP 0xffffffffu
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

// Half precision in 16 bits, rounded to nearest even; needs no CUDA header.
struct av_half {
    uint16_t bits;
};

#ifndef AV_ON_CPU
__device__ inline av_half av_to_half(float x) {
    av_half h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
    return h;
}
__device__ inline float av_to_float(av_half h) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h.bits));
    return x;
}
__device__ inline unsigned av_load_acquire(const unsigned* p) {
    unsigned x;
#if __CUDA_ARCH__ >= 700
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
#endif
    return x;
}
// 1 / x rounded to nearest, for 2^-126 < |x| < 2^126: the instructions of a division, without its branch for numbers
// outside that range.
__device__ inline float av_reciprocal(float x) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(x));
    return __fmaf_rn(near, -__fmaf_rn(x, near, -1.0f), near);
}
// Atomic addition with release: earlier writes of this thread, and of the threads that met it at a block barrier,
// become visible to each thread that acquires the sum.
__device__ inline unsigned av_add_release(unsigned* p, unsigned value) {
    unsigned before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
    return before;
}
// Atomic addition with acquire and release: in addition, writes that others released to `p` become visible to this
// thread.
__device__ inline unsigned av_add_acquire_release(unsigned* p, unsigned value) {
    unsigned before;
    asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(p), "r"(value) : "memory");
    return before;
}
#else
inline float av_reciprocal(float x) { return 1.0f / x; }
inline unsigned av_add_acquire_release(unsigned* p, unsigned value) { return atomicAdd(p, value); }
inline unsigned av_add_release(unsigned* p, unsigned value) { return atomicAdd(p, value); }
inline av_half av_to_half(float x) { return {shim_half_bits(x)}; }
inline float av_to_float(av_half h) { return shim_half_value(h.bits); }
#endif
__device__ inline float av_to_float(float x) { return x; }
template <class T> __device__ inline T av_from_float(float x);
template <> __device__ inline float av_from_float<float>(float x) { return x; }
template <> __device__ inline av_half av_from_float<av_half>(float x) { return av_to_half(x); }

__device__ inline int av_clamp(int x, int low, int high) { return x < low ? low : (x > high ? high : x); }
__device__ inline int av_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ inline int av_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ inline int av_lane() { return av_thread() & 31; }
__device__ inline int av_warp() { return av_thread() >> 5; }

// Profiling by clock stamps. Compiled with AV_STAMPS 1, one chosen block writes the clocks of its thread 0 at the
// numbered places to control words 40 and up (clocks of two processors cannot be compared). With AV_STAMPS 2, words 40
// and up hold the longest time that any block took since the previous place, and words 56 and up the complement of the
// shortest; the host sets both to 0 before the launch.
#ifdef AV_STAMPS
constexpr int AV_STAMPS_MAX = 16;
__shared__ unsigned av_stamps_[AV_STAMPS_MAX];
#define AV_STAMPS_BEGIN()                                          \
    if (av_thread() < AV_STAMPS_MAX) av_stamps_[av_thread()] = 0u; \
    __syncthreads();                                               \
    AV_STAMP(0)
#define AV_STAMP(n) \
    if (av_thread() == 0) av_stamps_[n] = unsigned(clock64())
__device__ inline void av_stamps_end_(unsigned* control, bool is_chosen) {
    if (av_thread() != 0) return;
    for (int n = 0; n < AV_STAMPS_MAX; ++n) {
        if (AV_STAMPS == 1 && is_chosen) control[40 + n] = av_stamps_[n];
        if (AV_STAMPS == 1 || n == 0 || av_stamps_[n] == 0u) continue;
        const unsigned taken = av_stamps_[n] - av_stamps_[n - 1];
        atomicMax(&control[40 + n], taken), atomicMax(&control[56 + n], ~taken);
    }
}
#define AV_STAMPS_END(control, is_chosen) av_stamps_end_(control, is_chosen)
#else
#define AV_STAMPS_BEGIN()
#define AV_STAMP(n)
#define AV_STAMPS_END(control, is_chosen)
#endif

// For kernels launched with `early` (`Launcher.launch`): waits until the kernel before has ended and its results are
// visible, then allows the blocks of the next such kernel to begin as far as there is room for them.
__device__ inline void av_wait_for_earlier() {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A barrier over all blocks of a cooperative launch. `word` starts as 0 and needs no reset: its top bit flips once
// per round, because the blocks' additions sum to 2^31. Writes before the barrier are visible to all blocks after it.
__device__ inline void av_wait_for_grid(unsigned* word) {  // called by thread 0, between two block barriers
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    const bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
    const unsigned before = av_add_release(word, first ? 0x80000000u - (blocks - 1u) : 1u);
    while (((before ^ av_load_acquire(word)) & 0x80000000u) == 0u) AV_PAUSE();
}
__device__ inline void av_grid_barrier(unsigned* word) {
    __syncthreads();
    if (av_thread() == 0) av_wait_for_grid(word);
    __syncthreads();
}

// Grid barrier that also returns `value`, a counter to which blocks added before. One thread per block loads it into
// `shared`: if all threads did, thousands of loads would queue at one address of the L2 cache.
__device__ inline unsigned av_grid_barrier_read(unsigned* word, const unsigned* value, unsigned& shared) {
    __syncthreads();
    if (av_thread() == 0) {
        av_wait_for_grid(word);
        shared = __ldcg(value);
    }
    __syncthreads();
    return shared;
}

// Conversions between integer and float without the conversion unit, which has a quarter of the throughput: an integer
// is placed in the low mantissa bits of 2^23, or read from them. av_byte_behind returns 2^23 + byte k (0 .. 3) of
// `word`; av_byte_to_float returns the byte as a float.
__device__ inline float av_byte_behind(uint32_t word, int k) {
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7650u + unsigned(k)));
}
__device__ inline float av_byte_to_float(uint32_t word, int k) { return av_byte_behind(word, k) - 8388608.0f; }
// The lower (k 0) or upper (k 1) 16 bits of `word` as a float.
__device__ inline float av_short_to_float(uint32_t word, int k) {
    return __uint_as_float(__byte_perm(word, 0x4b000000u, 0x7610u + 0x22u * unsigned(k))) - 8388608.0f;
}
// Byte k of each of the four words, packed into one word.
__device__ inline uint32_t av_pack_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d, int k) {
    const unsigned pick = 0x0040u + 0x11u * unsigned(k);
    return __byte_perm(__byte_perm(a, b, pick), __byte_perm(c, d, pick), 0x5410u);
}
__device__ inline int av_round_to_int(float x) {  // ties to even, |x| < 2^22
    return __float_as_int(__fadd_rn(x, 12582912.0f)) - 0x4b400000;
}
