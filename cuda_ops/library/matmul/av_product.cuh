// Common parts of the later versions of the matrix product: loading of tiles of `a` and `b` to shared memory, and the
// sums of one thread. `a` has rows x depth elements, `b` depth x columns; a tile is a part of each with DEPTH of the
// depth.
//
// A tile of `a` is transposed in shared memory, so that a thread reads the factors of neighbouring rows as one pack.
// Its lines are padded by four floats, so that 8 x 4 threads that write a part of it have no bank conflicts.
#pragma once
#include "av_async.cuh"

constexpr int AV_PRODUCT_PAD = 4;

// sum += a b^T of one thread. With IS_SERPENTINE, from one multiply-add to the next only one of the two factors
// changes.
template <bool IS_SERPENTINE = false, int ROWS, int COLUMNS>
__device__ inline void av_add_products(const float (&a)[ROWS], const float (&b)[COLUMNS], float (&sum)[ROWS][COLUMNS]) {
    if constexpr (IS_SERPENTINE) {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
#pragma unroll
            for (int i = 0; i < ROWS; ++i) {
                const int row = j % 2 == 0 ? i : ROWS - 1 - i;
                sum[row][j] += a[row] * b[j];
            }
    } else {
#pragma unroll
        for (int i = 0; i < ROWS; ++i)
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) sum[i][j] += a[i] * b[j];
    }
}

// The numbers of a line in shared memory that one thread needs: PACKS packs of 4, SPACING floats apart.
template <int PACKS, int SPACING> __device__ inline void av_load_factors(const float* line, float (&factors)[4 * PACKS]) {
#pragma unroll
    for (int p = 0; p < PACKS; ++p) av_unpack<float, 4>(av_load<float, 4>(line + p * SPACING), factors + 4 * p);
}

// The copies of one thread of a block. Rows and columns behind the end are those of the last one, whose results no
// thread stores; the depth behind the end is zero. Eight threads share a row of `a`, as many as a column has packs a
// line of `b`.
template <int LANES, int ROWS, int COLUMNS, int DEPTH, int THREADS> struct av_tile_copies {
    static constexpr int PITCH = ROWS + AV_PRODUCT_PAD, PITCH_B = COLUMNS;
    static constexpr int FLOATS_A = DEPTH * PITCH, FLOATS = FLOATS_A + DEPTH * PITCH_B;
    static constexpr int TIMES = DEPTH / 8, APART_A = THREADS / 8, OF_A = ROWS / APART_A;
    static constexpr int PACKS_B = COLUMNS / LANES, APART_B = THREADS / PACKS_B, OF_B = DEPTH / APART_B;
    static_assert(DEPTH % 8 == 0 && THREADS % 8 == 0 && ROWS % APART_A == 0, "whole rounds of copies of a");
    static_assert(THREADS % PACKS_B == 0 && DEPTH % APART_B == 0, "whole rounds of copies of b");
    const float *a, *b;
    int64_t columns;
    int from_a[OF_A];  // where the thread's rows begin, behind the tile's first row
    int left, k_a, row_a, k_b, column_b;  // the depth that is left, and the thread's place in the tile

    __device__ void begin(const float* all_a, const float* all_b, int64_t first_row, int64_t first_column, int rows,
                          int all_columns, int depth) {
        const int thread = threadIdx.x;
        k_a = thread % 8, row_a = thread / 8, k_b = thread / PACKS_B, column_b = thread % PACKS_B * LANES;
        columns = all_columns, left = depth;
#pragma unroll
        for (int i = 0; i < OF_A; ++i) {
            const int64_t row = row_a + i * APART_A, last = rows - 1 - first_row;
            from_a[i] = int(row < last ? row : last) * depth;
        }
        const int64_t column = first_column + column_b, last = all_columns - LANES;
        a = all_a + first_row * depth + k_a;
        b = all_b + k_b * columns + (column < last ? column : last);
    }
    // Starts the copies of the next tile, if there is one, and ends their group.
    __device__ void next(float* shared) {
        if (left >= DEPTH) copy<true>(shared);
        else if (left > 0) copy<false>(shared);
        av_commit_copies();
        left -= DEPTH, a += DEPTH, b += DEPTH * columns;
    }
    template <bool IS_WHOLE> __device__ void copy(float* shared) const {
#pragma unroll
        for (int i = 0; i < OF_A * TIMES; ++i) {
            const int k = i % TIMES * 8;
            float* const to = shared + (k_a + k) * PITCH + row_a + i / TIMES * APART_A;
            av_copy_async_or_zero<float, 1>(to, a + from_a[i / TIMES] + k, IS_WHOLE || k_a + k < left);
        }
#pragma unroll
        for (int i = 0; i < OF_B; ++i) {
            const int k = i * APART_B;
            float* const to = shared + FLOATS_A + (k_b + k) * COLUMNS + column_b;
            av_copy_async_or_zero<float, LANES>(to, b + k * columns, IS_WHOLE || k_b + k < left);
        }
    }
};

