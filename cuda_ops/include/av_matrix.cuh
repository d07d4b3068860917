// Products of small half-precision matrices on the tensor cores, summed in float32, and asynchronous copies into shared
// memory that run beside them. The CPU version exchanges registers between the lanes of a warp. Before sm_80 the copies
// are synchronous.
#pragma once
#include "av_vector.cuh"

#if defined(AV_ON_CPU)
// Copies 16 bytes from `from`, or writes zeros if `is_there` is false; `from` need not be a valid address then.
inline void av_copy_16(void* to, const void* from, bool is_there) {
    if (is_there) std::memcpy(to, from, 16); else std::memset(to, 0, 16);
}
inline void av_copies_commit() {}
template <int LEFT> inline void av_copies_wait() {}

inline void av_load_matrices(uint32_t (&r)[4], const void* row) {
    for (int i = 0; i < 4; ++i) {
        const uint64_t other = __shfl_sync(AV_FULL_WARP, reinterpret_cast<uint64_t>(row), 8 * i + av_lane() / 4);
        std::memcpy(&r[i], reinterpret_cast<const char*>(other) + 4 * (av_lane() % 4), 4);
    }
}

inline void av_load_matrices_transposed(uint32_t (&r)[4], const void* row) {
    for (int i = 0; i < 4; ++i) {
        uint32_t half[2];
        for (int k = 0; k < 2; ++k) {
            const uint64_t other =
                __shfl_sync(AV_FULL_WARP, reinterpret_cast<uint64_t>(row), 8 * i + 2 * (av_lane() % 4) + k);
            half[k] = reinterpret_cast<const uint16_t*>(other)[av_lane() / 4];
        }
        r[i] = half[0] | half[1] << 16;
    }
}

struct ShimOperands {
    uint32_t a[4], b[2];
};
template <class T = av_half>
inline void av_multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    ShimOperands own = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
    shim::exchange(AV_FULL_WARP, reinterpret_cast<uint64_t>(&own), [&](uint64_t* of_lane, unsigned) {
        const auto operands = [&](int lane) { return reinterpret_cast<const ShimOperands*>(of_lane[lane]); };
        for (int j = 0; j < 4; ++j) {
            const int row = av_lane() / 4, column = 2 * (av_lane() % 4) + j % 2;
            for (int k = 0; k < 16; ++k)
                c[j] += av_word_value(T{}, operands(row * 4 + k % 8 / 2)->a[j / 2 + 2 * (k / 8)], k % 2) *
                        av_word_value(T{}, operands(column * 4 + k % 8 / 2)->b[k / 8], k % 2);
        }
        return 0;
    });
    __syncwarp();  // until the other lanes have read `own`
}
#else
__device__ inline unsigned av_shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ inline void av_copy_16(void* to, const void* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
    const int bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(av_shared_address(to)), "l"(from), "r"(bytes));
#else
    *reinterpret_cast<uint4*>(to) = is_there ? *reinterpret_cast<const uint4*>(from) : make_uint4(0u, 0u, 0u, 0u);
#endif
}
__device__ inline void av_copies_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}
// Waits until all committed groups of this thread's copies have arrived, except the last `LEFT`.
template <int LEFT> __device__ inline void av_copies_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// Loads four 8x8 matrices. Lanes 8 i .. 8 i + 7 pass the addresses of the rows of matrix i; from each matrix a lane
// gets elements 2 (lane % 4) and 2 (lane % 4) + 1 of row lane / 4.
__device__ inline void av_load_matrices(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(av_shared_address(row))
                 : "memory");
}

// Loads four 8x8 matrices and transposes each: a lane gets the elements of column lane / 4 in rows 2 (lane % 4) and
// 2 (lane % 4) + 1.
__device__ inline void av_load_matrices_transposed(uint32_t (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(av_shared_address(row))
                 : "memory");
}

// c (16x8) += a (16x16) * b (16x8), in the layout of mma.m16n8k16; of av_half, or of av_bf16 from sm_80 on.
template <class T = av_half>
__device__ inline void av_multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);
template <>
__device__ inline void av_multiply_add<av_bf16>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}
template <>
__device__ inline void av_multiply_add<av_half>(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}
#endif
