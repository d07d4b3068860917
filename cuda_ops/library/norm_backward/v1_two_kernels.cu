// Gradients of LayerNorm, or of RMSNorm with IS_RMS (mean 0). With n = (x - mean) * scale and h = gradient * weight:
//   dx = scale * (h - mean of h - n * mean of h * n)    dweight = sum over rows of gradient * n    dbias = sum of gradient
//
// One kernel computes dx, with a block per row. A second kernel sums each column over all rows, with a thread per
// column.
#include "av_reduce.cuh"
#include "av_vector.cuh"

// `moments` gets mean and scale of each row, for the second kernel.
template <class T, bool IS_RMS>
__global__ void __launch_bounds__(256)
norm_backward_rows(const T* gradient, const T* x, const T* weight, T* dx, float* moments, int64_t columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots_mean, 8);
    AV_SHARED_ARRAY(float, slots_squares, 8);
    AV_SHARED_ARRAY(float, slots_h, 8);
    AV_SHARED_ARRAY(float, slots_hn, 8);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    float mean = 0.0f, squares = 0.0f, sum_h = 0.0f, sum_hn = 0.0f;
    if (!IS_RMS) {
        for (int64_t i = threadIdx.x; i < columns; i += 256) mean += av_to_float(x[begin + i]);
        mean = av_reduce_block<av_sum, 256>(mean, slots_mean) / float(columns);
    }
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float off = av_to_float(x[begin + i]) - mean;
        squares += off * off;
    }
    squares = av_reduce_block<av_sum, 256>(squares, slots_squares);
    const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float h = av_to_float(gradient[begin + i]) * (weight != nullptr ? av_to_float(weight[i]) : 1.0f);
        sum_h += h;
        sum_hn += h * ((av_to_float(x[begin + i]) - mean) * scale);
    }
    sum_h = IS_RMS ? 0.0f : av_reduce_block<av_sum, 256>(sum_h, slots_h) / float(columns);
    sum_hn = av_reduce_block<av_sum, 256>(sum_hn, slots_hn) / float(columns);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float h = av_to_float(gradient[begin + i]) * (weight != nullptr ? av_to_float(weight[i]) : 1.0f);
        const float n = (av_to_float(x[begin + i]) - mean) * scale;
        dx[begin + i] = av_from_float<T>(scale * (h - sum_h - n * sum_hn));
    }
    if (threadIdx.x == 0) moments[2 * blockIdx.x] = mean, moments[2 * blockIdx.x + 1] = scale;
}

template <class T>
__global__ void __launch_bounds__(256)
norm_backward_columns(const T* gradient, const T* x, const float* moments, T* dweight, T* dbias, int64_t rows,
                      int64_t columns) {
    const int64_t column = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (column >= columns) return;
    float sum_weight = 0.0f, sum_bias = 0.0f;
    for (int64_t row = 0; row < rows; ++row) {
        const float g = av_to_float(gradient[row * columns + column]);
        sum_bias += g;
        sum_weight += g * ((av_to_float(x[row * columns + column]) - moments[2 * row]) * moments[2 * row + 1]);
    }
    if (dweight != nullptr) dweight[column] = av_from_float<T>(sum_weight);
    if (dbias != nullptr) dbias[column] = av_from_float<T>(sum_bias);
}
