// Gradients of LayerNorm or RMSNorm for rows of up to 8,192 elements: a block takes rows in turn. Its registers hold
// the row, and the contributions of all its rows to dweight and dbias.
//
// Between two uses of the shared slots there are at least two barriers of a row, so the slots need no barrier of their
// own.
#include "av_norm_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, bool IS_RMS, int SUMS>
__global__ void __launch_bounds__(THREADS)
norm_backward_block(const T* gradient, const T* x, const T* __restrict__ weight, T* dx, float* partials, int64_t rows,
                    int columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots_mean, 32);
    AV_SHARED_ARRAY(float, slots_squares, 32);
    AV_SHARED_ARRAY(float2, slots_h, 32);
    av_row_packs<T, LANES, VECTORS, THREADS> g, v;
    g.thread = v.thread = threadIdx.x, g.columns = v.columns = columns;
    av_column_sums<VECTORS * LANES, SUMS> own;
    own.clear();
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        v.load(x + row * columns);
        g.load(gradient + row * columns);
        const float mean =
            IS_RMS ? 0.0f : av_reduce_block<av_sum, THREADS>(av_sum_of(v), slots_mean) / float(columns);
        v.stay_packed();
        const float squares = av_reduce_block<av_sum, THREADS>(av_sum_of_squares(v, mean), slots_squares);
        const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
        v.stay_packed();
        float2 h = av_reduce_pair_block<THREADS>(av_sums_of_h(g, v, weight, mean, scale), slots_h);
        h = make_float2(IS_RMS ? 0.0f : h.x / float(columns), h.y / float(columns));
        v.stay_packed(), g.stay_packed();
        av_norm_backward_store(g, v, weight, mean, scale, h, dx + row * columns, own);
    }
    if (SUMS > 0) own.template store<LANES>(v, partials + int64_t(blockIdx.x) * 2 * columns, columns);
}
