// out = scales (a b) for 8-bit floats like v1_whole.cu, but more exact: the sums of the tensor cores have few bits, so
// new ones are started every step (128 of the depth) and added up in float32. Both sums need registers, so the tile is
// narrower.
#include "products/av_quantized.cuh"

template <class T, class S, int COLUMNS, int STAGES, int GROUP>
__global__ void __launch_bounds__(384, 1)
matmul_quantized_engine(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const float* scale_a,
                        const float* scale_b, const float* of_rows, const float* of_columns,
                        const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_quantized<T, S, COLUMNS, STAGES, GROUP, 1>(a, b, {scale_a, scale_b, of_rows, of_columns}, out, rows, columns,
                                                           depth, room);
}

template <class T, class S, int COLUMNS, int STAGES, int GROUP, bool HAS_PAIRS>
__global__ void __launch_bounds__(384, 1)
matmul_quantized_anywhere(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const float* scale_a,
                          const float* scale_b, const float* of_rows, const float* of_columns, av_bf16* out, int rows,
                          int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_quantized_anywhere<T, S, COLUMNS, STAGES, GROUP, 1, HAS_PAIRS>(
        a, b, {scale_a, scale_b, of_rows, of_columns}, out, rows, columns, depth, room);
}
