// Products of 16 x 16 matrices of half precision by a warp, from shared memory (wmma, sm_80 for both types). The order
// of the elements in the lanes is not documented. On the CPU each lane holds a whole matrix.
#pragma once
#include "av_vector.cuh"

// The alignment of matrices in shared memory.
struct alignas(32) av_wmma_room {
    uint32_t word[8];
};

// A factor. IS_RIGHT: it is the second one. IS_TRANSPOSED: it is in memory column by column, not row by row.
template <class T, bool IS_RIGHT, bool IS_TRANSPOSED> struct av_wmma_factor;

#ifdef AV_ON_CPU
template <class T, bool IS_RIGHT, bool IS_TRANSPOSED> struct av_wmma_factor {
    float at[256];
    void load(const T* from, int pitch) {
        for (int i = 0; i < 256; ++i) {
            const int row = i / 16, column = i % 16;
            at[i] = av_to_float(IS_TRANSPOSED ? from[column * pitch + row] : from[row * pitch + column]);
        }
    }
};
struct av_wmma_sum {
    float at[8];  // element 8 lane + i of the matrix
    void clear() { for (float& x : at) x = 0.0f; }
    template <class A, class B> void add(const A& a, const B& b) {
        for (int i = 0; i < 8; ++i) {
            const int row = (8 * av_lane() + i) / 16, column = (8 * av_lane() + i) % 16;
            for (int k = 0; k < 16; ++k) at[i] += a.at[row * 16 + k] * b.at[k * 16 + column];
        }
    }
    void store(float* to, int pitch) const {
        for (int i = 0; i < 8; ++i) to[(8 * av_lane() + i) / 16 * pitch + (8 * av_lane() + i) % 16] = at[i];
    }
};
#else
#define AV_WMMA_4(r) "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
#define AV_WMMA_LOAD(SIDE, LAYOUT)                                                                                          \
    if constexpr (sizeof(word) == 16)                                                                                       \
        asm volatile("wmma.load." SIDE ".sync.aligned." LAYOUT ".m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"         \
                     : AV_WMMA_4(word)                                                                                      \
                     : "r"(place), "r"(pitch)                                                                               \
                     : "memory");                                                                                           \
    else                                                                                                                    \
        asm volatile(                                                                                                       \
            "wmma.load." SIDE ".sync.aligned." LAYOUT ".m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"   \
            : AV_WMMA_4(word), AV_WMMA_4((word + 4))                                                                        \
            : "r"(place), "r"(pitch)                                                                                        \
            : "memory")
template <class T> constexpr int av_wmma_words = 8;  // float16 lies twice in a warp
template <> constexpr int av_wmma_words<av_bf16> = 4;
template <class T, bool IS_RIGHT, bool IS_TRANSPOSED> struct av_wmma_factor {
    uint32_t word[av_wmma_words<T>];
    __device__ void load(const T* from, int pitch) {
        const unsigned place = unsigned(__cvta_generic_to_shared(from));
        if constexpr (IS_RIGHT && IS_TRANSPOSED) AV_WMMA_LOAD("b", "col");
        else if constexpr (IS_RIGHT) AV_WMMA_LOAD("b", "row");
        else if constexpr (IS_TRANSPOSED) AV_WMMA_LOAD("a", "col");
        else AV_WMMA_LOAD("a", "row");
    }
};
#define AV_WMMA_SUM "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define AV_WMMA_ADD(LAYOUTS)                                                                                                \
    if constexpr (sizeof(a.word) == 16)                                                                                     \
        asm volatile("wmma.mma.sync.aligned." LAYOUTS ".m16n16k16.f32.bf16.bf16.f32 " AV_WMMA_SUM                           \
                     ", {%8, %9, %10, %11}, {%12, %13, %14, %15}, " AV_WMMA_SUM ";"                                         \
                     : AV_WMMA_SUMS                                                                                         \
                     : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b.word[0]), "r"(b.word[1]),      \
                       "r"(b.word[2]), "r"(b.word[3]));                                                                     \
    else                                                                                                                    \
        asm volatile("wmma.mma.sync.aligned." LAYOUTS ".m16n16k16.f32.f32 " AV_WMMA_SUM                                     \
                     ", {%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, " AV_WMMA_SUM ";" \
                     : AV_WMMA_SUMS                                                                                         \
                     : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(a.word[4]), "r"(a.word[5]),      \
                       "r"(a.word[6]), "r"(a.word[7]), "r"(b.word[0]), "r"(b.word[1]), "r"(b.word[2]), "r"(b.word[3]),      \
                       "r"(b.word[4]), "r"(b.word[5]), "r"(b.word[6]), "r"(b.word[7]))
#define AV_WMMA_SUMS                                                                                                      \
    "+f"(at[0]), "+f"(at[1]), "+f"(at[2]), "+f"(at[3]), "+f"(at[4]), "+f"(at[5]), "+f"(at[6]), "+f"(at[7])
struct av_wmma_sum {
    float at[8];
    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < 8; ++i) at[i] = 0.0f;
    }
    template <class T, bool A_IS_TRANSPOSED, bool B_IS_TRANSPOSED>
    __device__ void add(const av_wmma_factor<T, false, A_IS_TRANSPOSED>& a, const av_wmma_factor<T, true, B_IS_TRANSPOSED>& b) {
        if constexpr (A_IS_TRANSPOSED && B_IS_TRANSPOSED) AV_WMMA_ADD("col.col");
        else if constexpr (A_IS_TRANSPOSED) AV_WMMA_ADD("col.row");
        else if constexpr (B_IS_TRANSPOSED) AV_WMMA_ADD("row.col");
        else AV_WMMA_ADD("row.row");
    }
    __device__ void store(float* to, int pitch) const {
        asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(
                         unsigned(__cvta_generic_to_shared(to))),
                     "f"(at[0]), "f"(at[1]), "f"(at[2]), "f"(at[3]), "f"(at[4]), "f"(at[5]), "f"(at[6]), "f"(at[7]), "r"(pitch)
                     : "memory");
    }
};
#endif
