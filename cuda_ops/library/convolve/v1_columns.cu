// A convolution as a product: a first kernel writes the windows of all pixels as rows of a matrix (im2col); a second
// kernel multiplies it by the weights, like matmul_half's v6_persistent.cu.
#include "products/av_half_warpgroups.cuh"

// Row `pixel` of the matrix has the channels of all taps, tap by tap, with zeros outside of the picture. A thread
// copies packs of 8 channels.
template <class T>
__global__ void __launch_bounds__(256)
convolve_windows(const T* from, T* to, int pictures, int height, int width, int channels, int taps_high, int taps_wide) {
    const int packs = channels / 8 * taps_high * taps_wide;
    const int64_t count = int64_t(pictures) * height * width * packs, apart = int64_t(gridDim.x) * blockDim.x;
    for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += apart) {
        const int64_t pixel = i / packs;
        const int pack = int(i % packs), tap = pack / (channels / 8), channel = pack % (channels / 8) * 8;
        const int x = int(pixel % width) + tap % taps_wide - taps_wide / 2;
        const int y = int(pixel / width % height) + tap / taps_wide - taps_high / 2;
        const int64_t row = (pixel / width / height * height + y) * width + x;
        const bool is_inside = x >= 0 && x < width && y >= 0 && y < height;
        av_pack<T, 8> found = {};
        if (is_inside) found = av_load<T, 8>(from + row * channels + channel);
        av_store<T, 8>(to + i * 8, found);
    }
}

template <class T, int COLUMNS, int STAGES, int GROUP>
__global__ void __launch_bounds__(384, 1)
convolve_product(const __grid_constant__ av_tensor_map windows, const __grid_constant__ av_tensor_map weights, const T* bias,
                 const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    T* const stages = av_boxes_in<T>(room);
    int used = 0;
    T* const boxes = stages + STAGES * (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS;
    av_multiply_by_roles<T, COLUMNS, false, false, STAGES, 1, GROUP>(
        windows, weights, rows, columns, depth, stages, [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group) {
            T* const own = boxes + (group - 1) * 2 * AV_BOX_ELEMENTS;
            av_store_group_by_engine(sum, bias, out, row, column, columns, own, group, used);
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}
