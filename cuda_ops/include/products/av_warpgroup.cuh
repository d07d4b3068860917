// Products on the tensor cores of sm_90 by warpgroups of four warps, from matrices in shared memory (wgmma); registers moved
// from warps that need few to those that need many; and clusters of blocks.
#pragma once
#include "av_copy_engine.cuh"
#include "av_vector.cuh"

template <class A, class B> constexpr bool av_is_same = false;
template <class A> constexpr bool av_is_same<A, A> = true;

#ifndef AV_ON_CPU
// Where a matrix lies in shared memory, in rows of 128 bytes whose packs are swizzled as the copy engine does it.
//
// "Deep": a row has 64 elements of the depth; 8 rows are 1,024 bytes, and the next 8 lie behind them. "Wide": a row has 64
// elements of the matrix's other side; 8 steps of the depth are 1,024 bytes, and the next 8 lie behind them; the next 64
// elements lie `apart` bytes away.
__device__ inline uint64_t av_describe(const void* matrix, unsigned apart = 16) {
    constexpr uint64_t SWIZZLE_128 = uint64_t(1) << 62, ATOM = uint64_t(1024 >> 4) << 32;
    return SWIZZLE_128 | ATOM | uint64_t(apart >> 4) << 16 | uint64_t((av_shared_address_of(matrix) & 0x3ffff) >> 4);
}

// Before the first product, and when registers that products use were written.
__device__ inline void av_products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void av_products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all groups of products but the last LATER are done.
template <int LATER> __device__ inline void av_products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LATER) : "memory");
}
// Waits until all are done. The sums pass through, so that the compiler does not read them before.
template <int COUNT> __device__ inline void av_products_end(float (&sum)[COUNT]) {
    av_products_wait<0>();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

#define AV_SUMS_64 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define AV_OPERANDS_64(s) \
        "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), \
        "+f"(s[6]), "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), \
        "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), \
        "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), \
        "+f"(s[30]), "+f"(s[31])
#define AV_SUMS_128 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define AV_OPERANDS_128(s) \
        "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), \
        "+f"(s[6]), "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), \
        "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), \
        "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), \
        "+f"(s[30]), "+f"(s[31]), "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), \
        "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), "+f"(s[40]), "+f"(s[41]), \
        "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), \
        "+f"(s[54]), "+f"(s[55]), "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), \
        "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63])
#define AV_SUMS_192 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define AV_OPERANDS_192(s) \
        "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), \
        "+f"(s[6]), "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), \
        "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), \
        "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), \
        "+f"(s[30]), "+f"(s[31]), "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), \
        "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), "+f"(s[40]), "+f"(s[41]), \
        "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), \
        "+f"(s[54]), "+f"(s[55]), "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), \
        "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]), "+f"(s[64]), "+f"(s[65]), \
        "+f"(s[66]), "+f"(s[67]), "+f"(s[68]), "+f"(s[69]), "+f"(s[70]), "+f"(s[71]), \
        "+f"(s[72]), "+f"(s[73]), "+f"(s[74]), "+f"(s[75]), "+f"(s[76]), "+f"(s[77]), \
        "+f"(s[78]), "+f"(s[79]), "+f"(s[80]), "+f"(s[81]), "+f"(s[82]), "+f"(s[83]), \
        "+f"(s[84]), "+f"(s[85]), "+f"(s[86]), "+f"(s[87]), "+f"(s[88]), "+f"(s[89]), \
        "+f"(s[90]), "+f"(s[91]), "+f"(s[92]), "+f"(s[93]), "+f"(s[94]), "+f"(s[95])
#define AV_SUMS_256 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define AV_OPERANDS_256(s) \
        "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]), "+f"(s[4]), "+f"(s[5]), \
        "+f"(s[6]), "+f"(s[7]), "+f"(s[8]), "+f"(s[9]), "+f"(s[10]), "+f"(s[11]), \
        "+f"(s[12]), "+f"(s[13]), "+f"(s[14]), "+f"(s[15]), "+f"(s[16]), "+f"(s[17]), \
        "+f"(s[18]), "+f"(s[19]), "+f"(s[20]), "+f"(s[21]), "+f"(s[22]), "+f"(s[23]), \
        "+f"(s[24]), "+f"(s[25]), "+f"(s[26]), "+f"(s[27]), "+f"(s[28]), "+f"(s[29]), \
        "+f"(s[30]), "+f"(s[31]), "+f"(s[32]), "+f"(s[33]), "+f"(s[34]), "+f"(s[35]), \
        "+f"(s[36]), "+f"(s[37]), "+f"(s[38]), "+f"(s[39]), "+f"(s[40]), "+f"(s[41]), \
        "+f"(s[42]), "+f"(s[43]), "+f"(s[44]), "+f"(s[45]), "+f"(s[46]), "+f"(s[47]), \
        "+f"(s[48]), "+f"(s[49]), "+f"(s[50]), "+f"(s[51]), "+f"(s[52]), "+f"(s[53]), \
        "+f"(s[54]), "+f"(s[55]), "+f"(s[56]), "+f"(s[57]), "+f"(s[58]), "+f"(s[59]), \
        "+f"(s[60]), "+f"(s[61]), "+f"(s[62]), "+f"(s[63]), "+f"(s[64]), "+f"(s[65]), \
        "+f"(s[66]), "+f"(s[67]), "+f"(s[68]), "+f"(s[69]), "+f"(s[70]), "+f"(s[71]), \
        "+f"(s[72]), "+f"(s[73]), "+f"(s[74]), "+f"(s[75]), "+f"(s[76]), "+f"(s[77]), \
        "+f"(s[78]), "+f"(s[79]), "+f"(s[80]), "+f"(s[81]), "+f"(s[82]), "+f"(s[83]), \
        "+f"(s[84]), "+f"(s[85]), "+f"(s[86]), "+f"(s[87]), "+f"(s[88]), "+f"(s[89]), \
        "+f"(s[90]), "+f"(s[91]), "+f"(s[92]), "+f"(s[93]), "+f"(s[94]), "+f"(s[95]), \
        "+f"(s[96]), "+f"(s[97]), "+f"(s[98]), "+f"(s[99]), "+f"(s[100]), "+f"(s[101]), \
        "+f"(s[102]), "+f"(s[103]), "+f"(s[104]), "+f"(s[105]), "+f"(s[106]), "+f"(s[107]), \
        "+f"(s[108]), "+f"(s[109]), "+f"(s[110]), "+f"(s[111]), "+f"(s[112]), "+f"(s[113]), \
        "+f"(s[114]), "+f"(s[115]), "+f"(s[116]), "+f"(s[117]), "+f"(s[118]), "+f"(s[119]), \
        "+f"(s[120]), "+f"(s[121]), "+f"(s[122]), "+f"(s[123]), "+f"(s[124]), "+f"(s[125]), \
        "+f"(s[126]), "+f"(s[127])
