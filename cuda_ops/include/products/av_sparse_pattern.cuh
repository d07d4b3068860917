// Matrices in which each four neighbours of a row have at most two numbers other than zero ("2:4"): where their pattern lies.
//
// Two values of each four lie in memory, in rows of (depth rounded up to 16) / 2. The pattern says where each belongs, by two
// bits: bits 0 and 1 of a group's four are the place of its first value, bits 2 and 3 that of its second one, which is greater.
// The tensor cores take the pattern from registers. For a step of 64 of the depth and 16 rows, a lane's register has the four
// groups from 16 (lane % 4) of the depth on: in its lower half those of row lane / 4, in its upper half those of eight rows below.
//
// Patterns lie in memory as a warpgroup loads them: for each 128 of the depth and each 64 rows 1,024 bytes, in which each of 128
// threads has two registers, one for each 64 of the depth.
#pragma once
#include "av_vector.cuh"

constexpr int AV_PATTERN_DEPTH = 128, AV_PATTERN_ROWS = 64, AV_PATTERN_WORDS = 256;

// The four bits of the group that begins at `k`, a multiple of 4, in one row of a matrix of `rows` rows.
__device__ inline unsigned av_pattern_of_group(const uint32_t* pattern, int64_t row, int64_t k, int rows) {
    const int64_t tiles = (rows - 1) / AV_PATTERN_ROWS + 1, r = row % AV_PATTERN_ROWS;
    const int64_t tile = k / AV_PATTERN_DEPTH * tiles + row / AV_PATTERN_ROWS;
    const int64_t thread = r / 16 * 32 + r % 8 * 4 + k % 64 / 16;
    const uint32_t word = pattern[tile * AV_PATTERN_WORDS + thread * 2 + k % AV_PATTERN_DEPTH / 64];
    return word >> (r % 16 / 8 * 16 + k % 16) & 15;
}
