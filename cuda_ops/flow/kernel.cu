// Pyramidal Lucas-Kanade tracking (Bouguet, "Pyramidal implementation of the Lucas Kanade feature tracker", 2001).
//
// A block tracks one point through all levels. Once per level it loads two regions into shared memory as floats: around
// the template, and around the start of the search with a margin of MARGIN px. A search that leaves its region loads it
// anew. A thread keeps the values and gradients of its pixels in registers (Scharr's gradients of the sampled template:
// sampling and differentiating commute), so that a step of the search costs four reads per pixel at fixed offsets and
// one sum over the block. A search that oscillates across the border between two pixels, where bilinear interpolation
// has a kink, ends in the middle.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int REACH_MAX = 15, SIDE_MAX = 2 * REACH_MAX + 3, THREADS = 128, WARPS = THREADS / 32;
constexpr int MARGIN = 4;                                // px that a search may move before it loads its region anew
constexpr int REGION_MAX = 2 * REACH_MAX + 2 + 2 * MARGIN;
constexpr int PITCH = 53;  // 32 + 21: rows of the usual window, 21 px, occupy consecutive banks

struct FlowScratch {
    float before[REGION_MAX * PITCH], after[REGION_MAX * PITCH], patch[SIDE_MAX * PITCH];
    float partial[2][WARPS][3];
};

__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

__device__ inline uint32_t down_pixel(const uint8_t* in, int width, int height, int x, int y) {
    int column[5], sum = 128;
    for (int k = 0; k < 5; ++k) column[k] = mirrored(x + k - 2, width);
    for (int r = 0; r < 5; ++r) {
        const uint8_t* line = in + int64_t(mirrored(y + r - 2, height)) * width;
        const int row = line[column[0]] + line[column[4]] + 4 * (line[column[1]] + line[column[3]]) + 6 * line[column[2]];
        sum += row * (r == 2 ? 6 : (r == 1 || r == 3 ? 4 : 1));
    }
    return uint32_t(sum >> 8);
}

// Four output pixels, centred at x, x + 2, x + 4, x + 6: columns first, two per multiplication, from the words at
// x - 4 .. x + 8.
__device__ inline uint32_t down_four(const uint8_t* in, int width, int height, int x, int y) {
    uint32_t word[5][4];
#pragma unroll
    for (int r = 0; r < 5; ++r) {
        const uint8_t* line = in + int64_t(mirrored(y + r - 2, height)) * width;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            word[r][k] = *reinterpret_cast<const uint32_t*>(line + av_clamp(x - 4 + 4 * k, 0, width - 4));
        // Outside the picture lie mirrored pixels: -4 .. -1 are 4 .. 1, and width, width + 1 .. are width - 2, width -
        // 3 ..
        if (x == 0) word[r][0] = __byte_perm(word[r][1], word[r][2], 0x1234u);
        if (x + 4 == width) word[r][2] = __byte_perm(word[r][0], word[r][1], 0x3456u);
        if (x + 8 == width) word[r][3] = __byte_perm(word[r][1], word[r][2], 0x3456u);
    }
    uint32_t column[16];  // column sums of x - 4 .. x + 11
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        uint32_t even = 0u, odd = 0u;
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            const uint32_t weight = r == 2 ? 6u : (r == 1 || r == 3 ? 4u : 1u);
            even += weight * (word[r][k] & 0x00ff00ffu), odd += weight * (word[r][k] >> 8 & 0x00ff00ffu);
        }
        column[4 * k] = even & 0xffffu, column[4 * k + 1] = odd & 0xffffu;
        column[4 * k + 2] = even >> 16, column[4 * k + 3] = odd >> 16;
    }
    uint32_t sum[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int c = 4 + 2 * k;
        sum[k] = 128u + column[c - 2] + column[c + 2] + 4u * (column[c - 1] + column[c + 1]) + 6u * column[c];
    }
    return av_pack_bytes(sum[0], sum[1], sum[2], sum[3], 1);
}

