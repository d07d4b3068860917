// Gradient of softmax for long rows: a cluster of BLOCKS blocks per row, each with a part of both rows in its
// registers.
//
// The blocks exchange their sums through distributed shared memory and add them all in the same order.
#include "av_packs.cuh"
#include "av_softmax_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, bool IS_LOG>
__global__ void __launch_bounds__(THREADS)
softmax_backward_cluster(const T* gradient, const T* y, T* out, int columns) {
    AV_SHARED_ARRAY(float, slots, 32);
    AV_SHARED_ARRAY(float2, parts, BLOCKS);
    av_cluster_begin();
    av_row_packs<T, LANES, VECTORS, THREADS> a, b;
    const int first = int(av_cluster_rank()) * a.COLUMNS;
    const int64_t begin = int64_t(blockIdx.x / BLOCKS) * columns + first;
    a.thread = b.thread = threadIdx.x, a.columns = b.columns = av_clamp(columns - first, 0, a.COLUMNS);
    a.load(gradient + begin);
    b.load(y + begin);
    const float own = av_reduce_block<av_sum, THREADS>(av_softmax_terms<IS_LOG>(a, b), slots);
    av_exchange_in_cluster<BLOCKS>(make_float2(own, 0.0f), parts);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < BLOCKS; ++i) sum += parts[i].x;
    a.stay_packed(), b.stay_packed();
    av_softmax_backward_store<IS_LOG>(a, b, sum, out + begin);
}
