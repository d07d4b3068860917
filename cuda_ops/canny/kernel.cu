// Canny edges of an 8-bit picture, equal pixel for pixel to cv2.Canny (aperture 3, L1 or squared L2 norm).
//
// One cooperative launch. A block takes tiles of 64 x 56 px; a tile's state is two bits per pixel, "candidate" and
// "strong".
//   1. Picture and halo to shared memory, 4 bytes per load; Sobel for 4 px per thread from 9 word reads, on two 16-bit
//      numbers per word; dx and dy are packed in one word.
//   2. Non-maximum suppression; the ballots of a warp are the words of "candidate" and "strong".
//   3. Hysteresis by union-find over runs of candidates, one thread per run (a run: consecutive ones in a word). Label
//      0 is "strong": each run that is connected to it, however far away, is an edge. A run begins as a child of the
//      first run that it touches, so that only the places where edges meet need atomics. Runs of a tile are joined in
//      shared memory, runs across the borders of tiles in global memory. There a thread makes one join at most, and
//      none for pixels that are joined otherwise. There are two grid barriers in all, whatever the picture.
//   4. Words to bytes, 16 per store.
// Paths are compressed by all threads at once, after the first labels, after joining and at the end. A lane's pixels
// lie apart, so that the pixels of one edge are spread over many lanes. The number of threads is a compile-time
// constant, and no block divides to find its tile.
// Bytes moved: one read and one write per pixel, 1/8 byte of words, 4 bytes per run.
// Earlier versions and their times, and what did not help: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int TILE_W = 64, TILE_H = 56, TILE_PX = TILE_W * TILE_H, WORDS = TILE_W / 32;
constexpr int THREADS = 512, WARPS = THREADS / 32;
constexpr int GRAY_WORDS = TILE_W / 4 + 4, GRAY_ROWS = TILE_H + 4;  // beginning at x0 - 8, y0 - 2
constexpr int GRAD_W = TILE_W + 8, GRAD_ROWS = TILE_H + 2;          // beginning at x0 - 4, y0 - 1
constexpr int STATE_WORDS = TILE_H * WORDS;
constexpr int TAN_22_5 = 13573;  // tan(22.5 deg) * 2^15

static_assert(GRAY_WORDS <= 32 && TILE_H % 8 == 0 && STATE_WORDS <= THREADS, "how threads share a tile");

struct CannyTile {
    uint4 gradient[GRAD_ROWS][GRAD_W / 4];  // later one parent per run
    union {
        uint32_t gray[GRAY_ROWS][GRAY_WORDS];
        uint16_t runs[TILE_PX / 2];  // first pixels of the runs, in any order
    };
    uint32_t weak[TILE_H][WORDS], strong[TILE_H][WORDS];
    int run_count;
};

struct Join {  // global memory: all tiles' words, and one parent per run, at the index of its first pixel + 1
    uint32_t* words;
    uint32_t* parent;
    int pitch;  // words per row
};

__device__ inline int canny_dx(uint32_t packed) { return int(short(packed & 0xffffu)); }
__device__ inline int canny_dy(uint32_t packed) { return int(short(packed >> 16)); }

