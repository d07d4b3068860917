// Instructions of sm_90: products by warpgroups of four warps from matrices in shared memory (wgmma), transfer of
// registers between warps, and clusters of blocks.
#pragma once
#include "av_copy_engine.cuh"
#include "av_vector.cuh"

template <class A, class B> constexpr bool av_is_same = false;
template <class A> constexpr bool av_is_same<A, A> = true;

// An 8-bit float, e4m3: a sign, four bits of exponent and three of mantissa.
struct av_fp8 {
    uint8_t bits;
};

#ifndef AV_ON_CPU
// The descriptor of a matrix in shared memory, in rows of 128 bytes whose packs have the copy engine's swizzle.
//
// "Deep" layout: a row has 128 bytes of the depth; 8 rows are 1,024 bytes, followed by the next 8. "Wide" layout, only
// for half precision: a row has 64 elements of the matrix's other side; 8 steps of the depth are 1,024 bytes, followed
// by the next 8; the next 64 elements are `apart` bytes away.
__device__ inline uint64_t av_describe(const void* matrix, unsigned apart = 16) {
    constexpr uint64_t SWIZZLE_128 = uint64_t(1) << 62, ATOM = uint64_t(1024 >> 4) << 32;
    return SWIZZLE_128 | ATOM | uint64_t(apart >> 4) << 16 | uint64_t((av_shared_address_of(matrix) & 0x3ffff) >> 4);
}

// Call it before the first product, and after registers that products use were written.
__device__ inline void av_products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void av_products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all groups of products are done, except the last LATER.
template <int LATER> __device__ inline void av_products_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LATER) : "memory");
}
// Waits until all products are done. The sums are arguments, so that the compiler does not read them before.
template <class S, int COUNT> __device__ inline void av_products_end(S (&sum)[COUNT]) {
    av_products_wait<0>();
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        if constexpr (av_is_same<S, float>) asm volatile("" : "+f"(sum[i])::"memory");
        else asm volatile("" : "+r"(sum[i])::"memory");
}

#define AV_SUMS_64 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define AV_OPERANDS_64(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), \
        c(s[6]), c(s[7]), c(s[8]), c(s[9]), c(s[10]), c(s[11]), \
        c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), \
        c(s[18]), c(s[19]), c(s[20]), c(s[21]), c(s[22]), c(s[23]), \
        c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31])
#define AV_SUMS_128 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define AV_OPERANDS_128(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), \
        c(s[6]), c(s[7]), c(s[8]), c(s[9]), c(s[10]), c(s[11]), \
        c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), \
        c(s[18]), c(s[19]), c(s[20]), c(s[21]), c(s[22]), c(s[23]), \
        c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), \
        c(s[36]), c(s[37]), c(s[38]), c(s[39]), c(s[40]), c(s[41]), \
        c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), \
        c(s[48]), c(s[49]), c(s[50]), c(s[51]), c(s[52]), c(s[53]), \
        c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63])
#define AV_SUMS_192 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"
#define AV_OPERANDS_192(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), \
        c(s[6]), c(s[7]), c(s[8]), c(s[9]), c(s[10]), c(s[11]), \
        c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), \
        c(s[18]), c(s[19]), c(s[20]), c(s[21]), c(s[22]), c(s[23]), \
        c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), \
        c(s[36]), c(s[37]), c(s[38]), c(s[39]), c(s[40]), c(s[41]), \
        c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), \
        c(s[48]), c(s[49]), c(s[50]), c(s[51]), c(s[52]), c(s[53]), \
        c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63]), c(s[64]), c(s[65]), \
        c(s[66]), c(s[67]), c(s[68]), c(s[69]), c(s[70]), c(s[71]), \
        c(s[72]), c(s[73]), c(s[74]), c(s[75]), c(s[76]), c(s[77]), \
        c(s[78]), c(s[79]), c(s[80]), c(s[81]), c(s[82]), c(s[83]), \
        c(s[84]), c(s[85]), c(s[86]), c(s[87]), c(s[88]), c(s[89]), \
        c(s[90]), c(s[91]), c(s[92]), c(s[93]), c(s[94]), c(s[95])
