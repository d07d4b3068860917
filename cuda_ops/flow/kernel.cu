// Pyramidal Lucas-Kanade tracking (Bouguet, "Pyramidal implementation of the Lucas Kanade feature tracker", 2001).
//
// A block tracks a point through all levels. The template is sampled once a level; a thread keeps its pixels' values and
// gradients (Scharr's on the sampled template: sampling and differentiating commute) in registers, so that a step of the
// search is four bytes a pixel, all loads under way together, and one sum over the block. All pixels of a window lie
// equally far between their neighbours, and where the window lies inside the picture no coordinate is tested.
//
// Version 1 had a warp a point, the template and its gradients from shared memory in each step, and copied both pictures
// into pyramids that took three launches each: 186 us for 500 points, 4 levels. Version 2, a block a point, but a test of
// each pixel's place between its loads, and a slow path at a row's ends in the pyramids (17 us of it): about 70. This one: 56
// us, the pyramids 7.8 of them.
#include "av_cuda.cuh"

constexpr int REACH_MAX = 15, SIDE_MAX = 2 * REACH_MAX + 3, THREADS = 128, WARPS = THREADS / 32;

struct FlowScratch {
    float patch[SIDE_MAX * SIDE_MAX];
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

// Four pixels around x, x + 2, x + 4, x + 6: columns first, two a multiplication, from the words at x - 4 .. x + 8.
__device__ inline uint32_t down_four(const uint8_t* in, int width, int height, int x, int y) {
    uint32_t word[5][4];
#pragma unroll
    for (int r = 0; r < 5; ++r) {
        const uint8_t* line = in + int64_t(mirrored(y + r - 2, height)) * width;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            word[r][k] = *reinterpret_cast<const uint32_t*>(line + av_clamp(x - 4 + 4 * k, 0, width - 4));
        // Just outside lie the pixels mirrored: x - 4 .. x - 1 are those of 4 .. 1, width .. those of width - 2 and less.
        if (x == 0) word[r][0] = __byte_perm(word[r][1], word[r][2], 0x1234u);
        if (x + 4 == width) word[r][2] = __byte_perm(word[r][0], word[r][1], 0x3456u);
        if (x + 8 == width) word[r][3] = __byte_perm(word[r][1], word[r][2], 0x3456u);
    }
    uint32_t column[16];  // x - 4 .. x + 11
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

// One level of the pyramids of two pictures: blurred by 1 4 6 4 1 each way, every second pixel, rounded as cv2.pyrDown.
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

// Where a window's first pixel lies, and how far between its neighbours it and all others do.
struct Window {
    int x, y;
    float tx, ty;
    bool is_inside;  // with the neighbours
};

__device__ inline Window window_at(const Level& level, float x, float y, int size) {
    const float left = floorf(x), top = floorf(y);
    const bool is_inside = left >= 0.0f && top >= 0.0f && left + float(size) < float(level.width) &&
                           top + float(size) < float(level.height);
    return {int(left), int(top), x - left, y - top, is_inside};
}

// The four neighbours, a byte each, of this thread's EACH pixels of a window of `size` x `size`; the edge goes on outside.
template <int EACH>
__device__ inline void neighbours(const Level& level, const Window& at, int size, uint32_t (&four)[EACH]) {
    if (at.is_inside) {  // one test for all: their loads are under way together
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            const int i = min(k * THREADS + av_thread(), size * size - 1);
            const uint8_t* p = level.data + int64_t(at.y + i / size) * level.width + at.x + i % size;
            four[k] = p[0] | uint32_t(p[1]) << 8 | uint32_t(p[level.width]) << 16 | uint32_t(p[level.width + 1]) << 24;
        }
        return;
    }
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int i = min(k * THREADS + av_thread(), size * size - 1), x = at.x + i % size, y = at.y + i / size;
        const int x0 = av_clamp(x, 0, level.width - 1), x1 = av_clamp(x + 1, 0, level.width - 1);
        const uint8_t* top = level.data + int64_t(av_clamp(y, 0, level.height - 1)) * level.width;
        const uint8_t* low = level.data + int64_t(av_clamp(y + 1, 0, level.height - 1)) * level.width;
        four[k] = top[x0] | uint32_t(top[x1]) << 8 | uint32_t(low[x0]) << 16 | uint32_t(low[x1]) << 24;
    }
}

__device__ inline float blend(uint32_t four, const Window& at) {
    const float a = av_byte_to_float(four, 0), b = av_byte_to_float(four, 1);
    const float c = av_byte_to_float(four, 2), d = av_byte_to_float(four, 3);
    const float upper = a + (b - a) * at.tx, lower = c + (d - c) * at.tx;
    return upper + (lower - upper) * at.ty;
}

