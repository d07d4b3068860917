// Gradient of softmax in two passes, from packs of up to 16 bytes; one block per row of any length.
#include "av_softmax_backward.cuh"

template <class T, int LANES, int THREADS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS)
softmax_backward_vector(const T* gradient, const T* y, T* out, int64_t columns) {
    AV_SHARED_ARRAY(float, slots, 32);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    float sum = 0.0f;
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float a[LANES], b[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(gradient + begin + i), a);
        av_unpack<T, LANES>(av_load<T, LANES>(y + begin + i), b);
#pragma unroll
        for (int k = 0; k < LANES; ++k) sum += av_softmax_term<IS_LOG>(a[k], b[k]);
    }
    sum = av_reduce_block<av_sum, THREADS>(sum, slots);
    for (int64_t i = int64_t(threadIdx.x) * LANES; i < columns; i += THREADS * LANES) {
        float a[LANES], b[LANES];
        av_unpack<T, LANES>(av_load<T, LANES>(gradient + begin + i), a);
        av_unpack<T, LANES>(av_load<T, LANES>(y + begin + i), b);
#pragma unroll
        for (int k = 0; k < LANES; ++k) a[k] = av_softmax_gradient<IS_LOG>(a[k], b[k], sum);
        av_store<T, LANES>(out + begin + i, av_packed<T, LANES>(a));
    }
}