#define AV_SUMS_256 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}"
#define AV_OPERANDS_256(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), \
        c(s[6]), c(s[7]), c(s[8]), c(s[9]), c(s[10]), c(s[11]), \
        c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), \
        c(s[18]), c(s[19]), c(s[20]), c(s[21]), c(s[22]), c(s[23]), \
        c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), \
        c(s[36]), c(s[37]), c(s[38]), c(s[39]), c(s[40]), c(s[41]), \
        c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), \
        c(s[48]), c(s[49]), c(s[50]), c(s[51]), c(s[52]), c(s[53]), \
        c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63]), c(s[64]), c(s[65]), \
        c(s[66]), c(s[67]), c(s[68]), c(s[69]), c(s[70]), c(s[71]), \
        c(s[72]), c(s[73]), c(s[74]), c(s[75]), c(s[76]), c(s[77]), \
        c(s[78]), c(s[79]), c(s[80]), c(s[81]), c(s[82]), c(s[83]), \
        c(s[84]), c(s[85]), c(s[86]), c(s[87]), c(s[88]), c(s[89]), \
        c(s[90]), c(s[91]), c(s[92]), c(s[93]), c(s[94]), c(s[95]), \
        c(s[96]), c(s[97]), c(s[98]), c(s[99]), c(s[100]), c(s[101]), \
        c(s[102]), c(s[103]), c(s[104]), c(s[105]), c(s[106]), c(s[107]), \
        c(s[108]), c(s[109]), c(s[110]), c(s[111]), c(s[112]), c(s[113]), \
        c(s[114]), c(s[115]), c(s[116]), c(s[117]), c(s[118]), c(s[119]), \
        c(s[120]), c(s[121]), c(s[122]), c(s[123]), c(s[124]), c(s[125]), \
        c(s[126]), c(s[127])
#define AV_SUMS_96 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}"
#define AV_OPERANDS_96(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), c(s[6]), c(s[7]), c(s[8]), c(s[9]), \
        c(s[10]), c(s[11]), c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), c(s[18]), c(s[19]), \
        c(s[20]), c(s[21]), c(s[22]), c(s[23]), c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), c(s[36]), c(s[37]), c(s[38]), c(s[39]), \
        c(s[40]), c(s[41]), c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47])
#define AV_SUMS_160 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, " \
        "%72, %73, %74, %75, %76, %77, %78, %79}"
#define AV_OPERANDS_160(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), c(s[6]), c(s[7]), c(s[8]), c(s[9]), \
        c(s[10]), c(s[11]), c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), c(s[18]), c(s[19]), \
        c(s[20]), c(s[21]), c(s[22]), c(s[23]), c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), c(s[36]), c(s[37]), c(s[38]), c(s[39]), \
        c(s[40]), c(s[41]), c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), c(s[48]), c(s[49]), \
        c(s[50]), c(s[51]), c(s[52]), c(s[53]), c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63]), c(s[64]), c(s[65]), c(s[66]), c(s[67]), c(s[68]), c(s[69]), \
        c(s[70]), c(s[71]), c(s[72]), c(s[73]), c(s[74]), c(s[75]), c(s[76]), c(s[77]), c(s[78]), c(s[79])
#define AV_SUMS_208 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, " \
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103}"
#define AV_OPERANDS_208(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), c(s[6]), c(s[7]), c(s[8]), c(s[9]), \
        c(s[10]), c(s[11]), c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), c(s[18]), c(s[19]), \
        c(s[20]), c(s[21]), c(s[22]), c(s[23]), c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), c(s[36]), c(s[37]), c(s[38]), c(s[39]), \
        c(s[40]), c(s[41]), c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), c(s[48]), c(s[49]), \
        c(s[50]), c(s[51]), c(s[52]), c(s[53]), c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63]), c(s[64]), c(s[65]), c(s[66]), c(s[67]), c(s[68]), c(s[69]), \
        c(s[70]), c(s[71]), c(s[72]), c(s[73]), c(s[74]), c(s[75]), c(s[76]), c(s[77]), c(s[78]), c(s[79]), \
        c(s[80]), c(s[81]), c(s[82]), c(s[83]), c(s[84]), c(s[85]), c(s[86]), c(s[87]), c(s[88]), c(s[89]), \
        c(s[90]), c(s[91]), c(s[92]), c(s[93]), c(s[94]), c(s[95]), c(s[96]), c(s[97]), c(s[98]), c(s[99]), \
        c(s[100]), c(s[101]), c(s[102]), c(s[103])