// Sums over the block, the same bits in all its threads. `round` alternates: one barrier a sum.
__device__ inline void block_sums(FlowScratch& s, int& round, float& x, float& y, float& z) {
    for (int d = 16; d > 0; d /= 2) {
        x += __shfl_xor_sync(AV_FULL_WARP, x, d);
        y += __shfl_xor_sync(AV_FULL_WARP, y, d);
        z += __shfl_xor_sync(AV_FULL_WARP, z, d);
    }
    float(&partial)[WARPS][3] = s.partial[round & 1];
    ++round;
    if (av_lane() == 0) partial[av_warp()][0] = x, partial[av_warp()][1] = y, partial[av_warp()][2] = z;
    __syncthreads();
    x = partial[0][0], y = partial[0][1], z = partial[0][2];
#pragma unroll
    for (int w = 1; w < WARPS; ++w) x += partial[w][0], y += partial[w][1], z += partial[w][2];
}

struct Gradient {
    float x, y;
};
__device__ inline Gradient scharr(const float* patch, int side, int row, int column) {
    const float* p = patch + (row + 1) * side + column + 1;
    const float x = 3.0f * (p[1 - side] + p[1 + side]) + 10.0f * p[1] - 3.0f * (p[-1 - side] + p[-1 + side]) - 10.0f * p[-1];
    const float y = 3.0f * (p[side - 1] + p[side + 1]) + 10.0f * p[side] - 3.0f * (p[-side - 1] + p[-side + 1]) - 10.0f * p[-side];
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

// One level; EACH pixels of the window a thread.
template <int EACH>
__device__ void track_level(FlowScratch& s, int& round, const Level& from, const Level& to, float px, float py,
                            const Search& search, bool is_last, Track& track) {
    const int side = 2 * search.reach + 3, window = 2 * search.reach + 1, area = window * window;
    const Window source = window_at(from, px - float(search.reach + 1), py - float(search.reach + 1), side);
    uint32_t sample[EACH + 1];
    neighbours(from, source, side, sample);
    __syncthreads();
#pragma unroll
    for (int k = 0; k <= EACH; ++k)
        if (k * THREADS + av_thread() < side * side) s.patch[k * THREADS + av_thread()] = blend(sample[k], source);
    __syncthreads();
    float value[EACH], xx = 0.0f, xy = 0.0f, yy = 0.0f;
    Gradient gradient[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k) {
        const int i = k * THREADS + av_thread(), row = i / window, column = i % window;
        value[k] = 0.0f, gradient[k] = {0.0f, 0.0f};
        if (i < area) value[k] = s.patch[(row + 1) * side + column + 1], gradient[k] = scharr(s.patch, side, row, column);
        xx += gradient[k].x * gradient[k].x, xy += gradient[k].x * gradient[k].y, yy += gradient[k].y * gradient[k].y;
    }
    block_sums(s, round, xx, xy, yy);
    const float determinant = xx * yy - xy * xy;
    const float smaller = (xx + yy - sqrtf((xx - yy) * (xx - yy) + 4.0f * xy * xy)) / float(2 * area);
    track.flow_x *= 2.0f, track.flow_y *= 2.0f;
    if (smaller < search.eigenvalue_min || !(determinant > 0.0f)) {
        if (is_last) track.is_good = false;
        return;
    }
    const float scale = 1.0f / determinant;
    for (int turn = 0; turn < search.iterations; ++turn) {
        const Window at = window_at(to, px + track.flow_x - float(search.reach), py + track.flow_y - float(search.reach), window);
        uint32_t four[EACH];
        neighbours(to, at, window, four);
        float bx = 0.0f, by = 0.0f, error = 0.0f;
#pragma unroll
        for (int k = 0; k < EACH; ++k) {
            if (k * THREADS + av_thread() >= area) break;
            const float difference = value[k] - blend(four[k], at);
            bx += difference * gradient[k].x, by += difference * gradient[k].y, error += fabsf(difference);
        }
        block_sums(s, round, bx, by, error);
        track.error = error / float(area);
        const float step_x = (yy * bx - xy * by) * scale, step_y = (xx * by - xy * bx) * scale;
        track.flow_x += step_x, track.flow_y += step_y;
        if (step_x * step_x + step_y * step_y < search.step_min * search.step_min) break;
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
    int round = 0;
    for (int level = levels - 1; track.is_good && level >= 0; --level) {
        const Level from = level_of(before, before_halves, width, height, level);
        const Level to = level_of(after, after_halves, width, height, level);
        const float scale = 1.0f / float(1 << level), px = point.x * scale, py = point.y * scale;
        if ((2 * reach + 1) * (2 * reach + 1) <= 4 * THREADS)
            track_level<4>(scratch, round, from, to, px, py, search, level == 0, track);
        else track_level<8>(scratch, round, from, to, px, py, search, level == 0, track);
    }
    const float x = point.x + track.flow_x, y = point.y + track.flow_y;
    if (av_thread() != 0) return;
    out[blockIdx.x] = make_float2(x, y);
    residual[blockIdx.x] = track.error;
    status[blockIdx.x] = track.is_good && x >= 0.0f && y >= 0.0f && x <= float(width - 1) && y <= float(height - 1);
}
