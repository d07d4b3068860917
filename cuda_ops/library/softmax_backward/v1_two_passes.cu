// Gradient of softmax of each row: y * (gradient - sum of gradient * y), where y is the result of softmax. With IS_LOG,
// the gradient of log-softmax with the result y: gradient - e^y * sum of gradient. One block per row.
//
// There are two passes over both arrays in global memory: the sum, then the result.
#include "av_softmax_backward.cuh"

template <class T, bool IS_LOG>
__global__ void __launch_bounds__(256)
softmax_backward_two_passes(const T* gradient, const T* y, T* out, int64_t columns) {
    AV_SHARED_ARRAY(float, slots, 8);
    const int64_t begin = int64_t(blockIdx.x) * columns;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < columns; i += 256)
        sum += av_softmax_term<IS_LOG>(av_to_float(gradient[begin + i]), av_to_float(y[begin + i]));
    sum = av_reduce_block<av_sum, 256>(sum, slots);
    for (int64_t i = threadIdx.x; i < columns; i += 256)
        out[begin + i] = av_from_float<T>(av_softmax_gradient<IS_LOG>(av_to_float(gradient[begin + i]), av_to_float(y[begin + i]), sum));
}
