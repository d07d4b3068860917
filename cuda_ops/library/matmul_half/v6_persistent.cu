// out = a b + bias like v5_roles.cu, but with as many blocks as run at the same time, which compute all tiles: the
// stages of the next tile are filled while the sums of the present tile are stored. Sums are written to shared memory
// (stmatrix), from where the copy engine stores them.
#include "products/av_half_warpgroups.cuh"

template <class T, int COLUMNS, bool A_IS_WIDE, bool B_IS_WIDE, int STAGES, int GROUP>
__global__ void __launch_bounds__(384, 1)
matmul_half_persistent(const __grid_constant__ av_tensor_map a, const __grid_constant__ av_tensor_map b, const T* bias,
                       const __grid_constant__ av_tensor_map out, int rows, int columns, int depth) {
    AV_DYNAMIC_SHARED(unsigned char, room);
    T* const stages = av_boxes_in<T>(room);
    int used = 0;
    T* const boxes = stages + STAGES * (2 + COLUMNS / AV_BOX) * AV_BOX_ELEMENTS;
    av_multiply_by_roles<T, COLUMNS, A_IS_WIDE, B_IS_WIDE, STAGES, 1, GROUP>(
        a, b, rows, columns, depth, stages, [&](float(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group) {
            T* const own = boxes + (group - 1) * 2 * AV_BOX_ELEMENTS;
            av_store_group_by_engine(sum, bias, out, row, column, columns, own, group, used);
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}
