// Residual and norm of rows of up to 16,384 elements: one block per row, with the sum in its registers.
//
// Both rows are read once; sum and result are written once.
#include "av_norm_residual.cuh"

template <class T, int LANES, int VECTORS, int THREADS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS)
norm_residual_block(const T* x, const T* residual, const T* weight, const T* bias, T* total, T* out, int columns,
                    float epsilon) {
    AV_SHARED_ARRAY(float, slots, 2 * 32);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    av_row_part<T, LANES, VECTORS, THREADS> part;
    part.thread = threadIdx.x, part.columns = columns;
    av_add_residual(part, x + begin, residual + begin, total + begin);
    const float mean = IS_RMS ? 0.0f : av_reduce_block<av_sum, THREADS>(part.sum(), slots) / float(columns);
    const float squares = av_reduce_block<av_sum, THREADS>(av_squares_of(part, mean), slots + 32);
    av_normalize(part, mean, 1.0f / sqrtf(squares / float(columns) + epsilon), weight, bias);
    part.store(out + begin);
}
