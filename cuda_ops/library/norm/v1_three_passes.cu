// LayerNorm of each row, (x - mean) / sqrt(variance + epsilon) * weight + bias, or RMSNorm with IS_RMS: mean 0.
//
// One block per row, and three passes over the row in global memory: the mean, the mean square of the distances to it,
// the result. `weight` and `bias` may be null.
#include "av_reduce.cuh"
#include "av_vector.cuh"

template <class T, bool IS_RMS>
__global__ void __launch_bounds__(256)
norm_three_passes(const T* x, const T* weight, const T* bias, T* out, int64_t columns, float epsilon) {
    AV_SHARED_ARRAY(float, slots_mean, 8);
    AV_SHARED_ARRAY(float, slots_squares, 8);
    const T* row = x + int64_t(blockIdx.x) * columns;
    T* row_out = out + int64_t(blockIdx.x) * columns;
    float mean = 0.0f, squares = 0.0f;
    if (!IS_RMS) {
        for (int64_t i = threadIdx.x; i < columns; i += 256) mean += av_to_float(row[i]);
        mean = av_reduce_block<av_sum, 256>(mean, slots_mean) / float(columns);
    }
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        const float off = av_to_float(row[i]) - mean;
        squares += off * off;
    }
    squares = av_reduce_block<av_sum, 256>(squares, slots_squares);
    const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        float y = (av_to_float(row[i]) - mean) * scale;
        if (weight != nullptr) y *= av_to_float(weight[i]);
        if (bias != nullptr) y += av_to_float(bias[i]);
        row_out[i] = av_from_float<T>(y);
    }
}