// The copies of one matrix of a product, as it lies in memory: "wide" with the neighbours of its rows or columns side
// by side (b, or a transposed), packs of LANES; or "deep" with those of its depth. `side` is its number of rows or
// columns.
template <int LANES, int SIDE, int DEPTH, int THREADS, bool IS_WIDE> struct av_side_copies {
    static constexpr int PITCH = SIDE + AV_PRODUCT_PAD, FLOATS = DEPTH * PITCH;
    static constexpr int PACKS = IS_WIDE ? SIDE / LANES : 8, APART = THREADS / PACKS;
    static constexpr int SIDES = IS_WIDE ? 1 : SIDE / APART, TIMES = IS_WIDE ? DEPTH / APART : DEPTH / 8;
    static_assert(DEPTH % 8 == 0 && THREADS % PACKS == 0, "whole rounds of copies");
    static_assert(IS_WIDE ? DEPTH % APART == 0 : SIDE % APART == 0, "whole rounds of copies");
    const float* from;
    int64_t pitch;
    int offset[SIDES];  // of a deep matrix: where the thread's rows begin, behind the tile's first row
    int k, place;       // this thread's first element in the tile

    __device__ void begin(const float* matrix, int64_t first, int side, int depth) {
        const int thread = threadIdx.x;
        if constexpr (IS_WIDE) {
            k = thread / PACKS, place = thread % PACKS * LANES, pitch = side;
            const int64_t at = first + place, last = side - LANES;
            from = matrix + k * pitch + (at < last ? at : last);
        } else {
            k = thread % 8, place = thread / 8;
#pragma unroll
            for (int i = 0; i < SIDES; ++i) {
                const int64_t at = place + i * APART, last = side - 1 - first;
                offset[i] = int(at < last ? at : last) * depth;
            }
            from = matrix + first * depth + k;
        }
    }
    // Copies a tile of which `left` of the depth is there, and goes on to the next one.
    template <bool IS_WHOLE> __device__ void copy(float* shared, int left) const {
#pragma unroll
        for (int i = 0; i < SIDES * TIMES; ++i) {
            const int ahead = i % TIMES * (IS_WIDE ? APART : 8);
            float* const to = shared + (k + ahead) * PITCH + place + i / TIMES * APART;
            if constexpr (IS_WIDE)
                av_copy_async_or_zero<float, LANES>(to, from + ahead * pitch, IS_WHOLE || k + ahead < left);
            else
                av_copy_async_or_zero<float, 1>(to, from + offset[i / TIMES] + ahead, IS_WHOLE || k + ahead < left);
        }
    }
    __device__ void advance() { from += IS_WIDE ? DEPTH * pitch : DEPTH; }
};

// The same as `av_tile_copies`, for matrices that lie in any way.
template <int LANES, int ROWS, int COLUMNS, int DEPTH, int THREADS, bool A_IS_WIDE, bool B_IS_WIDE> struct av_layout_copies {
    using A = av_side_copies<LANES, ROWS, DEPTH, THREADS, A_IS_WIDE>;
    using B = av_side_copies<LANES, COLUMNS, DEPTH, THREADS, B_IS_WIDE>;
    static constexpr int PITCH = A::PITCH, PITCH_B = B::PITCH, FLOATS_A = A::FLOATS, FLOATS = FLOATS_A + B::FLOATS;
    A a;
    B b;
    int left;

    __device__ void begin(const float* all_a, const float* all_b, int64_t first_row, int64_t first_column, int rows,
                          int columns, int depth) {
        a.begin(all_a, first_row, rows, depth), b.begin(all_b, first_column, columns, depth), left = depth;
    }
    __device__ void next(float* shared) {
        if (left >= DEPTH) a.template copy<true>(shared, left), b.template copy<true>(shared + FLOATS_A, left);
        else if (left > 0) a.template copy<false>(shared, left), b.template copy<false>(shared + FLOATS_A, left);
        av_commit_copies();
        left -= DEPTH, a.advance(), b.advance();
    }
};

