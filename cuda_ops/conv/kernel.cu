// Convolution of one or two inputs with bias, SiLU and residual, in half precision, channels last. It is an implicit
// GEMM: rows of the product are output pixels, columns are output channels, and the sum runs over the window's places
// and the input's channels, which are gathered while they are copied into shared memory.
//
// Two inputs replace one that would have to be concatenated first (torch.cat): the channels of the second follow those
// of the first, which may be half as high and wide (nearest upsampling). Either may be a slice of a wider picture.
//
// A block computes a tile of the output with 8 warps; the copies of the next steps are in flight while the tensor cores
// work on the current one. In shared memory the 16-byte pieces of a row are permuted by the row's number (swizzled), so
// that neither copies nor matrix loads have bank conflicts. Where there are fewer tiles than processors, `gridDim.z`
// blocks split a tile's sum (split-K): each writes its part, and the last block to arrive adds the parts in their
// order, so that the result does not depend on which block is last.
// With one picture at a time, a network of a hundred small convolutions is not limited by arithmetic, but by the time
// that each kernel takes to begin and end, and by the rate at which one processor reads from the L2 cache.
#include "av_matrix.cuh"

constexpr int THREADS = 256;

struct Input {  // of fewer than 2^31 elements
    const av_half* at;
    int pitch, channels, halvings;  // distance of pixels in elements; halvings 1: half as high and wide
};
struct Shape {
    int height, width;           // of the input
    int out_height, out_width;
    int pixels, out_channels;    // of the output, all images
    int size, stride, is_silu;   // of the window; size is at most 5, and 1 if an input is half as large
};

#ifdef AV_ON_CPU
inline float conv_silu(float x) { return x / (1.0f + expf(-x)); }
#else
__device__ inline float conv_silu(float x) { return __fdividef(x, 1.0f + __expf(-x)); }
#endif

template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_> struct Tile {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_;
    static constexpr int WK = THREADS / 32 / (WM * WN);      // warps that share a part of the tile, split a step's sum
    static constexpr int MI = BM / WM / 16, NI = BN / WN / 8;  // 16x8 products per warp
    static constexpr int PIECES = BK / 8, ROWS = THREADS / PIECES;
    static constexpr int OF_A = (BM + ROWS - 1) / ROWS, OF_B = (BN + ROWS - 1) / ROWS;  // copies per thread and step
    static constexpr int STAGE = (BM + BN) * BK;
    static constexpr int SUM_PITCH = BN + 4;
};

// Offset of piece `piece` (8 elements) of row `row` in shared memory, swizzled.
template <int PIECES> __device__ inline int placed(int row, int piece) { return (row * PIECES + (piece ^ (row & 7))) * 8; }

