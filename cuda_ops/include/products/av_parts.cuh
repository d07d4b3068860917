// Common parts of the versions of the float32 product by parts: each number is the sum of three bfloat16 numbers. Six
// of the nine products of such parts are added up, the small ones first; the other three are below 2^-24 of the
// product.
#pragma once
#include "av_half_warpgroups.cuh"

// The parts of x; their sum is x. A number that is not finite is stored in its last part, which is multiplied only
// once: by the first part of the other number, which has that number's sign. So the product of two infinities is NaN;
// all other products are right.
__device__ inline void av_parts_of(float x, av_bf16 (&part)[3]) {
    const bool is_finite = fabsf(x) < INFINITY;
    part[0] = av_to_bf16(is_finite ? x : 0.0f);
    if (!(fabsf(av_to_float(part[0])) < INFINITY)) part[0] = {uint16_t(__float_as_uint(x) >> 16)};  // rounded beyond the last
    const float rest = is_finite ? x - av_to_float(part[0]) : 0.0f;
    part[1] = av_to_bf16(rest);
    part[2] = av_to_bf16(is_finite ? rest - av_to_float(part[1]) : x);
}

// Writes the parts of a matrix, `apart` elements from each other: each is rows_out x columns_out, in lines of `pitch`
// elements, with zeros after the rows and columns of the matrix. A block writes 2,048 elements of one row of each part.
template <int LANES>
__device__ inline void av_write_parts(const float* from, av_bf16* to, int rows, int columns, int columns_out, int64_t pitch,
                                      int64_t apart) {
    const int chunks = (columns_out - 1) / 2048 + 1;
    const int64_t row = blockIdx.x / chunks;
    const int column = int(blockIdx.x % chunks) * 2048 + int(threadIdx.x) * 8;
    if (column >= columns_out) return;
    float x[8] = {};
#pragma unroll
    for (int i = 0; i < 8; i += LANES)
        if (row < rows && column + i < columns)
            av_unpack<float, LANES>(av_load<float, LANES>(from + row * columns + column + i), x + i);
    av_pack<av_bf16, 8> packs[3];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        av_bf16 part[3];
        av_parts_of(x[i], part);
#pragma unroll
        for (int p = 0; p < 3; ++p) packs[p].at[i] = part[p];
    }
#pragma unroll
    for (int p = 0; p < 3; ++p) av_store<av_bf16, 8>(to + p * apart + row * pitch + column, packs[p]);
}

// A walk six times along the depth, once for each pair of parts that is multiplied; parts follow each other along the
// depth.
struct av_six_pairs {
    static constexpr bool HAS_MANY = false;
    static constexpr unsigned OF_A = 0x052, OF_B = 0x118;  // two bits for each pair: 2, 0, 1, 1, 0, 0 and 0, 2, 1, 0, 1, 0
    int depth;
    __device__ int of_a(int from) const { return from % depth + int(OF_A >> from / depth * 2 & 3u) * depth; }
    __device__ int of_b(int from) const { return from % depth + int(OF_B >> from / depth * 2 & 3u) * depth; }
};

// The same for runs of length RUN of the depth: all six pairs of a run, then those of the next run.
template <int RUN> struct av_six_pairs_of_runs {
    static constexpr bool HAS_MANY = false;
    int depth;
    __device__ int place(int from, unsigned parts) const {
        const int begin = from / (6 * RUN) * RUN, length = min(RUN, depth - begin), within = from - 6 * begin;
        return begin + within % length + int(parts >> within / length * 2 & 3u) * depth;
    }
    __device__ int of_a(int from) const { return place(from, av_six_pairs::OF_A); }
    __device__ int of_b(int from) const { return place(from, av_six_pairs::OF_B); }
};
