// LayerNorm or RMSNorm of rows of up to 32,768 elements: one block per row, with the row in its registers.
//
// The row is read once, by packs whose loads are all in flight together; the variance is summed from the registers.
#include "av_norm.cuh"
#include "av_reduce.cuh"

template <class T, int LANES, int VECTORS, int THREADS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS, 1024 / THREADS)
norm_block(const T* x, const T* weight, const T* bias, T* out, int columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots_mean, 32);
    AV_SHARED_ARRAY(float, slots_squares, 32);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    av_row_packs<T, LANES, VECTORS, THREADS> part;
    part.thread = threadIdx.x, part.columns = columns;
    part.load(x + begin);
    const float mean =
        IS_RMS ? 0.0f : av_reduce_block<av_sum, THREADS>(av_sum_of(part), slots_mean) / float(columns);
    part.stay_packed();
    const float squares = av_reduce_block<av_sum, THREADS>(av_sum_of_squares(part, mean), slots_squares);
    part.stay_packed();
    av_norm_store(part, mean, 1.0f / sqrtf(squares / float(columns) + epsilon), weight, bias, out + begin);
}