// One pyramid level of both pictures: blurred by 1 4 6 4 1 in both directions, every second pixel, rounded like
// cv2.pyrDown.
extern "C" __global__ void __launch_bounds__(128)
pyramid_down(const uint8_t* first_in, const uint8_t* second_in, int width, int height, uint8_t* first_out, uint8_t* second_out) {
    av_wait_for_earlier();
    const uint8_t* in = blockIdx.y == 0 ? first_in : second_in;
    uint8_t* out = blockIdx.y == 0 ? first_out : second_out;
    const int wide = (width + 1) / 2, tall = (height + 1) / 2, groups = (wide + 3) / 4;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / groups, column = i % groups * 4, x = column * 2;
    if (row >= tall) return;
    const bool is_fast = (width & 3) == 0 && (reinterpret_cast<uint64_t>(in) & 3u) == 0 && width >= 8;
    uint32_t four = 0u;
    if (is_fast) four = down_four(in, width, height, x, row * 2);
    else for (int k = 0; k < 4 && column + k < wide; ++k) four |= down_pixel(in, width, height, x + 2 * k, row * 2) << (8 * k);
    uint8_t* place = out + int64_t(row) * wide + column;
    if ((wide & 3) == 0 && (reinterpret_cast<uint64_t>(out) & 3u) == 0) *reinterpret_cast<uint32_t*>(place) = four;
    else for (int k = 0; k < 4 && column + k < wide; ++k) place[k] = uint8_t(four >> (8 * k));
}

struct Level {
    const uint8_t* data;
    int width, height;
};

__device__ inline Level level_of(const uint8_t* image, const uint8_t* halves, int width, int height, int level) {
    for (; level > 0; --level) {
        width = (width + 1) / 2, height = (height + 1) / 2;
        image = halves;
        halves += int64_t(width) * height;
    }
    return {image, width, height};
}

// Position of a window: its first pixel, and the fraction between pixels that all its pixels share.
struct Window {
    int x, y;
    float tx, ty;
};

__device__ inline Window window_at(float x, float y) {
    constexpr float FAR = 1048576.0f;  // the coordinates of a diverging search stay valid integers
    const float left = floorf(x), top = floorf(y);
    return {int(fminf(fmaxf(left, -FAR), FAR)), int(fminf(fmaxf(top, -FAR), FAR)), x - left, y - top};
}

// Loads at least SIZE x SIZE pixels from (x, y) on into `region`; outside, the border pixel repeats. Each warp loads
// whole rows, with all its loads in flight together.
template <int SIZE> __device__ inline void load_region(const Level& level, int x, int y, float* region) {
    constexpr int ROWS = (SIZE + WARPS - 1) / WARPS;
    static_assert(ROWS * WARPS <= REGION_MAX && SIZE <= PITCH, "rows and columns there are for more than is asked");
#pragma unroll
    for (int first = 0; first < SIZE; first += 32) {
        const int column = first + av_lane();
        if (SIZE > 32 && column >= SIZE) break;
        const uint8_t* place = level.data + av_clamp(x + column, 0, level.width - 1);
        uint32_t byte[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            byte[r] = place[uint32_t(av_clamp(y + av_warp() + r * WARPS, 0, level.height - 1)) * uint32_t(level.width)];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) region[(av_warp() + r * WARPS) * PITCH + column] = av_byte_to_float(byte[r], 0);
    }
}

// Bilinear interpolation between the pixel at `p` and its right, lower and lower right neighbours.
__device__ inline float blend(const float* p, const Window& at) {
    const float upper = __fmaf_rn(p[1] - p[0], at.tx, p[0]), lower = __fmaf_rn(p[PITCH + 1] - p[PITCH], at.tx, p[PITCH]);
    return __fmaf_rn(lower - upper, at.ty, upper);
}