#define AV_SUMS_224 \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, " \
        "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111}"
#define AV_OPERANDS_224(c, s) \
        c(s[0]), c(s[1]), c(s[2]), c(s[3]), c(s[4]), c(s[5]), c(s[6]), c(s[7]), c(s[8]), c(s[9]), \
        c(s[10]), c(s[11]), c(s[12]), c(s[13]), c(s[14]), c(s[15]), c(s[16]), c(s[17]), c(s[18]), c(s[19]), \
        c(s[20]), c(s[21]), c(s[22]), c(s[23]), c(s[24]), c(s[25]), c(s[26]), c(s[27]), c(s[28]), c(s[29]), \
        c(s[30]), c(s[31]), c(s[32]), c(s[33]), c(s[34]), c(s[35]), c(s[36]), c(s[37]), c(s[38]), c(s[39]), \
        c(s[40]), c(s[41]), c(s[42]), c(s[43]), c(s[44]), c(s[45]), c(s[46]), c(s[47]), c(s[48]), c(s[49]), \
        c(s[50]), c(s[51]), c(s[52]), c(s[53]), c(s[54]), c(s[55]), c(s[56]), c(s[57]), c(s[58]), c(s[59]), \
        c(s[60]), c(s[61]), c(s[62]), c(s[63]), c(s[64]), c(s[65]), c(s[66]), c(s[67]), c(s[68]), c(s[69]), \
        c(s[70]), c(s[71]), c(s[72]), c(s[73]), c(s[74]), c(s[75]), c(s[76]), c(s[77]), c(s[78]), c(s[79]), \
        c(s[80]), c(s[81]), c(s[82]), c(s[83]), c(s[84]), c(s[85]), c(s[86]), c(s[87]), c(s[88]), c(s[89]), \
        c(s[90]), c(s[91]), c(s[92]), c(s[93]), c(s[94]), c(s[95]), c(s[96]), c(s[97]), c(s[98]), c(s[99]), \
        c(s[100]), c(s[101]), c(s[102]), c(s[103]), c(s[104]), c(s[105]), c(s[106]), c(s[107]), c(s[108]), c(s[109]), \
        c(s[110]), c(s[111])
// sum (64 x N) += a (64 x K) b (K x N), or sum = a b if `adds` is false; K elements are 32 bytes. The order of the sums
// of a warp's 16 rows in its lanes is that of mma.m16n8, 8 columns after 8 columns. The matrices are given by
// descriptors; A_IS_WIDE and B_IS_WIDE are their layouts, which must be deep except for half precision.
#define AV_PRODUCT(n, d0, d1, d2, C, TYPES, TAIL, ...)                                                                     \
    asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %" #d2 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n         \
                 TYPES " " AV_SUMS_##n ", %" #d0 ", %" #d1 ", adds" TAIL ";\n\t}"                                          \
                 : AV_OPERANDS_##n(C, sum)                                                                               \
                 : "l"(a), "l"(b), "r"(adds) __VA_ARGS__                                                                 \
                 : "memory")
