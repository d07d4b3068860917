// Canny edges of an 8-bit picture, equal pixel for pixel to cv2.Canny (aperture 3, L1 or squared L2 norm).
//
// One cooperative launch. A block takes tiles of 128 x 32 px; what a tile knows is two bits a pixel.
//   1. Picture and halo -> shared memory, 4 bytes a load; Sobel for 4 px a thread from 9 word reads; dx and dy packed
//      in one word.
//   2. Non-maximum suppression; a warp's ballots are the words of "candidate" and "strong".
//   3. Hysteresis by union-find over runs of candidates (a run is the ones beside each other in a word), a thread a run.
//      Label 0 is "strong": what is joined to it, however far away, is an edge. A run begins as a child of the first one
//      it touches, so that only where edges meet does a join need atomics. Runs of a tile are joined in shared memory,
//      runs across tiles' borders in global memory, with two grid barriers in all, whatever the picture.
//   4. Words -> bytes, 16 a store.
//
// Version 1 spread "strong" through the words, tile by tile, a grid barrier per round until nothing changed: right too,
// but an edge that winds through k tiles took k rounds (96 us on an H200 for a picture of long lines). Version 2
// joined runs with a thread a word: 53 us, 65 % of a warp's cycles at block barriers behind the fullest word.
//
// Bytes moved: one read and one write per pixel, 1/8 byte of words, 4 bytes per run.
#include "av_cuda.cuh"

constexpr int TILE_W = 128, TILE_H = 32, WORDS = TILE_W / 32;
constexpr int GRAY_WORDS = 36, GRAY_ROWS = TILE_H + 4;  // x from x0 - 8, y from y0 - 2
constexpr int GRAD_W = 136, GRAD_ROWS = TILE_H + 2;     // x from x0 - 4, y from y0 - 1
constexpr int STATE_WORDS = TILE_H * WORDS;
constexpr int TAN_22_5 = 13573;  // tan(22.5 deg) * 2^15

struct CannyTile {
    uint32_t gray[GRAY_ROWS][GRAY_WORDS];
    uint4 gradient[GRAD_ROWS][GRAD_W / 4];
    uint32_t weak[TILE_H][WORDS], strong[TILE_H][WORDS];
    int count;
};

struct Join {  // global memory: each tile's words, and a parent per run, at the index of its first pixel + 1
    uint32_t* words;
    uint32_t* parent;
    int pitch;  // words a row
};

__device__ inline int canny_dx(uint32_t packed) { return int(short(packed & 0xffffu)); }
__device__ inline int canny_dy(uint32_t packed) { return int(short(packed >> 16)); }

