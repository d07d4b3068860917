// out = softmax(a b + bias) or LayerNorm(a b + bias) over whole rows, in one kernel: the registers of a cluster hold 64
// rows.
#include "products/av_row_products.cuh"

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(384, 1)
matmul_rows_softmax(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                    const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_rows<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, BLOCKS>(a, b, bias, out, rows, columns, depth, room,
                                                                       av_softmax_of_rows{});
}

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int BLOCKS>
__global__ void __launch_bounds__(384, 1)
matmul_rows_layer_norm(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                       const T* weight, const T* shift, const __grid_constant__ av_tensor_map out, int rows, int columns,
                       int depth, float epsilon) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_multiply_rows<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, BLOCKS>(
        a, b, bias, out, rows, columns, depth, room, av_layer_norm_of_rows<T>{weight, shift, epsilon});
}
