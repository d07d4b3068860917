// Softmax of the LayerNorm of rows of up to 32,768 elements: one block per row, with the row in its registers.
//
// The row is read once and written once. In the registers, the normalized row replaces the row, and the exponentials
// replace the normalized row.
#include "av_norm_softmax.cuh"

template <class T, int LANES, int VECTORS, int THREADS>
__global__ void __launch_bounds__(THREADS)
norm_softmax_block(const T* x, const T* weight, const T* bias, T* out, int columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots, 4 * 32);
    av_row_part<T, LANES, VECTORS, THREADS> part;
    part.thread = threadIdx.x, part.columns = columns;
    part.load(x + int64_t(blockIdx.x) * columns, 0.0f);
    const float mean = av_reduce_block<av_sum, THREADS>(part.sum(), slots) / float(columns);
    const float squares = av_reduce_block<av_sum, THREADS>(av_squares_of(part, mean), slots + 32);
    av_normalize(part, mean, 1.0f / sqrtf(squares / float(columns) + epsilon), weight, bias);
    const float most = av_reduce_block<av_max, THREADS>(part.max(), slots + 64);
    av_softmax_exponentials<false>(part, most);
    part.scale(1.0f / av_reduce_block<av_sum, THREADS>(part.sum(), slots + 96));
    part.store(out + int64_t(blockIdx.x) * columns);
}