// Copies a thread's pieces of each step into shared memory. The addresses are prepared before the first step: for each
// pixel the address of its window's first place, and one bit per place of the window that tells whether it lies in the
// picture. A piece then takes only a few instructions.
template <class T> struct Loader {
    Input first, second;
    const Shape& shape;
    const av_half* weights;  // of this thread's first output channel
    int depth, k, channel, tap_y, tap_x;            // length of the sum, and this thread's next position in it
    int pixel[T::OF_A], half_pixel[T::OF_A];        // index of the window's first place, in pictures of either size
    uint32_t inside[T::OF_A];                       // one bit per place of the window: inside the picture
    uint32_t has_weights;                           // one bit per row of weights: an existing output channel

    __device__ Loader(const Input& a, const Input& b, const av_half* w, const Shape& s, int k_from)
        : first(a), second(b), shape(s), has_weights(0u) {
        const int channels = a.channels + b.channels;
        depth = s.size * s.size * channels;
        k = k_from + av_thread() % T::PIECES * 8;
        const int tap = k / channels;
        channel = k - tap * channels, tap_y = tap / s.size, tap_x = tap - tap_y * s.size;
#pragma unroll
        for (int i = 0; i < T::OF_A; ++i) place(i, blockIdx.x * T::BM + row_of(i));
        const int column = blockIdx.y * T::BN + row_of(0);
        weights = w + int64_t(column) * depth;
#pragma unroll
        for (int i = 0; i < T::OF_B; ++i)
            if (column + i * T::ROWS < s.out_channels) has_weights |= 1u << i;
    }
    __device__ static int row_of(int i) { return av_thread() / T::PIECES + i * T::ROWS; }

    __device__ void place(int i, int out_pixel) {
        const int of_image = shape.out_height * shape.out_width, image = out_pixel / of_image;
        const int rest = out_pixel - image * of_image, out_y = rest / shape.out_width;
        const int y = out_y * shape.stride - shape.size / 2, x = (rest - out_y * shape.out_width) * shape.stride - shape.size / 2;
        pixel[i] = (image * shape.height + y) * shape.width + x;
        half_pixel[i] = (image * (shape.height / 2) + y / 2) * (shape.width / 2) + x / 2;
        uint32_t columns = 0u;
        inside[i] = 0u;
#pragma unroll 1
        for (int dx = 0; dx < shape.size; ++dx) columns |= uint32_t(x + dx >= 0 && x + dx < shape.width) << dx;
#pragma unroll 1
        for (int dy = 0; dy < shape.size; ++dy)
            if (y + dy >= 0 && y + dy < shape.height && out_pixel < shape.pixels) inside[i] |= columns << dy * shape.size;
    }

    // Copies the weights of the step that comes `ahead` steps after the next one.
    __device__ void copy_weights(av_half* stage, int ahead) const {
        const int at = k + ahead * T::BK;
        const uint32_t there = at < depth ? has_weights : 0u;
#pragma unroll
        for (int i = 0; i < T::OF_B; ++i)
            if (T::BN % T::ROWS == 0 || row_of(i) < T::BN)
                av_copy_16(stage + T::BM * T::BK + placed<T::PIECES>(row_of(i), av_thread() % T::PIECES),
                           weights + (i * T::ROWS * depth + at), (there >> i & 1u) != 0u);
    }

    // Copies the pixels of the next step, then advances to the step after it.
    __device__ void copy_pixels(av_half* stage) {
        const bool is_first = channel < first.channels, is_half = is_first && first.halvings != 0;
        const int pitch = is_first ? first.pitch : second.pitch, tap = tap_y * shape.size + tap_x;
        const av_half* from = is_first ? first.at + channel : second.at + (channel - first.channels);
        const int shift = tap_y * shape.width + tap_x;
        const uint32_t bit = k < depth ? 1u << tap : 0u;
#pragma unroll
        for (int i = 0; i < T::OF_A; ++i)
            if (T::BM % T::ROWS == 0 || row_of(i) < T::BM)
                av_copy_16(stage + placed<T::PIECES>(row_of(i), av_thread() % T::PIECES),
                           from + ((is_half ? half_pixel[i] : pixel[i]) + shift) * pitch, (inside[i] & bit) != 0u);
        k += T::BK;
        const int channels = first.channels + second.channels;
        for (channel += T::BK; channel >= channels; channel -= channels)
            if (++tap_x == shape.size) tap_x = 0, ++tap_y;
    }
};