#define AV_LIES , "n"(int(A_IS_WIDE)), "n"(int(B_IS_WIDE))
#define AV_PRODUCTS(n, count, d0, d1, d2, d3, d4)                                                                           \
    template <class T, bool A_IS_WIDE, bool B_IS_WIDE>                                                                     \
    __device__ inline void av_multiply_group(float(&sum)[count], uint64_t a, uint64_t b, int adds) {                       \
        static_assert(sizeof(T) == 2 || !(A_IS_WIDE || B_IS_WIDE), "other elements lie deep");                             \
        if constexpr (av_is_same<T, av_bf16>)                                                                              \
            AV_PRODUCT(n, d0, d1, d2, "+f", "k16.f32.bf16.bf16", ", 1, 1, %" #d3 ", %" #d4, AV_LIES);                       \
        else if constexpr (av_is_same<T, av_half>)                                                                         \
            AV_PRODUCT(n, d0, d1, d2, "+f", "k16.f32.f16.f16", ", 1, 1, %" #d3 ", %" #d4, AV_LIES);                         \
        else if constexpr (av_is_same<T, float>) AV_PRODUCT(n, d0, d1, d2, "+f", "k8.f32.tf32.tf32", ", 1, 1");            \
        else AV_PRODUCT(n, d0, d1, d2, "+f", "k32.f32.e4m3.e4m3", ", 1, 1");                                               \
    }                                                                                                                      \
    template <class T, bool A_IS_WIDE, bool B_IS_WIDE>                                                                     \
    __device__ inline void av_multiply_group(int(&sum)[count], uint64_t a, uint64_t b, int adds) {                         \
        AV_PRODUCT(n, d0, d1, d2, "+r", "k32.s32.s8.s8", "");                                                              \
    }
AV_PRODUCTS(64, 32, 32, 33, 34, 35, 36)
AV_PRODUCTS(128, 64, 64, 65, 66, 67, 68)
AV_PRODUCTS(192, 96, 96, 97, 98, 99, 100)
AV_PRODUCTS(256, 128, 128, 129, 130, 131, 132)
AV_PRODUCTS(96, 48, 48, 49, 50, 51, 52)
AV_PRODUCTS(160, 80, 80, 81, 82, 83, 84)
AV_PRODUCTS(208, 104, 104, 105, 106, 107, 108)
AV_PRODUCTS(224, 112, 112, 113, 114, 115, 116)
#undef AV_PRODUCTS
#undef AV_LIES

// The same product in TF32 with the first factor in registers. A lane has rows lane / 4 and lane / 4 + 8 of its warp's
// 16, at position lane % 4 of the depth, then both at lane % 4 + 4. They must not be written until the product has been
// waited for.
#define AV_PRODUCTS_OF_REGISTERS(n, count, a0, a1, a2, a3, d0, d1)                                                          \
    __device__ inline void av_multiply_registers(float(&sum)[count], const uint32_t* a, uint64_t b, int adds) {            \
        asm volatile("{\n\t.reg .pred adds;\n\tsetp.ne.b32 adds, %" #d1 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n     \
                     "k8.f32.tf32.tf32 " AV_SUMS_##n ", {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #d0                    \
                     ", adds, 1, 1;\n\t}"                                                                                  \
                     : AV_OPERANDS_##n("+f", sum)                                                                          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds)                                       \
                     : "memory");                                                                                          \
    }
AV_PRODUCTS_OF_REGISTERS(64, 32, 32, 33, 34, 35, 36, 37)
AV_PRODUCTS_OF_REGISTERS(128, 64, 64, 65, 66, 67, 68, 69)
AV_PRODUCTS_OF_REGISTERS(256, 128, 128, 129, 130, 131, 132, 133)
#undef AV_PRODUCTS_OF_REGISTERS
#undef AV_PRODUCT

// Sets the number of registers of each thread of a warpgroup: fewer, or more, which others must have released.
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
// The warpgroup of this thread, in a form that tells the compiler that it is equal in all threads of a warp.
__device__ inline int av_group_of_thread() { return __shfl_sync(AV_FULL_WARP, int(threadIdx.x / 128), 0); }
__device__ inline int av_rank_in_cluster() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ inline void av_cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}
// Loads eight floats from block `rank` of the cluster, at the place of `own`, a multiple of 16 bytes, in this block.
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
// Stores four matrices of 8 x 8 elements of two bytes. Lanes 8 i .. 8 i + 7 pass the addresses of the rows of matrix i;
// of each matrix a lane gives elements 2 (lane % 4) and 2 (lane % 4) + 1 of row lane / 4.
__device__ inline void av_store_matrices(void* row, const uint32_t (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(av_shared_address_of(row)), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}
#endif
