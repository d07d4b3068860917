// Gradients of LayerNorm or RMSNorm (formulas: v1_two_kernels.cu) in one pass over the rows and one over partial sums.
//
// As many blocks as the GPU runs at the same time take rows in turn. A block adds the contributions of its rows to
// dweight and dbias to its own row of partial sums in global memory; a small kernel adds up these rows. A row is read
// in packs, up to three times; it may have any length.
#include "av_norm_backward.cuh"
#include "av_welford.cuh"

template <class T, int LANES, int THREADS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS)
norm_backward_partials(const T* gradient, const T* x, const T* weight, T* dx, float* partials, int64_t rows,
                       int64_t columns, float epsilon) {
    AV_SHARED_ARRAY(av_moments, slots, 32);
    AV_SHARED_ARRAY(float, slots_h, 32);
    AV_SHARED_ARRAY(float, slots_hn, 32);
    float* own = partials == nullptr ? nullptr : partials + int64_t(blockIdx.x) * 2 * columns;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        const int64_t begin = row * columns;
        av_moments m = {0.0f, 0.0f, 0.0f};
        for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
            float value[LANES];
            av_unpack<T, LANES>(av_load<T, LANES>(x + begin + i), value);
            m = av_moments_join(m, av_moments_of<LANES, IS_RMS>(value));
        }
        m = av_moments_join_block<THREADS>(m, slots);
        const float scale = 1.0f / sqrtf(m.squares / float(columns) + epsilon);
        float sum_h = 0.0f, sum_hn = 0.0f;
        for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
            float value[LANES], g[LANES], factor[LANES];
            av_unpack<T, LANES>(av_load<T, LANES>(x + begin + i), value);
            av_unpack<T, LANES>(av_load<T, LANES>(gradient + begin + i), g);
            if (weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + i), factor);
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float h = weight != nullptr ? g[k] * factor[k] : g[k];
                sum_h += h;
                sum_hn += h * ((value[k] - m.mean) * scale);
            }
        }
        sum_h = IS_RMS ? 0.0f : av_reduce_block<av_sum, THREADS>(sum_h, slots_h) / float(columns);
        sum_hn = av_reduce_block<av_sum, THREADS>(sum_hn, slots_hn) / float(columns);
        for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
            float value[LANES], g[LANES], factor[LANES];
            av_unpack<T, LANES>(av_load<T, LANES>(x + begin + i), value);
            av_unpack<T, LANES>(av_load<T, LANES>(gradient + begin + i), g);
            if (weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + i), factor);
            av_pack<float, LANES> for_weight = {}, for_bias = {};
            if (own != nullptr && row != blockIdx.x) {
                for_weight = av_load<float, LANES>(own + i);
                if (!IS_RMS) for_bias = av_load<float, LANES>(own + columns + i);
            }
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float h = weight != nullptr ? g[k] * factor[k] : g[k], n = (value[k] - m.mean) * scale;
                value[k] = scale * (h - sum_h - n * sum_hn);
                for_weight.at[k] += g[k] * n;
                for_bias.at[k] += g[k];
            }
            if (own != nullptr) av_store<float, LANES>(own + i, for_weight);
            if (own != nullptr && !IS_RMS) av_store<float, LANES>(own + columns + i, for_bias);
            av_store<T, LANES>(dx + begin + i, av_packed<T, LANES>(value));
        }
    }
}
