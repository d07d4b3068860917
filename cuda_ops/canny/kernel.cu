// Canny edges of an 8-bit picture, equal pixel for pixel to cv2.Canny (aperture 3, L1 or squared L2 norm).
//
// One cooperative launch. A block takes tiles of 128 x 32 px; what a tile knows is two bits a pixel.
//   1. Picture and halo -> shared memory, 4 bytes a load; Sobel for 4 px a thread from 9 word reads; dx and dy packed
//      in one word.
//   2. Non-maximum suppression; a warp's ballots are the words of "candidate" and "strong".
//   3. Hysteresis on the words: a lane holds 32 px of a row, a run of candidates fills in one addition (the carry
//      runs along it), rows meet in shared memory. Tiles meet through their words in global memory, a grid barrier
//      per round, until no tile's border changed: no host in the loop, and the result does not depend on any order.
//   4. Words -> bytes, 16 a store.
//
// Bytes moved: one read and one write per pixel, and 1/8 byte of state.
#include "av_cuda.cuh"

constexpr int TILE_W = 128, TILE_H = 32, WORDS = TILE_W / 32;
constexpr int GRAY_WORDS = 36, GRAY_ROWS = TILE_H + 4;  // x from x0 - 8, y from y0 - 2
constexpr int GRAD_W = 136, GRAD_ROWS = TILE_H + 2;     // x from x0 - 4, y from y0 - 1
constexpr int STATE_WORDS = TILE_H * WORDS;
constexpr int TAN_22_5 = 13573;  // tan(22.5 deg) * 2^15

struct CannyTile {
    uint32_t gray[GRAY_ROWS][GRAY_WORDS];
    uint4 gradient[GRAD_ROWS][GRAD_W / 4];
    uint32_t strong[TILE_H + 2][WORDS + 2];
};

__device__ inline int canny_dx(uint32_t packed) { return int(short(packed & 0xffffu)); }
__device__ inline int canny_dy(uint32_t packed) { return int(short(packed >> 16)); }

