// Sum of x and a residual, and LayerNorm or RMSNorm of the sum before it is rounded; one block per row.
//
// Up to three passes over both rows in global memory: the sum and its mean, the squares around it, the result.
#include "av_reduce.cuh"
#include "av_vector.cuh"

template <class T, bool IS_RMS>
__global__ void __launch_bounds__(256)
norm_residual_passes(const T* x, const T* residual, const T* weight, const T* bias, T* total, T* out, int64_t columns,
                     float epsilon) {
    AV_SHARED_ARRAY(float, slots, 2 * 8);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    const auto sum = [&](int64_t i) { return av_to_float(x[begin + i]) + av_to_float(residual[begin + i]); };
    float mean = 0.0f, squares = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        mean += sum(i);
        total[begin + i] = av_from_float<T>(sum(i));
    }
    mean = IS_RMS ? 0.0f : av_reduce_block<av_sum, 256>(mean, slots) / float(columns);
    for (int64_t i = threadIdx.x; i < columns; i += 256) squares += (sum(i) - mean) * (sum(i) - mean);
    squares = av_reduce_block<av_sum, 256>(squares, slots + 8);
    const float scale = 1.0f / sqrtf(squares / float(columns) + epsilon);
    for (int64_t i = threadIdx.x; i < columns; i += 256) {
        float y = (sum(i) - mean) * scale;
        if (weight != nullptr) y *= av_to_float(weight[i]);
        if (bias != nullptr) y += av_to_float(bias[i]);
        out[begin + i] = av_from_float<T>(y);
    }
}
