// Common parts of the versions of the norms' gradients, with n = (x - mean) * scale and h = gradient * weight
// (formulas: v1_two_kernels.cu).
#pragma once
#include "av_packs.cuh"
#include "av_reduce.cuh"

// Sums for dweight (and dbias with SUMS == 2) of the columns of one thread, in its registers; with SUMS == 0 none.
template <int EACH, int SUMS> struct av_column_sums {
    float at[SUMS > 0 ? SUMS * EACH : 1];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < SUMS * EACH; ++i) at[i] = 0.0f;
    }
    __device__ void add(int i, float for_weight, float for_bias) {
        if (SUMS > 0) at[i] += for_weight;
        if (SUMS > 1) at[EACH + i] += for_bias;
    }
    // dbias is stored `columns` floats after dweight.
    template <int LANES, class Part> __device__ void store(const Part& part, float* out, int64_t columns) const {
#pragma unroll
        for (int s = 0; s < SUMS; ++s)
#pragma unroll
            for (int i = 0; i < EACH; i += LANES) {
                if (part.has(i / LANES))
                    av_store<float, LANES>(out + s * columns + part.column(i / LANES), av_packed<float, LANES>(at + s * EACH + i));
            }
    }
};

// These sums in shared memory: element i of thread t is at i * THREADS + t, so that the threads of a warp use all
// banks.
template <int EACH, int THREADS, int SUMS> struct av_shared_column_sums {
    float* at;

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < SUMS * EACH; ++i) at[i * THREADS + threadIdx.x] = 0.0f;
    }
    __device__ void add(int i, float for_weight, float for_bias) {
        if (SUMS > 0) at[i * THREADS + threadIdx.x] += for_weight;
        if (SUMS > 1) at[(EACH + i) * THREADS + threadIdx.x] += for_bias;
    }
    template <int LANES, class Part> __device__ void store(const Part& part, float* out, int64_t columns) const {
#pragma unroll
        for (int s = 0; s < SUMS; ++s)
#pragma unroll
            for (int i = 0; i < EACH; ++i)
                if (part.has(i / LANES))
                    out[s * columns + part.column(i / LANES) + i % LANES] = at[(s * EACH + i) * THREADS + threadIdx.x];
    }
};

template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline void av_weights(const av_row_packs<T, LANES, VECTORS, THREADS>& x, const T* weight, int v, float* out) {
    if (weight != nullptr) {
        av_unpack<T, LANES>(av_load<T, LANES>(weight + x.column(v)), out);
    } else {
#pragma unroll
        for (int k = 0; k < LANES; ++k) out[k] = 1.0f;
    }
}

// Sums of h and of h * n over this thread's elements.
template <class T, int LANES, int VECTORS, int THREADS>
__device__ inline float2 av_sums_of_h(const av_row_packs<T, LANES, VECTORS, THREADS>& gradient,
                                      const av_row_packs<T, LANES, VECTORS, THREADS>& x, const T* weight, float mean,
                                      float scale) {
    float sum_h = 0.0f, sum_hn = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!x.has(v)) continue;
        float factor[LANES];
        av_weights(x, weight, v, factor);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const float h = gradient.value(v, k) * factor[k];
            sum_h += h;
            sum_hn += h * ((x.value(v, k) - mean) * scale);
        }
    }
    return make_float2(sum_h, sum_hn);
}

// Stores dx = scale * (h - means.x - n * means.y), and adds to the sums of the columns.
template <class T, int LANES, int VECTORS, int THREADS, class Sums>
__device__ inline void av_norm_backward_store(const av_row_packs<T, LANES, VECTORS, THREADS>& gradient,
                                              const av_row_packs<T, LANES, VECTORS, THREADS>& x, const T* weight,
                                              float mean, float scale, float2 means, T* dx, Sums& sums) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (!x.has(v)) continue;
        float factor[LANES], result[LANES];
        av_weights(x, weight, v, factor);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            const float g = gradient.value(v, k), n = (x.value(v, k) - mean) * scale;
            result[k] = scale * (g * factor[k] - means.x - n * means.y);
            sums.add(v * LANES + k, g * n, g);
        }
        av_store<T, LANES>(dx + x.column(v), av_packed<T, LANES>(result));
    }
}

// Mean, sum of squares around it, sum of h, and sum of h * (x - mean).
struct av_part_state {
    float mean, squares, h, h_off;
};

// The state of a row; each lane holds a part with `count` elements.
template <bool IS_RMS> __device__ inline av_part_state av_join_lanes(float count, av_part_state part, float total) {
    const float mean = IS_RMS ? 0.0f : av_reduce_warp<av_sum>(count * part.mean) / total;
    const float apart = part.mean - mean;
    return {mean, av_reduce_warp<av_sum>(part.squares + count * apart * apart),
            IS_RMS ? 0.0f : av_reduce_warp<av_sum>(part.h), av_reduce_warp<av_sum>(part.h_off + apart * part.h)};
}

// The second pass: out = sum of each column over `parts` rows of partial sums. A block takes 32 * LANES columns, and
// each of its SLICES warps every SLICES-th row; blockIdx.y is 0 for dweight and 1 for dbias.
template <class T, int LANES, int SLICES>
__global__ void __launch_bounds__(SLICES * 32)
norm_backward_finish(const float* partials, T* dweight, T* dbias, int parts, int64_t columns) {
    constexpr int WIDTH = 32 * LANES;
    AV_SHARED_ARRAY(float, sums, SLICES * WIDTH);
    T* out = blockIdx.y == 0 ? dweight : dbias;
    if (out == nullptr) return;
    const int64_t first = int64_t(blockIdx.x) * WIDTH, column = first + av_lane() * LANES;
    float sum[LANES];
#pragma unroll
    for (int k = 0; k < LANES; ++k) sum[k] = 0.0f;
    if (column < columns) {
        const float* const at = partials + blockIdx.y * columns + column;
#pragma unroll 8
        for (int p = av_warp(); p < parts; p += SLICES) {
            float one[LANES];
            av_unpack<float, LANES>(av_load<float, LANES>(at + int64_t(p) * 2 * columns), one);
#pragma unroll
            for (int k = 0; k < LANES; ++k) sum[k] += one[k];
        }
    }
    av_store<float, LANES>(sums + av_warp() * WIDTH + av_lane() * LANES, av_packed<float, LANES>(sum));
    __syncthreads();
    if (av_thread() >= WIDTH || first + av_thread() >= columns) return;
    float total = 0.0f;
#pragma unroll
    for (int s = 0; s < SLICES; ++s) total += sums[s * WIDTH + av_thread()];
    out[first + av_thread()] = av_from_float<T>(total);
}
