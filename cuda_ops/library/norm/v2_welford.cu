// LayerNorm or RMSNorm in two passes, from packs of up to 16 bytes; one block per row of any length.
//
// A thread keeps count, mean and sum of squared distances of its elements (Welford, 1962), pack by pack; the states of
// threads are joined (Chan, Golub and LeVeque, 1979). Unlike the mean of squares minus the square of the mean, this
// loses no digits if the mean is large.
#include "av_welford.cuh"
#include "av_vector.cuh"

template <class T, int LANES, int THREADS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS)
norm_welford(const T* x, const T* weight, const T* bias, T* out, int64_t columns, float epsilon) {
    AV_SHARED_ARRAY(av_moments, slots, 32);
    const T* row = x + int64_t(blockIdx.x) * columns;
    T* row_out = out + int64_t(blockIdx.x) * columns;
    av_moments own = {0.0f, 0.0f, 0.0f};
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float value[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(row + i), value);
        own = av_moments_join(own, av_moments_of<LANES, IS_RMS>(value));
    }
    own = av_moments_join_block<THREADS>(own, slots);
    const float scale = 1.0f / sqrtf(own.squares / float(columns) + epsilon);
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float value[LANES], factor[LANES], more[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(row + i), value);
        if (weight != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(weight + i), factor);
        if (bias != nullptr) av_unpack<T, LANES>(av_load<T, LANES>(bias + i), more);
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            value[k] = (value[k] - own.mean) * scale;
            if (weight != nullptr) value[k] *= factor[k];
            if (bias != nullptr) value[k] += more[k];
        }
        av_store<T, LANES>(row_out + i, av_packed<T, LANES>(value));
    }
}
