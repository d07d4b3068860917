// Layout of 2:4 sparse matrices in memory: at most two of every four neighbours in a row are nonzero.
//
// Values: two of every four are stored, in rows of (depth rounded up to 16) / 2. Pattern: four bits for each group of
// four. Bits 0 and 1 are the place of the first value in the group, bits 2 and 3 that of the second, which is greater.
//
// The tensor cores read the pattern from registers. For a step of 64 of the depth and 16 rows, the register of a lane
// holds the four groups that begin at 16 (lane % 4) of the depth: in its lower half those of row lane / 4, in its upper
// half those of the row eight below.
//
// In memory the pattern is ordered as a warpgroup loads it: 1,024 bytes for each 128 of the depth and 64 rows, with two
// registers for each of 128 threads, one for each 64 of the depth.
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
