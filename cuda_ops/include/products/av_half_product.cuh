// Common parts of the versions of the half-precision product: layout of the matrices in memory, bias, order of tiles.
//
// out = a b + bias, where `a` has rows x depth elements and `b` depth x columns. There are two layouts of a matrix in
// memory. "Wide": neighbours in the direction of rows or columns are adjacent (a normal `b`, a transposed `a`). "Deep":
// neighbours along the depth are adjacent (a normal `a`, a transposed `b`).
#pragma once
#include "av_vector.cuh"

// Two sums as neighbours in memory, with the first one in the lower half.
template <class T> __device__ inline uint32_t av_pair_of(float first, float second) {
    union {
        av_pack<T, 2> pack;
        uint32_t word;
    } made;
    const float both[2] = {first, second};
    made.pack = av_packed<T, 2>(both);
    return made.word;
}

// The first row and column of a tile. Consecutive tiles form groups of GROUP rows of tiles, and go down each column of
// a group. So blocks that run at the same time compute a square, and share its factors in the L2 cache.
struct av_tile_place {
    int64_t row, column;
};
template <int GROUP>
__device__ inline av_tile_place av_place_of_tile(int64_t number, int tile_rows, int tile_columns, int rows, int columns) {
    const int64_t across = (columns - 1) / tile_columns + 1, down = (rows - 1) / tile_rows + 1;
    const int64_t group = number / (across * GROUP), inside = number % (across * GROUP);
    const int64_t high = min(int64_t(GROUP), down - group * GROUP);
    return {(group * GROUP + inside % high) * tile_rows, inside / high * tile_columns};
}
__device__ inline int64_t av_tile_count(int tile_rows, int tile_columns, int rows, int columns) {
    return int64_t((columns - 1) / tile_columns + 1) * ((rows - 1) / tile_rows + 1);
}

// The copies of a tile of SIDE x DEPTH elements of one matrix to shared memory, in its layout in memory, by packs of
// the block's threads. `side` and `depth` are the sizes of the matrix; elements outside it become zero.
template <class T, int LANES, int SIDE, int DEPTH, bool IS_WIDE, int THREADS, int PAD> struct av_half_tile {
    static constexpr int LINE = IS_WIDE ? SIDE : DEPTH, LINES = IS_WIDE ? DEPTH : SIDE;
    static constexpr int PITCH = LINE + PAD, COUNT = LINES * PITCH, PACKS = LINE / LANES;
    static constexpr int APART = THREADS / PACKS, TIMES = LINES / APART;
    static_assert(THREADS % PACKS == 0 && LINES % APART == 0, "whole rounds of copies");
    const T* at;      // this thread's first pack in memory
    int64_t pitch;    // of the matrix
    int line, within;  // the place of that pack in the tile
    int sides, left;  // of the matrix from the tile on: at most SIDE sides, and the depth

    __device__ void begin(const T* matrix, int64_t first, int side, int depth) {
        line = int(threadIdx.x) / PACKS, within = int(threadIdx.x) % PACKS * LANES;
        pitch = IS_WIDE ? side : depth;
        at = matrix + (IS_WIDE ? line * pitch + first + within : (first + line) * pitch + within);
        sides = int(min(int64_t(SIDE), side - first)), left = depth;
    }
    // Calls copy(to, from, is_there) for each pack of this thread, and advances to the next tile along the depth.
    template <class F> __device__ void next(T* shared, F copy) {
        const bool has_within = within < (IS_WIDE ? sides : left);
        const int lines = (IS_WIDE ? left : sides) - line;
#pragma unroll
        for (int i = 0; i < TIMES; ++i)
            copy(shared + (line + i * APART) * PITCH + within, at + i * APART * pitch, has_within && i * APART < lines);
        at += IS_WIDE ? DEPTH * pitch : DEPTH, left -= DEPTH;
    }
};

// Stores a lane's part of 16 x 8 sums, with the bias added: two neighbours in row lane / 4, and two eight rows below.
template <class T, bool HAS_PAIRS>
__device__ inline void av_store_square_of_sums(const float (&sum)[4], const T* bias, T* out, int64_t first_row,
                                               int64_t first_column, int rows, int columns) {
    const int64_t column = first_column + av_lane() % 4 * 2;
    if (column >= columns) return;
    const bool has_second = HAS_PAIRS || column + 1 < columns;
    float more[2] = {};
    if (bias) more[0] = av_to_float(bias[column]), more[1] = has_second ? av_to_float(bias[column + 1]) : 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int64_t row = first_row + av_lane() / 4 + 8 * i;
        if (row >= rows) continue;
        T* const to = out + row * columns + column;
        const float values[2] = {sum[2 * i] + more[0], sum[2 * i + 1] + more[1]};
        if constexpr (HAS_PAIRS) {
            av_store<T, 2>(to, av_packed<T, 2>(values));
        } else {
            to[0] = av_from_float<T>(values[0]);
            if (has_second) to[1] = av_from_float<T>(values[1]);
        }
    }
}
