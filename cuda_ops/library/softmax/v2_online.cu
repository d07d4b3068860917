// Softmax of each row in two passes instead of three, from packs of up to 16 bytes; one block per row.
//
// Maximum and sum are computed together: when a greater element is found, the sum is rescaled to it (av_softmax.cuh).
// Rows may have any length.
#include "av_softmax.cuh"
#include "av_vector.cuh"

template <class T, int LANES, int THREADS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS) softmax_online(const T* x, T* out, int64_t columns) {
    AV_SHARED_ARRAY(float2, slots, 32);
    const T* row = x + int64_t(blockIdx.x) * columns;
    T* row_out = out + int64_t(blockIdx.x) * columns;
    av_softmax_state own = {-INFINITY, 0.0f};
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float value[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(row + i), value);
        float most = own.most;
#pragma unroll
        for (int k = 0; k < LANES; ++k) most = fmaxf(most, value[k]);
        const float shift = av_softmax_shift(most);
        own = {most, own.sum * expf(own.most - shift)};
#pragma unroll
        for (int k = 0; k < LANES; ++k) own.sum += expf(value[k] - shift);
    }
    own = av_softmax_join_block<THREADS>(own, slots);
    const float shift = av_softmax_shift(own.most), factor = 1.0f / own.sum, log_sum = logf(own.sum);
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float value[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(row + i), value);
#pragma unroll
        for (int k = 0; k < LANES; ++k) value[k] = IS_LOG ? (value[k] - shift) - log_sum : expf(value[k] - shift) * factor;
        av_store<T, LANES>(row_out + i, av_packed<T, LANES>(value));
    }
}