template <bool L2> __device__ inline int canny_magnitude(uint32_t packed) {
    const int dx = canny_dx(packed), dy = canny_dy(packed);
    return L2 ? dx * dx + dy * dy : (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

__device__ void canny_load(CannyTile& tile, const uint8_t* image, int width, int height, int pitch, int x0, int y0) {
    const bool words = (pitch & 3) == 0 && (reinterpret_cast<uint64_t>(image) & 3u) == 0;
    for (int i = av_thread(); i < GRAY_ROWS * GRAY_WORDS; i += av_threads()) {
        const int row = i / GRAY_WORDS, word = i % GRAY_WORDS, x = x0 - 8 + word * 4;
        const uint8_t* line = image + int64_t(av_clamp(y0 - 2 + row, 0, height - 1)) * pitch;
        uint32_t value = 0;
        if (words && x >= 0 && x + 3 < width) {
            value = *reinterpret_cast<const uint32_t*>(line + x);
        } else {
            for (int b = 0; b < 4; ++b) value |= uint32_t(line[av_clamp(x + b, 0, width - 1)]) << (8 * b);
        }
        tile.gray[row][word] = value;
    }
}

__device__ void canny_sobel(CannyTile& tile, int width, int height, int x0, int y0) {
    for (int i = av_thread(); i < GRAD_ROWS * (GRAD_W / 4); i += av_threads()) {
        const int row = i / (GRAD_W / 4), group = i % (GRAD_W / 4);
        int p[3][6];  // rows y-1 .. y+1, columns x-1 .. x+4
        for (int r = 0; r < 3; ++r) {
            const uint32_t before = tile.gray[row + r][group], here = tile.gray[row + r][group + 1];
            p[r][0] = before >> 24;
            for (int c = 0; c < 4; ++c) p[r][1 + c] = here >> (8 * c) & 0xffu;
            p[r][5] = tile.gray[row + r][group + 2] & 0xffu;
        }
        uint32_t packed[4];
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
__device__ void canny_classify(const CannyTile& tile, uint32_t* weak, uint32_t* strong, int width, int height, int x0,
                               int y0, int low, int high) {
    for (int word = av_warp(); word < STATE_WORDS; word += av_threads() / 32) {
        const int row = word / WORDS, column = (word % WORDS) * 32 + av_lane();
        const bool inside = x0 + column < width && y0 + row < height;
        const int kind = inside ? canny_maximum<L2>(tile, column, row, low, high) : 0;
        const uint32_t candidates = __ballot_sync(AV_FULL_WARP, kind >= 1);
        const uint32_t certain = __ballot_sync(AV_FULL_WARP, kind == 2);
        if (av_lane() == 0) weak[word] = candidates, strong[word] = certain;
    }
}

// Seeds spread along the runs of ones of `weak` that hold them.
__device__ inline uint32_t canny_fill(uint32_t weak, uint32_t seeds) {
    const uint32_t up = (((weak + seeds) ^ weak) & weak) | seeds;
    const uint32_t mirrored = __brev(weak), from = __brev(up);
    return __brev((((mirrored + from) ^ mirrored) & mirrored) | from);
}

// Spread `strong` through `weak` inside the tile, halo words included as sources; true where the border changed.
__device__ bool canny_spread(CannyTile& tile, const uint32_t* weak, uint32_t* strong) {
    const int word = av_thread(), row = word / WORDS, column = word % WORDS;
    const bool mine = word < STATE_WORDS;
    const uint32_t candidates = mine ? weak[word] : 0u, start = mine ? strong[word] : 0u;
    if (mine) tile.strong[row + 1][column + 1] = start;
    __syncthreads();
    uint32_t held = start;
    bool again = true;
    while (again) {
        uint32_t near = 0u;
        if (candidates != held) {
            for (int r = 0; r < 3; ++r) {
                const uint32_t here = tile.strong[row + r][column + 1];
                near |= here | here << 1 | here >> 1;
                near |= tile.strong[row + r][column] >> 31 | tile.strong[row + r][column + 2] << 31;
            }
        }
        const uint32_t grown = canny_fill(candidates, held | (near & candidates));
        const bool changed = grown != held;
        again = __syncthreads_or(changed);
        if (changed) tile.strong[row + 1][column + 1] = held = grown;
        __syncthreads();
    }
    if (mine) strong[word] = held;
    uint32_t border = 0u;
    if (mine && (row == 0 || row == TILE_H - 1)) border = 0xffffffffu;
    if (mine && column == 0) border |= 1u;
    if (mine && column == WORDS - 1) border |= 0x80000000u;
    return __syncthreads_or(((held ^ start) & border) != 0u);
}

__device__ void canny_load_halo(CannyTile& tile, const uint32_t* words, int pitch, int rows, int word0, int y0) {
    constexpr int WIDE = WORDS + 2, TALL = TILE_H + 2;
    for (int i = av_thread(); i < WIDE * TALL; i += av_threads()) {
        const int row = i / WIDE, column = i % WIDE;
        if (row != 0 && row != TALL - 1 && column != 0 && column != WIDE - 1) continue;
        const int y = y0 + row - 1, word = word0 + column - 1;
        const bool inside = y >= 0 && y < rows && word >= 0 && word < pitch;
        tile.strong[row][column] = inside ? __ldcg(&words[int64_t(y) * pitch + word]) : 0u;
    }
}

__device__ void canny_store_words(const uint32_t* strong, uint32_t* words, int pitch, int word0, int y0) {
    const int i = av_thread();
    if (i < STATE_WORDS) __stcg(&words[int64_t(y0 + i / WORDS) * pitch + word0 + i % WORDS], strong[i]);
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
__device__ void canny(const uint8_t* image, uint8_t* out, uint32_t* words, unsigned* control, int width, int height,
                      int pitch, int low, int high) {
    AV_SHARED(CannyTile, tile);
    AV_DYNAMIC_SHARED(uint32_t, state);  // weak and strong words of each tile this block holds
    const int across = (width + TILE_W - 1) / TILE_W, tiles = across * ((height + TILE_H - 1) / TILE_H);
    const int word_pitch = across * WORDS, rows = tiles / across * TILE_H;
    unsigned *barrier = control, *flags = control + 1;
    for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot) {
        const int x0 = t % across * TILE_W, y0 = t / across * TILE_H;
        uint32_t *weak = state + slot * 2 * STATE_WORDS, *strong = weak + STATE_WORDS;
        canny_load(tile, image, width, height, pitch, x0, y0);
        for (int i = av_thread(); i < (TILE_H + 2) * (WORDS + 2); i += av_threads()) (&tile.strong[0][0])[i] = 0u;
        __syncthreads();
        canny_sobel(tile, width, height, x0, y0);
        __syncthreads();
        canny_classify<L2>(tile, weak, strong, width, height, x0, y0, low, high);
        __syncthreads();
        canny_spread(tile, weak, strong);
        canny_store_words(strong, words, word_pitch, x0 / 32, y0);
        __syncthreads();
    }
    av_grid_barrier(barrier);
    for (int round = 0;; ++round) {
        for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot) {
            const int x0 = t % across * TILE_W, y0 = t / across * TILE_H;
            uint32_t *weak = state + slot * 2 * STATE_WORDS, *strong = weak + STATE_WORDS;
            canny_load_halo(tile, words, word_pitch, rows, x0 / 32, y0);
            if (canny_spread(tile, weak, strong)) {
                canny_store_words(strong, words, word_pitch, x0 / 32, y0);
                if (av_thread() == 0) atomicOr(&flags[round % 3], 1u);
            }
            __syncthreads();
        }
        av_grid_barrier(barrier);
        const bool changed = av_load_acquire(&flags[round % 3]) != 0u;
        if (blockIdx.x == 0 && av_thread() == 0) flags[(round + 2) % 3] = 0u;  // all have read it before this barrier
        if (!changed) break;
    }
    for (int t = blockIdx.x, slot = 0; t < tiles; t += gridDim.x, ++slot)
        canny_write(state + (slot * 2 + 1) * STATE_WORDS, out, width, height, t % across * TILE_W, t / across * TILE_H);
}

extern "C" __global__ void __launch_bounds__(256)
canny_l1(const uint8_t* image, uint8_t* out, uint32_t* words, unsigned* control, int width, int height, int pitch,
         int low, int high) {
    canny<false>(image, out, words, control, width, height, pitch, low, high);
}

extern "C" __global__ void __launch_bounds__(256)
canny_l2(const uint8_t* image, uint8_t* out, uint32_t* words, unsigned* control, int width, int height, int pitch,
         int low, int high) {
    canny<true>(image, out, words, control, width, height, pitch, low, high);
}
