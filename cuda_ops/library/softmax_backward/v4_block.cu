// Gradient of softmax for rows of up to 16,384 elements: one block per row, with both rows in its registers.
#include "av_packs.cuh"
#include "av_softmax_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS)
softmax_backward_block(const T* gradient, const T* y, T* out, int columns) {
    AV_SHARED_ARRAY(float, slots, 32);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    av_row_packs<T, LANES, VECTORS, THREADS> a, b;
    a.thread = b.thread = threadIdx.x, a.columns = b.columns = columns;
    a.load(gradient + begin);
    b.load(y + begin);
    const float sum = av_reduce_block<av_sum, THREADS>(av_softmax_terms<IS_LOG>(a, b), slots);
    a.stay_packed(), b.stay_packed();
    av_softmax_backward_store<IS_LOG>(a, b, sum, out + begin);
}