// Sums over the block, with the same bits in all threads. `round` alternates between two buffers: one barrier per sum.
template <int N> __device__ inline void block_sums(FlowScratch& s, int& round, float (&sum)[N]) {
    for (int d = 16; d > 0; d /= 2)
#pragma unroll
        for (int n = 0; n < N; ++n) sum[n] += __shfl_xor_sync(AV_FULL_WARP, sum[n], d);
    float(&partial)[WARPS][3] = s.partial[round & 1];
    ++round;
#pragma unroll
    for (int n = 0; n < N; ++n)
        if (av_lane() == 0) partial[av_warp()][n] = sum[n];
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) {
        sum[n] = partial[0][n];
        for (int w = 1; w < WARPS; ++w) sum[n] += partial[w][n];
    }
}

struct Gradient {
    float x, y;
};
__device__ inline Gradient scharr(const float* p) {
    const float *up = p - PITCH, *down = p + PITCH;
    const float x = 3.0f * (up[1] + down[1]) + 10.0f * p[1] - 3.0f * (up[-1] + down[-1]) - 10.0f * p[-1];
    const float y = 3.0f * (down[-1] + down[1]) + 10.0f * *down - 3.0f * (up[-1] + up[1]) - 10.0f * *up;
    return {x * (1.0f / 32.0f), y * (1.0f / 32.0f)};
}

struct Track {
    float flow_x, flow_y, error;
    bool is_good;
};

struct Search {
    int reach, iterations;
    float step_min, eigenvalue_min;
};

// Tracks on one level. A thread has EACH pixels of the window, at the offsets `pixels` from its corner in a region;
// threads beyond the window repeat its last pixel.
template <int EACH>
__device__ void track_level(FlowScratch& s, int& round, const Level& from, const Level& to, float px, float py,
                            const Search& search, const int (&pixels)[EACH], bool is_last, Track& track) {
    constexpr int WINDOW = EACH == 4 ? 21 : 2 * REACH_MAX + 1, SIDE = WINDOW + 2;  // upper bounds
    static_assert(EACH * THREADS >= WINDOW * WINDOW, "every pixel is a thread's");
    const int reach = search.reach, area = (2 * reach + 1) * (2 * reach + 1);
    const Window source = window_at(px - float(reach + 1), py - float(reach + 1));
    track.flow_x *= 2.0f, track.flow_y *= 2.0f;
    Window at = window_at(px + track.flow_x - float(reach), py + track.flow_y - float(reach));
    int left = at.x - MARGIN, top = at.y - MARGIN;
    __syncthreads();  // until the previous level has read its regions
    load_region<SIDE + 1>(from, source.x, source.y, s.before);
    load_region<WINDOW + 1 + 2 * MARGIN>(to, left, top, s.after);
    __syncthreads();
#pragma unroll
    for (int first = 0; first < SIDE; first += 32)
#pragma unroll
        for (int row = av_warp(); row < SIDE; row += WARPS) {
            const int place = row * PITCH + first + av_lane();
            if (first + av_lane() < SIDE) s.patch[place] = blend(&s.before[place], source);
        }
    __syncthreads();
    float value[EACH], squares[3] = {};
    Gradient gradient[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const float* p = &s.patch[pixels[k] + PITCH + 1];
        value[k] = *p, gradient[k] = scharr(p);
        if (k * THREADS + av_thread() >= area) gradient[k] = {0.0f, 0.0f};
        squares[0] += gradient[k].x * gradient[k].x, squares[1] += gradient[k].x * gradient[k].y;
        squares[2] += gradient[k].y * gradient[k].y;
    }
    block_sums(s, round, squares);
    const float xx = squares[0], xy = squares[1], yy = squares[2], determinant = xx * yy - xy * xy;
    const float smaller = (xx + yy - sqrtf((xx - yy) * (xx - yy) + 4.0f * xy * xy)) / float(2 * area);
    if (smaller < search.eigenvalue_min || !(determinant > 0.0f)) {
        if (is_last) track.is_good = false;
        return;
    }
    const float scale = 1.0f / determinant;
    float error[1] = {}, before_x = INFINITY, before_y = INFINITY;
    for (int turn = 0; turn < search.iterations; ++turn) {
        if (uint32_t(at.x - left) > 2u * MARGIN || uint32_t(at.y - top) > 2u * MARGIN) {
            left = at.x - MARGIN, top = at.y - MARGIN;
            __syncthreads();
            load_region<WINDOW + 1 + 2 * MARGIN>(to, left, top, s.after);
            __syncthreads();
        }
        const float* corner = &s.after[(at.y - top) * PITCH + at.x - left];
        float sums[2] = {};
        error[0] = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const float difference = value[k] - blend(corner + pixels[k], at);
            sums[0] = __fmaf_rn(difference, gradient[k].x, sums[0]), sums[1] = __fmaf_rn(difference, gradient[k].y, sums[1]);
            if (k * THREADS + av_thread() < area) error[0] += fabsf(difference);
        }
        block_sums(s, round, sums);
        const float step_x = (yy * sums[0] - xy * sums[1]) * scale, step_y = (xx * sums[1] - xy * sums[0]) * scale;
        track.flow_x += step_x, track.flow_y += step_y;
        if (step_x * step_x + step_y * step_y < search.step_min * search.step_min) break;
        if (fabsf(step_x + before_x) < search.step_min && fabsf(step_y + before_y) < search.step_min) {
            track.flow_x -= 0.5f * step_x, track.flow_y -= 0.5f * step_y;
            break;
        }
        before_x = step_x, before_y = step_y;
        at = window_at(px + track.flow_x - float(reach), py + track.flow_y - float(reach));
    }
    block_sums(s, round, error);
    track.error = error[0] / float(area);
}