template <bool L2> __device__ inline int canny_magnitude(uint32_t packed) {
    const int dx = canny_dx(packed), dy = canny_dy(packed);
    return L2 ? dx * dx + dy * dy : (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

__device__ void canny_load(CannyTile& tile, const uint8_t* image, int width, int height, int pitch, int x0, int y0) {
    const bool words = (pitch & 3) == 0 && (reinterpret_cast<uint64_t>(image) & 3u) == 0;
    const auto line_of = [&](int i) {
        return image + int64_t(av_clamp(y0 - 2 + i / GRAY_WORDS, 0, height - 1)) * pitch;
    };
    for (int first = av_thread(); first < GRAY_ROWS * GRAY_WORDS; first += 3 * av_threads()) {
        uint32_t value[3];
#pragma unroll
        for (int k = 0; k < 3; ++k) {  // three loads under way together
            const int i = first + k * av_threads(), x = x0 - 8 + i % GRAY_WORDS * 4;
            if (i < GRAY_ROWS * GRAY_WORDS && words && x >= 0 && x + 3 < width)
                value[k] = *reinterpret_cast<const uint32_t*>(line_of(i) + x);
        }
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            const int i = first + k * av_threads(), x = x0 - 8 + i % GRAY_WORDS * 4;
            if (i >= GRAY_ROWS * GRAY_WORDS) break;
            if (!(words && x >= 0 && x + 3 < width)) {
                value[k] = 0u;
                for (int b = 0; b < 4; ++b) value[k] |= uint32_t(line_of(i)[av_clamp(x + b, 0, width - 1)]) << (8 * b);
            }
            (&tile.gray[0][0])[i] = value[k];
        }
    }
}

__device__ void canny_sobel(CannyTile& tile, int width, int height, int x0, int y0) {
    for (int i = av_thread(); i < GRAD_ROWS * (GRAD_W / 4); i += av_threads()) {
        const int row = i / (GRAD_W / 4), group = i % (GRAD_W / 4);
        int p[3][6];  // rows y-1 .. y+1, columns x-1 .. x+4
#pragma unroll
        for (int r = 0; r < 3; ++r) {
            const uint32_t before = tile.gray[row + r][group], here = tile.gray[row + r][group + 1];
            p[r][0] = before >> 24;
#pragma unroll
            for (int c = 0; c < 4; ++c) p[r][1 + c] = here >> (8 * c) & 0xffu;
            p[r][5] = tile.gray[row + r][group + 2] & 0xffu;
        }
        uint32_t packed[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int dx = (p[0][c + 2] + 2 * p[1][c + 2] + p[2][c + 2]) - (p[0][c] + 2 * p[1][c] + p[2][c]);
            const int dy = (p[2][c] + 2 * p[2][c + 1] + p[2][c + 2]) - (p[0][c] + 2 * p[0][c + 1] + p[0][c + 2]);
            const int x = x0 - 4 + group * 4 + c, y = y0 - 1 + row;
            const bool inside = x >= 0 && x < width && y >= 0 && y < height;
            packed[c] = inside ? (uint32_t(dx) & 0xffffu) | uint32_t(dy) << 16 : 0u;
        }
        tile.gradient[row][group] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
    }
}

// 0 for no maximum, 1 for a candidate, 2 for a strong one.
template <bool L2> __device__ int canny_maximum(const CannyTile& tile, int column, int row, int low, int high) {
    const uint32_t* line = reinterpret_cast<const uint32_t*>(&tile.gradient[row + 1][0]) + column + 4;
    const uint32_t packed = line[0];
    const int m = canny_magnitude<L2>(packed);
    if (m <= low) return 0;
    const int dx = canny_dx(packed), dy = canny_dy(packed);
    const int ax = dx < 0 ? -dx : dx, ay = (dy < 0 ? -dy : dy) << 15;
    const int tan_22 = ax * TAN_22_5, tan_67 = tan_22 + (ax << 16);
    int first, second;  // offsets of the neighbours across the edge; a tie goes to the first
    bool is_strict = false;
    if (ay < tan_22) {
        first = -1, second = 1;
    } else if (ay > tan_67) {
        first = -GRAD_W, second = GRAD_W;
    } else {
        const int side = (dx ^ dy) < 0 ? -1 : 1;
        first = -GRAD_W - side, second = GRAD_W + side, is_strict = true;
    }
    const int a = canny_magnitude<L2>(line[first]), b = canny_magnitude<L2>(line[second]);
    if (m <= a || (is_strict ? m <= b : m < b)) return 0;
    return m > high ? 2 : 1;
}

template <bool L2>
__device__ void canny_classify(CannyTile& tile, int width, int height, int x0, int y0, int low, int high) {
    for (int word = av_warp(); word < STATE_WORDS; word += av_threads() / 32) {
        const int row = word / WORDS, column = (word % WORDS) * 32 + av_lane();
        const bool inside = x0 + column < width && y0 + row < height;
        const int kind = inside ? canny_maximum<L2>(tile, column, row, low, high) : 0;
        const uint32_t candidates = __ballot_sync(AV_FULL_WARP, kind >= 1);
        const uint32_t certain = __ballot_sync(AV_FULL_WARP, kind == 2);
        if (av_lane() == 0) {
            tile.weak[row][word % WORDS] = candidates;
            tile.strong[row][word % WORDS] = certain;
        }
    }
}

// Where the run of ones of `word` begins that holds `bit`; and the run that begins at `start`.
__device__ inline int run_start(uint32_t word, int bit) { return 32 - __clz(int(~word & ((1u << bit) - 1u))); }
__device__ inline uint32_t run_from(uint32_t word, int start) {
    const uint32_t ended = word + (1u << start);  // the carry stops behind the run
    return (word & ~ended) | (1u << start);
}

// Union-find; a parent is never larger than its child, label 0 is its own root and stands for "strong".
__device__ inline uint32_t parent_of(const uint32_t* parent, uint32_t x) {
    return x != 0u ? *const_cast<const volatile uint32_t*>(&parent[x]) : 0u;
}
__device__ inline uint32_t find_root(const uint32_t* parent, uint32_t x) {
    for (uint32_t up; (up = parent_of(parent, x)) != x;) x = up;
    return x;
}
__device__ inline void join(uint32_t* parent, uint32_t a, uint32_t b) {
    while (a != b) {
        const uint32_t up_a = parent_of(parent, a), up_b = parent_of(parent, b);  // both ways up at once
        if (up_a != a || up_b != b) {
            a = up_a, b = up_b;
            continue;
        }
        if (a < b) a = up_b, b = up_a;
        const uint32_t before = atomicMin(&parent[a], b);
        if (before == a) return;
        a = before;  // another thread was first: what it joined `a` to belongs with `b` too
    }
}

// Calls `visit` with the label of each run that touches `run` (in the word at `column`) in another row's words.
template <class Word, class Label, class Visit>
__device__ inline void visit_row(uint32_t run, int columns, int column, Word word, Label label, Visit visit) {
    const uint32_t middle = word(column);
    for (uint32_t hits = middle & (run | run << 1 | run >> 1); hits != 0u;) {
        const int start = run_start(middle, __ffs(int(hits)) - 1);
        visit(label(column, start));
        hits &= ~run_from(middle, start);
    }
    if ((run & 1u) && column > 0 && word(column - 1) >> 31) visit(label(column - 1, run_start(word(column - 1), 31)));
    if (run >> 31 && column + 1 < columns && (word(column + 1) & 1u)) visit(label(column + 1, 0));
}

// The first pixels of all runs of the tile's words -> `runs`, in any order; returns their number.
__device__ int canny_list_runs(const uint32_t* weak, uint16_t* runs, int* count) {
    const int i = av_thread();
    if (i == 0) *count = 0;
    __syncthreads();
    if (i < STATE_WORDS) {
        uint32_t starts = weak[i] & ~(weak[i] << 1);
        const int own = __popc(starts);
        int upto = own, first = 0;
        for (int d = 1; d < 32; d *= 2) {
            const int other = __shfl_up_sync(AV_FULL_WARP, upto, d);
            if (av_lane() >= d) upto += other;
        }
        if (av_lane() == 31) first = atomicAdd(count, upto);
        first = __shfl_sync(AV_FULL_WARP, first, 31) + upto - own;
        for (; starts != 0u; starts &= starts - 1u) runs[first++] = uint16_t(i * 32 + __ffs(int(starts)) - 1);
    }
    __syncthreads();
    return *count;
}

// Calls `visit` with the label of each run of the tile that touches the one at pixel `at`, above it or to its left.
template <class Visit> __device__ inline void visit_tile(const CannyTile& tile, int at, uint32_t run, Visit visit) {
    const int i = at / 32, row = i / WORDS, column = i % WORDS;
    if ((run & 1u) && column > 0 && tile.weak[row][column - 1] >> 31)
        visit(uint32_t((i - 1) * 32 + run_start(tile.weak[row][column - 1], 31) + 1));
    if (row > 0) {
        visit_row(
            run, WORDS, column, [&](int c) { return tile.weak[row - 1][c]; },
            [&](int c, int start) { return uint32_t(((row - 1) * WORDS + c) * 32 + start + 1); }, visit);
    }
}

// Roots of the tile's runs, from shared memory to `to`. `parent` (shared) has a place per pixel, and 0.
__device__ void canny_label_tile(const CannyTile& tile, const uint16_t* runs, int count, uint32_t* parent, const Join& to,
                                 int word0, int y0) {
    const uint32_t *weak = &tile.weak[0][0], *strong = &tile.strong[0][0];
    for (int r = av_thread(); r < count; r += av_threads()) {
        const uint32_t run = run_from(weak[runs[r] / 32], runs[r] % 32), own = runs[r] + 1u;
        uint32_t up = own;
        if (run & strong[runs[r] / 32]) up = 0u;
        else visit_tile(tile, runs[r], run, [&](uint32_t label) { up = up == own ? label : up; });
        parent[own] = up;
    }
    __syncthreads();
    for (int r = av_thread(); r < count; r += av_threads()) {
        const uint32_t run = run_from(weak[runs[r] / 32], runs[r] % 32), own = runs[r] + 1u;
        bool is_joined = (run & strong[runs[r] / 32]) == 0u;  // to the first it touches: its parent
        visit_tile(tile, runs[r], run, [&](uint32_t label) {
            if (!is_joined) join(parent, own, label);
            is_joined = false;
        });
    }
    __syncthreads();
    const auto place_of = [&](int i) { return int64_t(y0 + i / WORDS) * to.pitch + word0 + i % WORDS; };
    if (av_thread() < STATE_WORDS) __stcg(&to.words[place_of(av_thread())], weak[av_thread()]);
    for (int r = av_thread(); r < count; r += av_threads()) {
        const uint32_t root = find_root(parent, runs[r] + 1u);
        const uint32_t label = root == 0u ? 0u : uint32_t(place_of(int(root - 1u) / 32) * 32 + (root - 1u) % 32u + 1u);
        __stcg(&to.parent[place_of(runs[r] / 32) * 32 + runs[r] % 32 + 1], label);
    }
}

// Join the runs of the tile's first row and first column to those of the tiles above and to the left.
__device__ void canny_join_tiles(const uint32_t* weak, const Join& at, int word0, int y0) {
    const auto word_at = [&](int r, int c) { return __ldcg(&at.words[int64_t(r) * at.pitch + c]); };
    const auto label_at = [&](int r, int c, int start) { return uint32_t((int64_t(r) * at.pitch + c) * 32 + start + 1); };
    const int i = av_thread();
    if (i < TILE_W) {
        const uint32_t word = weak[i / 32];
        if (y0 == 0 || ((word & ~(word << 1)) >> (i % 32) & 1u) == 0u) return;  // no run begins here
        const uint32_t own = label_at(y0, word0 + i / 32, i % 32);
        visit_row(
            run_from(word, i % 32), at.pitch, word0 + i / 32, [&](int c) { return word_at(y0 - 1, c); },
            [&](int c, int start) { return label_at(y0 - 1, c, start); },
            [&](uint32_t label) { join(at.parent, own, label); });
    } else if (i < TILE_W + TILE_H) {
        const int row = i - TILE_W;
        if (word0 == 0 || (weak[row * WORDS] & 1u) == 0u) return;
        const uint32_t own = label_at(y0 + row, word0, 0);
        for (int r = max(row - 1, 0); r <= min(row + 1, TILE_H - 1); ++r) {
            const uint32_t beside = word_at(y0 + r, word0 - 1);
            if (beside >> 31) join(at.parent, own, label_at(y0 + r, word0 - 1, run_start(beside, 31)));
        }
    }
}

// The runs of the tile's words that are joined to a strong one -> `kept`.
__device__ void canny_resolve(const uint32_t* weak, uint32_t* kept, const uint16_t* runs, int count, const Join& at,
                              int word0, int y0) {
    if (av_thread() < STATE_WORDS) kept[av_thread()] = 0u;
    __syncthreads();
    for (int r = av_thread(); r < count; r += av_threads()) {
        const int i = runs[r] / 32, start = runs[r] % 32;
        const int64_t place = int64_t(y0 + i / WORDS) * at.pitch + word0 + i % WORDS;
        if (find_root(at.parent, uint32_t(place * 32 + start + 1)) == 0u) atomicOr(&kept[i], run_from(weak[i], start));
    }
    __syncthreads();
}

__device__ inline uint32_t canny_bytes(uint32_t bits) {  // 4 bits -> 4 bytes of 0 or 255
    return ((bits & 1u) | (bits & 2u) << 7 | (bits & 4u) << 14 | (bits & 8u) << 21) * 255u;
}

__device__ void canny_write(const uint32_t* strong, uint8_t* out, int width, int height, int x0, int y0) {
    const bool vectors = (width & 15) == 0 && (reinterpret_cast<uint64_t>(out) & 15u) == 0;
    for (int i = av_thread(); i < STATE_WORDS * 2; i += av_threads()) {
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

template <bool L2>
__device__ void canny(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width,
                      int height, int pitch, int low, int high) {
    AV_SHARED(CannyTile, tile);
    AV_DYNAMIC_SHARED(uint32_t, state);  // words of each tile this block holds
    uint16_t* runs = reinterpret_cast<uint16_t*>(&tile.gray[0][0]);
    const int across = (width + TILE_W - 1) / TILE_W, tiles = across * ((height + TILE_H - 1) / TILE_H);
    const Join join_at = {words, parent, across * WORDS};
    int count = 0;
    AV_STAMPS_BEGIN();
    for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot) {
        const int x0 = t % across * TILE_W, y0 = t / across * TILE_H;
        canny_load(tile, image, width, height, pitch, x0, y0);
        __syncthreads();
        AV_STAMP(1);
        canny_sobel(tile, width, height, x0, y0);
        __syncthreads();
        AV_STAMP(2);
        canny_classify<L2>(tile, width, height, x0, y0, low, high);
        __syncthreads();
        AV_STAMP(3);
        if (av_thread() < STATE_WORDS) state[slot * STATE_WORDS + av_thread()] = (&tile.weak[0][0])[av_thread()];
        count = canny_list_runs(&tile.weak[0][0], runs, &tile.count);
        canny_label_tile(tile, runs, count, reinterpret_cast<uint32_t*>(&tile.gradient[0][0]), join_at, x0 / 32, y0);
        __syncthreads();
    }
    AV_STAMP(4);
    av_grid_barrier(control);
    AV_STAMP(5);
    for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot)
        canny_join_tiles(state + slot * STATE_WORDS, join_at, t % across * WORDS, t / across * TILE_H);
    AV_STAMP(6);
    av_grid_barrier(control);
    AV_STAMP(7);
    for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot) {
        const uint32_t* weak = state + slot * STATE_WORDS;
        uint32_t* kept = &tile.strong[0][0];
        if (int(gridDim.x) < tiles) count = canny_list_runs(weak, runs, &tile.count);  // else the list still stands
        canny_resolve(weak, kept, runs, count, join_at, t % across * WORDS, t / across * TILE_H);
        AV_STAMP(8);
        canny_write(kept, out, width, height, t % across * TILE_W, t / across * TILE_H);
        __syncthreads();
    }
    AV_STAMP(9);
    AV_STAMPS_END(control, blockIdx.x == gridDim.x / 2);
}

extern "C" __global__ void __launch_bounds__(512)
canny_l1(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width, int height,
         int pitch, int low, int high) {
    canny<false>(image, out, words, parent, control, width, height, pitch, low, high);
}

extern "C" __global__ void __launch_bounds__(512)
canny_l2(const uint8_t* image, uint8_t* out, uint32_t* words, uint32_t* parent, unsigned* control, int width, int height,
         int pitch, int low, int high) {
    canny<true>(image, out, words, parent, control, width, height, pitch, low, high);
}
