// Products of small matrices on the tensor cores with a 2:4 sparse first factor (mma.sp, from sm_80 on). The CPU
// version exchanges registers between the lanes of a warp.
#pragma once
#include "av_matrix.cuh"
#include "av_sparse_pattern.cuh"

// c (16x8) += a (16x32, 16 values in a row) * b (32x8), in the layout of mma.m16n8k32. A lane has the values of `a`
// like those of 16 x 16 elements, and the elements of `b` like those of two products m16n8k16. Lanes 0 and 1 of each
// four have the pattern if HALF is 0, lanes 2 and 3 if it is 1.
#if defined(AV_ON_CPU)
struct ShimSparseOperands {
    uint32_t a[4], b[4], pattern;
};
template <class T, int HALF>
inline void av_multiply_add_sparse(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[4], uint32_t pattern) {
    ShimSparseOperands own = {{a[0], a[1], a[2], a[3]}, {b[0], b[1], b[2], b[3]}, pattern};
    shim::exchange(AV_FULL_WARP, reinterpret_cast<uint64_t>(&own), [&](uint64_t* of_lane, unsigned) {
        const auto operands = [&](int lane) { return reinterpret_cast<const ShimSparseOperands*>(of_lane[lane]); };
        for (int j = 0; j < 4; ++j) {
            const int row = av_lane() / 4, column = 2 * (av_lane() % 4) + j % 2;
            for (int v = 0; v < 16; ++v) {
                const uint32_t word = operands(row * 4 + 2 * HALF + v / 8)->pattern;
                const int nibble = j / 2 * 4 + v / 2 % 4, k = v / 2 * 4 + (word >> (4 * nibble + v % 2 * 2) & 3);
                c[j] += av_word_value(T{}, operands(row * 4 + v % 8 / 2)->a[j / 2 + 2 * (v / 8)], v % 2) *
                        av_word_value(T{}, operands(column * 4 + k % 8 / 2)->b[k / 8], k % 2);
            }
        }
        return 0;
    });
    __syncwarp();  // until the other lanes have read `own`
}
#else
template <class T> constexpr bool av_is_bf16 = false;
template <> constexpr bool av_is_bf16<av_bf16> = true;

#define AV_SPARSE_MULTIPLY(TYPES)                                                                                          \
    asm("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32." TYPES ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "     \
        "{%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, %13;"                                                                 \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                                   \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(pattern), "n"(HALF))
template <class T, int HALF>
__device__ inline void av_multiply_add_sparse(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[4],
                                              uint32_t pattern) {
#if __CUDA_ARCH__ >= 800
    if constexpr (av_is_bf16<T>) AV_SPARSE_MULTIPLY("bf16.bf16");
    else AV_SPARSE_MULTIPLY("f16.f16");
#endif
}
#undef AV_SPARSE_MULTIPLY
#endif