template <bool L2> __device__ inline int canny_magnitude(uint32_t packed) {
    const int dx = canny_dx(packed), dy = canny_dy(packed);
    return L2 ? dx * dx + dy * dy : (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

// Each warp loads whole rows, with all its loads in flight together.
__device__ void canny_load(CannyTile& tile, const uint8_t* image, int width, int height, int pitch, int x0, int y0) {
    constexpr int ROWS = (GRAY_ROWS + WARPS - 1) / WARPS;
    const int column = av_lane(), x = x0 - 8 + column * 4;
    if (column >= GRAY_WORDS) return;
    const bool words = ((width | pitch) & 3) == 0 && (reinterpret_cast<uint64_t>(image) & 3u) == 0;
    const unsigned bytes = x < 0 ? 0x0000u : (x >= width ? 0x3333u : 0x3210u);  // outside, the border column repeats
    uint32_t four[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const uint8_t* line = image + int64_t(av_clamp(y0 - 2 + av_warp() + r * WARPS, 0, height - 1)) * pitch;
        if (words) {
            four[r] = *reinterpret_cast<const uint32_t*>(line + av_clamp(x, 0, width - 4));
        } else {
            four[r] = 0u;
#pragma unroll 1
            for (int b = 0; b < 4; ++b) four[r] |= uint32_t(line[av_clamp(x + b, 0, width - 1)]) << (8 * b);
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int row = av_warp() + r * WARPS;
        if (row < GRAY_ROWS) tile.gray[row][column] = words ? __byte_perm(four[r], 0u, bytes) : four[r];
    }
}

// Two 16-bit numbers per word, neither of which overflows, so that one addition adds both.
struct Pairs {  // of the four columns x .. x + 3, and the columns x - 1 and x + 4 beside them
    uint32_t even, odd, sides;  // x and x + 2, x + 1 and x + 3, x - 1 and x + 4
};
__device__ inline Pairs canny_pairs(uint32_t before, uint32_t here, uint32_t after) {
    const uint32_t sides = __byte_perm(before, after, 0x4443u) & 0x00ff00ffu;
    return {__byte_perm(here, 0u, 0x4240u), __byte_perm(here, 0u, 0x4341u), sides};
}
// The left neighbours of the even columns, and the right neighbours of the odd columns.
__device__ inline uint32_t canny_left(uint32_t sides, uint32_t odd) { return __byte_perm(sides, odd, 0x5410u); }
__device__ inline uint32_t canny_right(uint32_t even, uint32_t sides) { return __byte_perm(even, sides, 0x7632u); }

__device__ void canny_sobel(CannyTile& tile, int width, int height, int x0, int y0) {
    constexpr uint32_t SIGNS = 0x80008000u, QUARTER = 0x20002000u;  // keep both numbers above 0 in each subtraction
    for (int i = av_thread(); i < GRAD_ROWS * (GRAD_W / 4); i += THREADS) {
        const int row = i / (GRAD_W / 4), group = i % (GRAD_W / 4), x = x0 - 4 + group * 4, y = y0 - 1 + row;
        Pairs p[3];
#pragma unroll
        for (int r = 0; r < 3; ++r)
            p[r] = canny_pairs(tile.gray[row + r][group], tile.gray[row + r][group + 1], tile.gray[row + r][group + 2]);
        const uint32_t even = p[0].even + 2u * p[1].even + p[2].even, odd = p[0].odd + 2u * p[1].odd + p[2].odd;
        const uint32_t sides = p[0].sides + 2u * p[1].sides + p[2].sides;
        const uint32_t dx_even = (odd + SIGNS - canny_left(sides, odd)) ^ SIGNS;
        const uint32_t dx_odd = (canny_right(even, sides) + SIGNS - even) ^ SIGNS;
        const uint32_t down_even = p[2].even + QUARTER - p[0].even, down_odd = p[2].odd + QUARTER - p[0].odd;
        const uint32_t down_sides = p[2].sides + QUARTER - p[0].sides;
        const uint32_t dy_even = (canny_left(down_sides, down_odd) + 2u * down_even + down_odd) ^ SIGNS;
        const uint32_t dy_odd = (down_even + 2u * down_odd + canny_right(down_even, down_sides)) ^ SIGNS;
        uint4 packed = make_uint4(__byte_perm(dx_even, dy_even, 0x5410u), __byte_perm(dx_odd, dy_odd, 0x5410u),
                                  __byte_perm(dx_even, dy_even, 0x7632u), __byte_perm(dx_odd, dy_odd, 0x7632u));
        if (x < 0 || x >= width || y < 0 || y >= height) packed = make_uint4(0u, 0u, 0u, 0u);
        if (x + 3 >= width) {
            if (x + 1 >= width) packed.y = 0u;
            if (x + 2 >= width) packed.z = 0u;
            packed.w = 0u;
        }
        tile.gradient[row][group] = packed;
    }
}

// Whether the gradient magnitude at `line` is a maximum across the edge. Of two equal neighbours the left or upper one
// is the maximum; on a diagonal neither is.
template <bool L2> __device__ bool canny_maximum(const uint32_t* line) {
    const uint32_t packed = line[0];
    const int m = canny_magnitude<L2>(packed), dx = canny_dx(packed), dy = canny_dy(packed);
    const int ax = dx < 0 ? -dx : dx, ay = (dy < 0 ? -dy : dy) << 15;
    const int tan_22 = ax * TAN_22_5, tan_67 = tan_22 + (ax << 16);
    const bool is_flat = ay < tan_22, is_steep = ay > tan_67;
    const int diagonal = (dx ^ dy) < 0 ? GRAD_W - 1 : GRAD_W + 1;
    const int second = is_flat ? 1 : (is_steep ? GRAD_W : diagonal);  // offset of the right or lower neighbour
    const int a = canny_magnitude<L2>(line[-second]), b = canny_magnitude<L2>(line[second]);
    return m > a && (is_flat || is_steep ? m >= b : m > b);
}

// A warp classifies 32 x 8 px. A lane takes one pixel of each row, four columns further in each row, so that horizontal
// and vertical edges spread over all lanes. Most of a picture is flat: few pixels have a gradient worth comparing.
// Pixels outside the picture have the gradient 0 and are never a maximum.
template <bool L2> __device__ void canny_classify(CannyTile& tile, int low, int high) {
    const uint32_t* gradients = reinterpret_cast<const uint32_t*>(&tile.gradient[1][1]);
    for (int part = av_warp(); part < TILE_H / 8 * WORDS; part += WARPS) {
        const int row = part / WORDS * 8, column = part % WORDS;
        const auto place = [&](int r) { return gradients + (row + r) * GRAD_W + column * 32 + ((av_lane() + 4 * r) & 31); };
        uint32_t open = 0u, sure = 0u, weak = 0u, own_weak = 0u, own_strong = 0u;
#pragma unroll
        for (int r = 0; r < 8; ++r) {
            const int m = canny_magnitude<L2>(*place(r));
            open |= uint32_t(m > low) << r, sure |= uint32_t(m > high) << r;
        }
        if (__any_sync(AV_FULL_WARP, open != 0u)) {
            for (; open != 0u; open &= open - 1u) {
                const int r = __ffs(int(open)) - 1;
                if (canny_maximum<L2>(place(r))) weak |= 1u << r;
            }
#pragma unroll
            for (int r = 0; r < 8; ++r) {
                const uint32_t candidates = __ballot_sync(AV_FULL_WARP, weak >> r & 1u);
                const uint32_t certain = __ballot_sync(AV_FULL_WARP, (weak & sure) >> r & 1u);
                if (av_lane() == r) own_weak = candidates, own_strong = certain;
            }
        }
        if (av_lane() < 8) {
            tile.weak[row + av_lane()][column] = __funnelshift_r(own_weak, own_weak, 32 - 4 * av_lane());
            tile.strong[row + av_lane()][column] = __funnelshift_r(own_strong, own_strong, 32 - 4 * av_lane());
        }
    }
}

// run_start: first bit of the run of ones in `word` that contains `bit`. run_from: mask of the run that begins at
// `start`.
__device__ inline int run_start(uint32_t word, int bit) { return 32 - __clz(int(~word & ((1u << bit) - 1u))); }
__device__ inline uint32_t run_from(uint32_t word, int start) {
    const uint32_t ended = word + (1u << start);  // the carry stops just after the run
    return (word & ~ended) | (1u << start);
}

// Union-find: a parent is never larger than its child; label 0 is its own root and stands for "strong".
__device__ inline uint32_t parent_of(const uint32_t* parent, uint32_t x) {
    return x != 0u ? *const_cast<const volatile uint32_t*>(&parent[x]) : 0u;
}
// The root of `own`, with path compression: all threads climb at the same time, so that the parents that a thread reads
// have already moved up half of the way.
__device__ inline uint32_t root_of(uint32_t* parent, uint32_t own) {
    uint32_t up = parent_of(parent, own);
    for (uint32_t next; (next = parent_of(parent, up)) != up; up = next) atomicMin(&parent[own], next);
    return up;
}
// Joins two sets without a search: the parents of a and b are taken for roots; if the larger one was not a root, the
// parent that it had is joined in the next round.
__device__ inline void join(uint32_t* parent, uint32_t a, uint32_t b) {
    const uint32_t up_a = parent_of(parent, a), up_b = parent_of(parent, b);
    for (a = up_a, b = up_b; a != b;) {
        const uint32_t high = max(a, b), low = min(a, b), before = atomicMin(&parent[high], low);
        if (before == high || before == low) return;
        a = before, b = low;
    }
}

// Words around a run: the word to the left of its own, and three words of the row above.
struct Around {
    uint32_t beside, before, middle, after;
};

// Calls `visit` with the label of each run in these words that touches `run`. `label` takes the row and column of the
// word, relative to the run's own, and the first bit of the touching run. There is one call of `visit`, so that lanes
// converge.
template <class Label, class Visit>
__device__ inline void visit_runs(uint32_t run, const Around& at, Label label, Visit visit) {
    constexpr int BEFORE = 0, AFTER = 33, BESIDE = 34;  // bits of `touch`; the middle word's are 1 to 32
    uint64_t touch = uint64_t(at.middle & (run | run << 1 | run >> 1)) << 1 | uint64_t(run >> 31 & at.after & 1u) << AFTER;
    if (run & 1u) touch |= uint64_t(at.before >> 31) << BEFORE | uint64_t(at.beside >> 31) << BESIDE;
    while (touch != 0u) {
        const int bit = __ffsll(int64_t(touch)) - 1;
        const bool is_left = bit == BEFORE || bit == BESIDE;
        const uint32_t word = bit == BEFORE ? at.before : (bit == AFTER ? at.after : (bit == BESIDE ? at.beside : at.middle));
        const int start = run_start(word, is_left ? 31 : (bit == AFTER ? 0 : bit - 1));
        visit(label(bit == BESIDE ? 0 : -1, is_left ? -1 : int(bit == AFTER), start));
        touch &= is_left || bit == AFTER ? touch - 1u : ~(uint64_t(run_from(word, start)) << 1);
    }
}

// Lists the first pixels of all runs in the tile's words; each thread looks at eight pixels.
__device__ void canny_list_runs(CannyTile& tile, const uint32_t* weak) {
#pragma unroll
    for (int begin = 0; begin < TILE_PX / 8; begin += THREADS) {  // whole warps
        const int i = begin + av_thread(), shift = i % 4 * 8;
        const uint32_t word = i < TILE_PX / 8 ? weak[i / 4] : 0u, starts = (word & ~(word << 1)) >> shift & 0xffu;
        const int own = __popc(starts);
        int upto = own, first = 0;
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(AV_FULL_WARP, upto, d);
            if (av_lane() >= d) upto += other;
        }
        if (av_lane() == 31) first = atomicAdd(&tile.run_count, upto);
        first = __shfl_sync(AV_FULL_WARP, first, 31) + upto - own;
        for (uint32_t left = starts; left != 0u; left &= left - 1u)
            tile.runs[first++] = uint16_t(i / 4 * 32 + shift + __ffs(int(left)) - 1);
    }
}

// Calls `visit` with the label of each run in the tile that touches the run at pixel `at` from above or from the left.
template <class Visit> __device__ inline void visit_tile(const uint32_t* weak, int at, uint32_t run, Visit visit) {
    const int i = at / 32, column = i % WORDS;
    const bool is_below = i >= WORDS;
    const Around around = {column > 0 ? weak[i - 1] : 0u, is_below && column > 0 ? weak[i - WORDS - 1] : 0u,
                           is_below ? weak[i - WORDS] : 0u, is_below && column + 1 < WORDS ? weak[i - WORDS + 1] : 0u};
    const auto label = [&](int up, int across, int start) { return uint32_t((i + up * WORDS + across) * 32 + start + 1); };
    visit_runs(run, around, label, visit);
}

// Joins the runs of the tile in shared memory and writes their roots to `to`. `parent` (shared) has one entry per
// pixel, and entry 0.
__device__ void canny_label_tile(const CannyTile& tile, uint32_t* parent, const Join& to, int word0, int y0) {
    const uint32_t *weak = &tile.weak[0][0], *strong = &tile.strong[0][0];
    const uint16_t* runs = tile.runs;
    const int count = tile.run_count;
    for (int r = av_thread(); r < count; r += THREADS) {
        const uint32_t run = run_from(weak[runs[r] / 32], runs[r] % 32), own = runs[r] + 1u;
        uint32_t up = own;
        if (run & strong[runs[r] / 32]) up = 0u;
        else visit_tile(weak, runs[r], run, [&](uint32_t label) { up = up == own ? label : up; });
        parent[own] = up;
    }
    __syncthreads();
    AV_STAMP(5);
    for (int r = av_thread(); r < count; r += THREADS) root_of(parent, runs[r] + 1u);
    __syncthreads();
    AV_STAMP(6);
    for (int r = av_thread(); r < count; r += THREADS) {
        const uint32_t run = run_from(weak[runs[r] / 32], runs[r] % 32), own = runs[r] + 1u;
        bool is_joined = (run & strong[runs[r] / 32]) == 0u;  // to the first run that it touches, its parent
        visit_tile(weak, runs[r], run, [&](uint32_t label) {
            if (!is_joined) join(parent, own, label);
            is_joined = false;
        });
    }
    __syncthreads();
    AV_STAMP(7);
    const auto place_of = [&](int i) { return int64_t(y0 + i / WORDS) * to.pitch + word0 + i % WORDS; };
    if (av_thread() < STATE_WORDS) __stcg(&to.words[place_of(av_thread())], weak[av_thread()]);
    for (int r = av_thread(); r < count; r += THREADS) {
        const uint32_t root = root_of(parent, runs[r] + 1u);
        const uint32_t label = root == 0u ? 0u : uint32_t(place_of(int(root - 1u) / 32) * 32 + (root - 1u) % 32u + 1u);
        __stcg(&to.parent[place_of(runs[r] / 32) * 32 + runs[r] % 32 + 1], label);
    }
}

// Joins the runs of the tile's first row and first column to the runs of the tiles above and to the left; a thread
// makes one join at most. Adjacent pixels of a row or column are joined already, by this tile or by another. So only
// the first contact with each run of the other row counts: at the upper left of the run's start, else above the start,
// and at the upper right of any pixel under a 0. In the first column the same holds along the column.
__device__ void canny_join_tiles(const uint32_t* weak, const Join& at, int word0, int y0) {
    const auto word_at = [&](int r, int c) { return __ldcg(&at.words[int64_t(r) * at.pitch + c]); };
    const auto label_at = [&](int r, int c, int first) { return uint32_t((int64_t(r) * at.pitch + c) * 32 + first + 1); };
    for (int i = av_thread(); i < 2 * TILE_W + 3 * TILE_H; i += THREADS) {
        if (i < 2 * TILE_W) {
            const int x = i % TILE_W, bit = x % 32, column = word0 + x / 32;
            const uint32_t word = weak[x / 32];
            if (y0 == 0 || (word >> bit & 1u) == 0u) continue;
            const uint32_t own = label_at(y0, column, run_start(word, bit));
            if (i < TILE_W) {
                if (x > 0 && (weak[(x - 1) / 32] >> (x - 1) % 32 & 1u) != 0u) continue;  // not the start of a run
                const int left_bit = (bit + 31) % 32, left_column = bit > 0 ? column : column - 1;
                const uint32_t left = left_column >= 0 ? word_at(y0 - 1, left_column) : 0u, above = word_at(y0 - 1, column);
                if (left >> left_bit & 1u) join(at.parent, own, label_at(y0 - 1, left_column, run_start(left, left_bit)));
                else if (above >> bit & 1u) join(at.parent, own, label_at(y0 - 1, column, run_start(above, bit)));
            } else {
                const int right_bit = (bit + 1) % 32, right_column = bit < 31 ? column : column + 1;
                const uint32_t above = word_at(y0 - 1, column);
                const uint32_t right = right_column < at.pitch ? word_at(y0 - 1, right_column) : 0u;
                if ((right >> right_bit & 1u) != 0u && (above >> bit & 1u) == 0u)
                    join(at.parent, own, label_at(y0 - 1, right_column, right_bit));
            }
        } else {
            const int row = (i - 2 * TILE_W) / 3, other = row + (i - 2 * TILE_W) % 3 - 1;  // row in the left column
            if (word0 == 0 || other < 0 || other >= TILE_H || (weak[row * WORDS] & 1u) == 0u) continue;
            const uint32_t beside = word_at(y0 + other, word0 - 1);
            const uint32_t above = other >= row && other > 0 ? word_at(y0 + other - 1, word0 - 1) : 0u;
            if (beside >> 31 != 0u && above >> 31 == 0u)
                join(at.parent, label_at(y0 + row, word0, 0), label_at(y0 + other, word0 - 1, run_start(beside, 31)));
        }
    }
}

// Sets in `kept` the tile's runs that are joined to a strong one.
__device__ void canny_resolve(const CannyTile& tile, const uint32_t* weak, uint32_t* kept, const Join& at, int word0,
                              int y0) {
    for (int r = av_thread(); r < tile.run_count; r += THREADS) {
        const int i = tile.runs[r] / 32, start = tile.runs[r] % 32;
        const int64_t place = int64_t(y0 + i / WORDS) * at.pitch + word0 + i % WORDS;
        if (root_of(at.parent, uint32_t(place * 32 + start + 1)) == 0u) atomicOr(&kept[i], run_from(weak[i], start));
    }
}

__device__ inline uint32_t canny_bytes(uint32_t bits) {  // 4 bits -> 4 bytes of 0 or 255
    return ((bits & 1u) | (bits & 2u) << 7 | (bits & 4u) << 14 | (bits & 8u) << 21) * 255u;
}

__device__ void canny_write(const uint32_t* strong, uint8_t* out, int width, int height, int x0, int y0) {
    const bool vectors = (width & 15) == 0 && (reinterpret_cast<uint64_t>(out) & 15u) == 0;
    for (int i = av_thread(); i < STATE_WORDS * 2; i += THREADS) {
        const int row = i / (WORDS * 2), x = x0 + (i % (WORDS * 2)) * 16, y = y0 + row;
        if (y >= height || x >= width) continue;
        const uint32_t bits = strong[i / 2] >> (16 * (i & 1)) & 0xffffu;
        uint8_t* place = out + int64_t(y) * width + x;
        if (vectors) {
            *reinterpret_cast<uint4*>(place) = make_uint4(
                canny_bytes(bits), canny_bytes(bits >> 4), canny_bytes(bits >> 8), canny_bytes(bits >> 12));
        } else {
            for (int b = 0; b < 16 && x + b < width; ++b) place[b] = bits >> b & 1u ? 255 : 0;
        }
    }
}

// The grid of blocks has the layout of the tiles. A block takes the tile at its own index, and the tiles at multiples
// of the grid's width and height from there.
template <class Visit> __device__ inline void visit_tiles(uint32_t* state, int across, int down, Visit visit) {
    for (int row = blockIdx.y; row < down; row += gridDim.y)
        for (int column = blockIdx.x; column < across; column += gridDim.x, state += STATE_WORDS)
            visit(state, column * TILE_W, row * TILE_H);
}

template <bool L2>
__device__ void canny(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width,
                      int height, int pitch, int low, int high) {
    AV_SHARED(CannyTile, tile);
    AV_DYNAMIC_SHARED(uint32_t, state);  // candidate words of each tile that this block holds
    const int across = (width + TILE_W - 1) / TILE_W, down = (height + TILE_H - 1) / TILE_H;
    const Join join_at = {words, parent, across * WORDS};
    uint32_t *weak = &tile.weak[0][0], *kept = &tile.strong[0][0];
    AV_STAMPS_BEGIN();
    visit_tiles(state, across, down, [&](uint32_t* own, int x0, int y0) {
        if (av_thread() == 0) tile.run_count = 0;
        canny_load(tile, image, width, height, pitch, x0, y0);
        __syncthreads();
        AV_STAMP(1);
        canny_sobel(tile, width, height, x0, y0);
        __syncthreads();
        AV_STAMP(2);
        canny_classify<L2>(tile, low, high);
        __syncthreads();
        AV_STAMP(3);
        if (av_thread() < STATE_WORDS) own[av_thread()] = weak[av_thread()];
        canny_list_runs(tile, weak);
        __syncthreads();
        AV_STAMP(4);
        canny_label_tile(tile, reinterpret_cast<uint32_t*>(&tile.gradient[0][0]), join_at, x0 / 32, y0);
        __syncthreads();
    });
    AV_STAMP(8);
    av_grid_barrier(control);
    AV_STAMP(9);
    visit_tiles(state, across, down, [&](uint32_t* own, int x0, int y0) { canny_join_tiles(own, join_at, x0 / 32, y0); });
    AV_STAMP(10);
    av_grid_barrier(control);
    AV_STAMP(11);
    const bool is_listed = int(gridDim.x) >= across && int(gridDim.y) >= down;  // one tile: its runs are still listed
    visit_tiles(state, across, down, [&](uint32_t* own, int x0, int y0) {
        if (av_thread() == 0 && !is_listed) tile.run_count = 0;
        if (av_thread() < STATE_WORDS) kept[av_thread()] = 0u;
        __syncthreads();
        if (!is_listed) {
            canny_list_runs(tile, own);
            __syncthreads();
        }
        canny_resolve(tile, own, kept, join_at, x0 / 32, y0);
        __syncthreads();
        AV_STAMP(12);
        canny_write(kept, out, width, height, x0, y0);
        __syncthreads();
    });
    AV_STAMP(13);
    AV_STAMPS_END(control, blockIdx.x == gridDim.x / 2 && blockIdx.y == gridDim.y / 2);
}

extern "C" __global__ void __launch_bounds__(THREADS)
canny_l1(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width, int height,
         int pitch, int low, int high) {
    canny<false>(image, out, words, parent, control, width, height, pitch, low, high);
}

extern "C" __global__ void __launch_bounds__(THREADS)
canny_l2(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width, int height,
         int pitch, int low, int high) {
    canny<true>(image, out, words, parent, control, width, height, pitch, low, high);
}