template <int EACH>
__device__ void track_point(FlowScratch& s, const uint8_t* before, const uint8_t* after, const uint8_t* before_halves,
                            const uint8_t* after_halves, int width, int height, int levels, float2 point,
                            const Search& search, Track& track) {
    const int window = 2 * search.reach + 1;
    int pixels[EACH], round = 0;
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int i = min(k * THREADS + av_thread(), window * window - 1);
        pixels[k] = i / window * PITCH + i % window;
    }
    for (int level = levels - 1; level >= 0; --level) {
        const Level from = level_of(before, before_halves, width, height, level);
        const Level to = level_of(after, after_halves, width, height, level);
        const float scale = 1.0f / float(1 << level);
        track_level<EACH>(s, round, from, to, point.x * scale, point.y * scale, search, pixels, level == 0, track);
    }
}

extern "C" __global__ void __launch_bounds__(128)
lucas_kanade(const uint8_t* before, const uint8_t* after, const uint8_t* before_halves, const uint8_t* after_halves, int width,
             int height, int levels, const float2* points, float2* out, float* residual, uint8_t* status, int reach,
             int iterations, float step_min, float eigenvalue_min) {
    AV_SHARED(FlowScratch, scratch);
    av_wait_for_earlier();
    const float2 point = points[blockIdx.x];
    const Search search = {reach, iterations, step_min, eigenvalue_min};
    Track track = {0.0f, 0.0f, 0.0f, false};
    track.is_good = point.x >= 0.0f && point.y >= 0.0f && point.x <= float(width - 1) && point.y <= float(height - 1);
    const int window = 2 * reach + 1;
    if (track.is_good && window <= 21)
        track_point<4>(scratch, before, after, before_halves, after_halves, width, height, levels, point, search, track);
    else if (track.is_good)
        track_point<8>(scratch, before, after, before_halves, after_halves, width, height, levels, point, search, track);
    const float x = point.x + track.flow_x, y = point.y + track.flow_y;
    if (av_thread() != 0) return;
    out[blockIdx.x] = make_float2(x, y);
    residual[blockIdx.x] = track.error;
    status[blockIdx.x] = track.is_good && x >= 0.0f && y >= 0.0f && x <= float(width - 1) && y <= float(height - 1);
}
