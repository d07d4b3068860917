// A convolution as a product without a matrix of windows in memory (implicit GEMM): the copy engine loads patches of
// the pictures, shifted by each tap.
#include "products/av_windows.cuh"

template <class T, int COLUMNS, int STAGES, int GROUP, int PATCH_WIDE>
__global__ void __launch_bounds__(384, 1)
convolve_implicit(const __grid_constant__ av_tensor_map from, const __grid_constant__ av_tensor_map weights, const T* bias,
                  const __grid_constant__ av_tensor_map out, int pictures, int height, int width, int channels, int taps_high,
                  int taps_wide, int columns) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    av_convolve<T, COLUMNS, STAGES, GROUP, PATCH_WIDE>(
        from, weights, bias, out, av_pictures{pictures, height, width, channels, taps_high, taps_wide}, columns, room);
}
