// Pyramidal Lucas-Kanade tracking (Bouguet, "Pyramidal implementation of the Lucas Kanade feature tracker", 2001).
//
// A warp tracks a point through all levels: the template lies in shared memory, sampled once a level; gradients are
// Scharr's on the sampled template (sampling and differentiating commute); sums by shuffles, no barrier at all.
#include "av_cuda.cuh"

constexpr int REACH_MAX = 15, SIDE_MAX = 2 * REACH_MAX + 3, WARPS = 4;

struct FlowScratch {
    float patch[WARPS][SIDE_MAX * SIDE_MAX];
};

__device__ inline int mirrored(int i, int size) {
    if (size == 1) return 0;
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

// One level of the pyramid: blurred by 1 4 6 4 1 each way, every second pixel, rounded as cv2.pyrDown rounds.
extern "C" __global__ void __launch_bounds__(256)
pyramid_down(const uint8_t* in, int width, int height, uint8_t* out) {
    const int wide = (width + 1) / 2, tall = (height + 1) / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= wide * tall) return;
    const int x = i % wide * 2, y = i / wide * 2;
    int column[5];
    for (int k = 0; k < 5; ++k) column[k] = mirrored(x + k - 2, width);
    int sum = 128;
    for (int r = 0; r < 5; ++r) {
        const uint8_t* line = in + int64_t(mirrored(y + r - 2, height)) * width;
        const int row = line[column[0]] + line[column[4]] + 4 * (line[column[1]] + line[column[3]]) + 6 * line[column[2]];
        sum += row * (r == 2 ? 6 : (r == 1 || r == 3 ? 4 : 1));
    }
    out[i] = uint8_t(sum >> 8);
}

struct Level {
    const uint8_t* data;
    int width, height;
    __device__ float at(float x, float y) const {  // bilinear; the edge goes on outside
        const float fx = floorf(x), fy = floorf(y), tx = x - fx, ty = y - fy;
        const int x0 = av_clamp(int(fx), 0, width - 1), x1 = av_clamp(int(fx) + 1, 0, width - 1);
        const uint8_t* top = data + int64_t(av_clamp(int(fy), 0, height - 1)) * width;
        const uint8_t* low = data + int64_t(av_clamp(int(fy) + 1, 0, height - 1)) * width;
        const float a = float(top[x0]), b = float(top[x1]), c = float(low[x0]), d = float(low[x1]);
        const float upper = a + (b - a) * tx, lower = c + (d - c) * tx;
        return upper + (lower - upper) * ty;
    }
};

__device__ inline Level level_of(const uint8_t* pyramid, int width, int height, int level) {
    for (; level > 0; --level) {
        pyramid += int64_t(width) * height;
        width = (width + 1) / 2, height = (height + 1) / 2;
    }
    return {pyramid, width, height};
}

__device__ inline float warp_sum(float x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(AV_FULL_WARP, x, d);
    return x;
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

extern "C" __global__ void __launch_bounds__(128)
lucas_kanade(const uint8_t* before, const uint8_t* after, int width, int height, int levels, const float2* points,
             float2* out, float* residual, uint8_t* status, int count, int reach, int iterations, float step_min,
             float eigenvalue_min) {
    AV_SHARED(FlowScratch, scratch);
    const int index = blockIdx.x * WARPS + av_warp();
    if (index >= count) return;  // the whole warp
    float* patch = scratch.patch[av_warp()];
    const float2 point = points[index];
    const int side = 2 * reach + 3, window = 2 * reach + 1, area = window * window;
    float x = point.x, y = point.y, error = 0.0f;
    bool good = point.x >= 0.0f && point.y >= 0.0f && point.x <= float(width - 1) && point.y <= float(height - 1);
    float flow_x = 0.0f, flow_y = 0.0f;
    for (int level = levels - 1; good && level >= 0; --level) {
        const Level from = level_of(before, width, height, level), to = level_of(after, width, height, level);
        const float scale = 1.0f / float(1 << level), px = point.x * scale, py = point.y * scale;
        __syncwarp();
        for (int i = av_lane(); i < side * side; i += 32)
            patch[i] = from.at(px + float(i % side - reach - 1), py + float(i / side - reach - 1));
        __syncwarp();
        float xx = 0.0f, xy = 0.0f, yy = 0.0f;
        for (int i = av_lane(); i < area; i += 32) {
            const Gradient g = scharr(patch, side, i / window, i % window);
            xx += g.x * g.x, xy += g.x * g.y, yy += g.y * g.y;
        }
        xx = warp_sum(xx), xy = warp_sum(xy), yy = warp_sum(yy);
        const float determinant = xx * yy - xy * xy;
        const float smaller = (xx + yy - sqrtf((xx - yy) * (xx - yy) + 4.0f * xy * xy)) / float(2 * area);
        flow_x *= 2.0f, flow_y *= 2.0f;
        if (smaller < eigenvalue_min || !(determinant > 0.0f)) {
            if (level == 0) good = false;
            continue;
        }
        for (int turn = 0; turn < iterations; ++turn) {
            float bx = 0.0f, by = 0.0f;
            error = 0.0f;
            for (int i = av_lane(); i < area; i += 32) {
                const int row = i / window, column = i % window;
                const float difference = patch[(row + 1) * side + column + 1] -
                                         to.at(px + flow_x + float(column - reach), py + flow_y + float(row - reach));
                const Gradient g = scharr(patch, side, row, column);
                bx += difference * g.x, by += difference * g.y, error += fabsf(difference);
            }
            bx = warp_sum(bx), by = warp_sum(by), error = warp_sum(error) / float(area);
            const float step_x = (yy * bx - xy * by) / determinant, step_y = (xx * by - xy * bx) / determinant;
            flow_x += step_x, flow_y += step_y;
            if (step_x * step_x + step_y * step_y < step_min * step_min) break;
        }
    }
    x += flow_x, y += flow_y;
    good = good && x >= 0.0f && y >= 0.0f && x <= float(width - 1) && y <= float(height - 1);
    if (av_lane() == 0) {
        out[index] = make_float2(x, y);
        residual[index] = error;
        status[index] = good;
    }
}