// What becomes of a pack of sums before it is stored: nothing.
struct av_sums_themselves {
    template <int LANES> __device__ av_pack<float, LANES> pack(const float* sums, int64_t) const {
        return av_packed<float, LANES>(sums);
    }
};

// Stores the part of a thread's sums that lies in `out`: packs of 4 rows and 4 columns, SPACING_ROWS and
// SPACING_COLUMNS apart, from `row` and `column` on. `end` makes each pack, for its place in `out`.
template <int LANES, int SPACING_ROWS, int SPACING_COLUMNS, int ROWS, int COLUMNS, class End = av_sums_themselves>
__device__ inline void av_store_sums(const float (&sum)[ROWS][COLUMNS], float* out, int64_t row, int64_t column, int rows,
                                     int columns, End end = End{}) {
#pragma unroll
    for (int i = 0; i < ROWS; ++i) {
        const int64_t r = row + i / 4 * SPACING_ROWS + i % 4;
        if (r >= rows) continue;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += LANES) {
            const int64_t c = column + j / 4 * SPACING_COLUMNS + j % 4;
            const int64_t place = r * columns + c;
            if (c < columns) av_store<float, LANES>(out + place, end.template pack<LANES>(sum[i] + j, place));
        }
    }
}

// Tile `number` of the product, by a block: the kernel of versions 7 to 9. `buffers` has STAGES * Copies::FLOATS
// floats.
template <int LANES, int ROWS, int COLUMNS, int DEPTH, int WARP_ROWS, int WARP_COLUMNS, int STAGES, bool IS_SERPENTINE,
          class Copies = av_tile_copies<LANES, ROWS, COLUMNS, DEPTH, ROWS / WARP_ROWS*(COLUMNS / WARP_COLUMNS) * 32>,
          class End = av_sums_themselves>
__device__ inline void av_multiply_by_warps(const float* a, const float* b, float* out, int rows, int columns, int depth,
                                            float* buffers, unsigned number, End end = End{}) {
    constexpr int GROUP = 8;
    constexpr int EACH_ROWS = WARP_ROWS / 4, EACH_COLUMNS = WARP_COLUMNS / 8;
    const int across = (columns - 1) / COLUMNS + 1, down = (rows - 1) / ROWS + 1;
    const int group = int(number / (unsigned(across) * GROUP)), inside = int(number % (unsigned(across) * GROUP));
    const int high = min(GROUP, down - group * GROUP);
    const int64_t first_row = int64_t(group * GROUP + inside % high) * ROWS, first_column = int64_t(inside / high) * COLUMNS;
    const int lane = av_lane(), warp = av_warp();
    const int x = warp % (COLUMNS / WARP_COLUMNS) * WARP_COLUMNS + lane / 2 % 8 * 4;
    const int y = warp / (COLUMNS / WARP_COLUMNS) * WARP_ROWS + (lane / 16 * 2 + lane % 2) * 4;

    Copies copies;
    copies.begin(a, b, first_row, first_column, rows, columns, depth);
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) copies.next(buffers + s * Copies::FLOATS);

    float sum[EACH_ROWS][EACH_COLUMNS] = {}, of_a[2][EACH_ROWS], of_b[2][EACH_COLUMNS];
    const auto load = [&](const float* stage, int k) {
        av_load_factors<EACH_ROWS / 4, 16>(stage + k * Copies::PITCH + y, of_a[k % 2]);
        av_load_factors<EACH_COLUMNS / 4, 32>(stage + Copies::FLOATS_A + k * Copies::PITCH_B + x, of_b[k % 2]);
    };
    av_wait_for_copies<STAGES - 2>();
    __syncthreads();
    int stage = 0, filled = STAGES - 1;
    load(buffers, 0);
    for (int64_t from = 0; from < depth; from += DEPTH) {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            if (k == DEPTH - 1) {
                av_wait_for_copies<STAGES - 2>();
                __syncthreads();
                stage = stage + 1 == STAGES ? 0 : stage + 1;
            }
            load(buffers + stage * Copies::FLOATS, (k + 1) % DEPTH);
            if (k == 0) {
                copies.next(buffers + filled * Copies::FLOATS);
                filled = filled + 1 == STAGES ? 0 : filled + 1;
            }
            av_add_products<IS_SERPENTINE>(of_a[k % 2], of_b[k % 2], sum);
        }
    }
    av_store_sums<LANES, 16, 32>(sum, out, first_row + y, first_column + x, rows, columns, end);
}