// sum (64 x N) += a (64 x 16) b (16 x N), or sum = a b if not `adds`; the columns of 8 elements of a warp's 16 rows follow one
// another in its lanes' sums as in mma.m16n8. The matrices are given by their descriptions; A_IS_WIDE and B_IS_WIDE say how
// they lie.
#define AV_PRODUCT(n, d0, d1, d2, d3, d4, TYPE)                                                                     \
    asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %" #d2 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n         \
                 "k16.f32." TYPE "." TYPE " " AV_SUMS_##n ", %" #d0 ", %" #d1 ", adds, 1, 1, %" #d3 ", %" #d4 ";\n\t}"   \
                 : AV_OPERANDS_##n(sum)                                                                                \
                 : "l"(a), "l"(b), "r"(adds), "n"(int(A_IS_WIDE)), "n"(int(B_IS_WIDE))                                  \
                 : "memory")
template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__device__ inline void av_multiply_group(float (&sum)[32], uint64_t a, uint64_t b, int adds) {
    if constexpr (av_is_same<T, av_bf16>) AV_PRODUCT(64, 32, 33, 34, 35, 36, "bf16");
    else AV_PRODUCT(64, 32, 33, 34, 35, 36, "f16");
}
template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__device__ inline void av_multiply_group(float (&sum)[64], uint64_t a, uint64_t b, int adds) {
    if constexpr (av_is_same<T, av_bf16>) AV_PRODUCT(128, 64, 65, 66, 67, 68, "bf16");
    else AV_PRODUCT(128, 64, 65, 66, 67, 68, "f16");
}
template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__device__ inline void av_multiply_group(float (&sum)[96], uint64_t a, uint64_t b, int adds) {
    if constexpr (av_is_same<T, av_bf16>) AV_PRODUCT(192, 96, 97, 98, 99, 100, "bf16");
    else AV_PRODUCT(192, 96, 97, 98, 99, 100, "f16");
}
template <class T, bool A_IS_WIDE, bool B_IS_WIDE>
__device__ inline void av_multiply_group(float (&sum)[128], uint64_t a, uint64_t b, int adds) {
    if constexpr (av_is_same<T, av_bf16>) AV_PRODUCT(256, 128, 129, 130, 131, 132, "bf16");
    else AV_PRODUCT(256, 128, 129, 130, 131, 132, "f16");
}
#undef AV_PRODUCT

// The registers of each thread of a warpgroup from now on: fewer, or more of those that others gave back.
template <int COUNT> __device__ inline void av_keep_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT> __device__ inline void av_take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}
// A barrier of `threads` threads of the block; `number` is 1 to 15.
__device__ inline void av_meet(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
// The warpgroup of this thread, in a form from which the compiler sees that a warp's threads agree.
__device__ inline int av_group_of_thread() { return __shfl_sync(AV_FULL_WARP, int(threadIdx.x / 128), 0); }
__device__ inline int av_rank_in_cluster() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline void av_cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
// Loads eight floats that lie in block `rank` of the cluster where `own`, a multiple of 16 bytes, lies in this one.
__device__ inline void av_load_from_block(const float* own, int rank, float (&x)[8]) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(av_shared_address_of(own)), "r"(rank));
#pragma unroll
    for (int i = 0; i < 8; i += 4)
        asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(x[i]), "=f"(x[i + 1]), "=f"(x[i + 2]), "=f"(x[i + 3])
                     : "r"(there + i * 4)
                     : "memory");
}
// Stores four matrices of 8 x 8 elements of two bytes. Lanes 8 i .. 8 i + 7 pass the addresses of the rows of matrix i; of
// each matrix a lane gives elements 2 (lane % 4) and 2 (lane % 4) + 1 of row lane / 4.
__device__ inline void av_store_matrices(void* row, const uint32_t (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(av_shared_address_of(row)), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}
#endif