// The products of one step, by one warp.
template <class T> __device__ inline void multiply(float (&sum)[T::MI][T::NI][4], const av_half* stage) {
    const int warp = av_warp(), lane = av_lane(), of_k = warp / (T::WM * T::WN), place = warp % (T::WM * T::WN);
    const int m0 = place / T::WN * (T::BM / T::WM), n0 = place % T::WN * (T::BN / T::WN);
    const av_half* b_stage = stage + T::BM * T::BK;
#pragma unroll
    for (int part = 0; part < T::BK / 16 / T::WK; ++part) {
        const int piece = 2 * (part * T::WK + of_k);
        uint32_t a[T::MI][4], b[T::NI / 2][4];
#pragma unroll
        for (int i = 0; i < T::MI; ++i)
            av_load_matrices(a[i], stage + placed<T::PIECES>(m0 + 16 * i + lane % 16, piece + lane / 16));
#pragma unroll
        for (int i = 0; i < T::NI / 2; ++i)
            av_load_matrices(b[i], b_stage + placed<T::PIECES>(n0 + 16 * i + lane % 8 + lane / 16 * 8, piece + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < T::MI; ++i)
#pragma unroll
            for (int j = 0; j < T::NI; ++j) av_multiply_add(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}

// Writes the warps' sums to shared memory, (WK, BM, SUM_PITCH).
template <class T> __device__ inline void leave_sums(float* to, const float (&sum)[T::MI][T::NI][4]) {
    const int warp = av_warp(), lane = av_lane(), of_k = warp / (T::WM * T::WN), place = warp % (T::WM * T::WN);
    const int m0 = place / T::WN * (T::BM / T::WM) + lane / 4, n0 = place % T::WN * (T::BN / T::WN) + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < T::MI; ++i)
#pragma unroll
        for (int j = 0; j < T::NI; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<float2*>(&to[(of_k * T::BM + m0 + 16 * i + 8 * h) * T::SUM_PITCH + n0 + 8 * j]) =
                    make_float2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
}

struct Output {
    const av_half* bias;
    const av_half* residual;  // or null
    av_half* at;
    int residual_pitch, pitch;
};

struct alignas(16) Eight {
    av_half at[8];
};

// Bias, SiLU and residual for up to 8 channels of a pixel.
__device__ inline void finish(float (&value)[8], int pixel, int channel, const Shape& shape, const Output& out) {
    const int count = min(8, shape.out_channels - channel);
    const bool is_whole = count == 8 && (out.pitch & 7) == 0 && (out.residual_pitch & 7) == 0;
    av_half* to = out.at + int64_t(pixel) * out.pitch + channel;
    const av_half* residual = out.residual == nullptr ? nullptr : out.residual + int64_t(pixel) * out.residual_pitch + channel;
    Eight made, more = {}, biases = {};
    if (is_whole) {
        biases = *reinterpret_cast<const Eight*>(out.bias + channel);
        if (residual != nullptr) more = *reinterpret_cast<const Eight*>(residual);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < count) biases.at[i] = out.bias[channel + i];
            if (i < count && residual != nullptr) more.at[i] = residual[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const float x = value[i] + av_to_float(biases.at[i]);
        made.at[i] = av_to_half((shape.is_silu ? conv_silu(x) : x) + av_to_float(more.at[i]));
    }
    if (is_whole) {
        *reinterpret_cast<Eight*>(to) = made;
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i)
        if (i < count) to[i] = made.at[i];
}

// Whether this block is the last of the blocks that share the tile; then all of them have written their parts.
__device__ inline bool is_last(unsigned* arrived, int& shared) {
    __syncthreads();
    if (av_thread() == 0) {
        shared = av_add_acquire_release(arrived, 1u) == gridDim.z - 1u;
        if (shared) *arrived = 0u;
    }
    __syncthreads();
    return shared != 0;
}

// Sums `steps` steps of the tile; writes the warps' sums to shared memory in the layout of `leave_sums`.
template <class T> __device__ inline void sum_up(Loader<T>& loader, av_half* stages, int steps) {
    float sum[T::MI][T::NI][4] = {};
#pragma unroll 1
    for (int i = 0; i < T::STAGES - 1; ++i)
        if (i < steps) loader.copy_weights(stages + i * T::STAGE, i);  // no kernel writes weights: no need to wait
    av_wait_for_earlier();
#pragma unroll 1
    for (int i = 0; i < T::STAGES - 1; ++i) {
        if (i < steps) loader.copy_pixels(stages + i * T::STAGE);
        av_copies_commit();
    }
    for (int step = 0; step < steps; ++step) {
        av_copies_wait<T::STAGES - 2>();
        __syncthreads();
        if (step + T::STAGES - 1 < steps) {
            av_half* free = stages + (step + T::STAGES - 1) % T::STAGES * T::STAGE;
            loader.copy_weights(free, 0);
            loader.copy_pixels(free);
        }
        av_copies_commit();
        multiply<T>(sum, stages + step % T::STAGES * T::STAGE);
    }
    av_copies_wait<0>();
    __syncthreads();
    leave_sums<T>(reinterpret_cast<float*>(stages), sum);
    __syncthreads();
}

// Writes the block's part of a shared sum to global memory, (BM, BN).
template <class T> __device__ inline void leave_part(const float* sums, float* part) {
    for (int i = av_thread(); i < T::BM * T::BN / 4; i += THREADS) {
        const int row = i / (T::BN / 4), column = i % (T::BN / 4) * 4;
        float4 total = *reinterpret_cast<const float4*>(&sums[row * T::SUM_PITCH + column]);
#pragma unroll
        for (int k = 1; k < T::WK; ++k) {
            const float4 more = *reinterpret_cast<const float4*>(&sums[(k * T::BM + row) * T::SUM_PITCH + column]);
            total = make_float4(total.x + more.x, total.y + more.y, total.z + more.z, total.w + more.w);
        }
        __stcg(reinterpret_cast<float4*>(part) + i, total);
    }
}

// Writes the tile's results, from the warps' sums or, where blocks share the tile, from the blocks' `parts` in their
// order.
template <class T> __device__ inline void finish_tile(const float* sums, const float* parts, const Shape& shape, const Output& out) {
    constexpr int EIGHTS = T::BN / 8;
    const bool is_alone = gridDim.z == 1u;
    const int rounds = is_alone ? T::WK : int(gridDim.z);
    for (int i = av_thread(); i < T::BM * EIGHTS; i += THREADS) {
        const int row = i / EIGHTS, column = i % EIGHTS * 8;
        const int pixel = blockIdx.x * T::BM + row, channel = blockIdx.y * T::BN + column;
        if (pixel >= shape.pixels || channel >= shape.out_channels) continue;
        float value[8] = {};
#pragma unroll 2
        for (int k = 0; k < rounds; ++k) {
            float4 low, high;
            if (is_alone) {
                const float4* at = reinterpret_cast<const float4*>(&sums[(k * T::BM + row) * T::SUM_PITCH + column]);
                low = at[0], high = at[1];
            } else {
                const float4* at = reinterpret_cast<const float4*>(parts + (k * T::BM + row) * T::BN + column);
                low = __ldcg(at), high = __ldcg(at + 1);
            }
            const float eight[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
            for (int c = 0; c < 8; ++c) value[c] += eight[c];
        }
        finish(value, pixel, channel, shape, out);
    }
}

template <class T> __device__ void convolve(const Input& first, const Input& second, const av_half* weights, const Shape& shape,
                                            const Output& out, float* parts, unsigned* control) {
    AV_DYNAMIC_SHARED(av_half, stages);
    AV_SHARED(int, shared);
    const int depth = shape.size * shape.size * (first.channels + second.channels);
    const int all = (depth + T::BK - 1) / T::BK, each = (all + gridDim.z - 1) / gridDim.z;
    const int from = min(all, int(blockIdx.z) * each);
    Loader<T> loader(first, second, weights, shape, from * T::BK);
    sum_up<T>(loader, stages, min(all, from + each) - from);
    const float* sums = reinterpret_cast<const float*>(stages);
    const int tile = blockIdx.y * gridDim.x + blockIdx.x;
    float* of_tile = parts + int64_t(tile) * gridDim.z * (T::BM * T::BN);
    if (gridDim.z > 1u) {
        leave_part<T>(sums, of_tile + blockIdx.z * (T::BM * T::BN));
        if (!is_last(control + 1 + tile, shared)) return;
    }
    finish_tile<T>(sums, of_tile, shape, out);
}

#define CONV                                                                                                              \
    const av_half *x, int pitch, int channels, int halvings, const av_half *y, int y_pitch, int y_channels,               \
        const av_half *weights, const av_half *bias, const av_half *residual, int residual_pitch, av_half *out,           \
        int out_pitch, int height, int width, int out_height, int out_width, int pixels, int out_channels, int size,      \
        int stride, int is_silu, float *parts, unsigned *control
#define CONVOLVE(...)                                                                                                     \
    convolve<Tile<__VA_ARGS__>>({x, pitch, channels, halvings}, {y, y_pitch, y_channels, 0}, weights,                     \
                                {height, width, out_height, out_width, pixels, out_channels, size, stride, is_silu},      \
                                {bias, residual, out, residual_pitch, out_pitch}, parts, control)

// Template arguments: rows, columns and depth of a tile, warps along rows and along columns, stages; they must match
// TILES in host.py.
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x64(CONV) { CONVOLVE(128, 64, 64, 4, 2, 4); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x32(CONV) { CONVOLVE(128, 32, 64, 4, 1, 4); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_128x16(CONV) { CONVOLVE(128, 16, 64, 4, 1, 4); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_64x64(CONV) { CONVOLVE(64, 64, 128, 2, 2, 3); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_64x32(CONV) { CONVOLVE(64, 32, 128, 4, 1, 4); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_32x64(CONV) { CONVOLVE(32, 64, 128, 2, 2, 4); }
extern "C" __global__ void __launch_bounds__(256, 2) conv_32x32(CONV) { CONVOLVE(32, 32, 128, 2, 2, 4); }
