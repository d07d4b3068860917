// Common parts of the versions of the products of 8-bit matrices: the scales of the result, and how it is stored.
//
// out = scale_a scale_b of_rows[row] of_columns[column] (a b), rounded to bfloat16; a scale with a null pointer is 1.
#pragma once
#include "av_half_warpgroups.cuh"

struct av_scales {
    const float *scale_a, *scale_b, *of_rows, *of_columns;
};

// The scales of a lane's two rows (`av_store_square_of_sums`), and of columns on request.
struct av_scales_of_lane {
    const float* of_columns;
    int64_t column;
    int columns;
    float of_row[2];
    __device__ av_scales_of_lane(const av_scales& scales, int64_t row, int64_t first_column, int rows, int columns)
        : of_columns(scales.of_columns), column(first_column + av_lane() % 4 * 2), columns(columns) {
        const float whole = (scales.scale_a ? *scales.scale_a : 1.0f) * (scales.scale_b ? *scales.scale_b : 1.0f);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int64_t r = row + av_warp() % 4 * 16 + av_lane() / 4 + 8 * i;
            of_row[i] = whole * (scales.of_rows && r < rows ? scales.of_rows[r] : 1.0f);
        }
    }
    // The numbers of the j-th 8 columns from their sums.
    template <class S> __device__ void apply(const S* sum, int j, float (&values)[4]) const {
        float of_column[2] = {1.0f, 1.0f};
        if (of_columns) {
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (column + 8 * j + e < columns) of_column[e] = of_columns[column + 8 * j + e];
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) values[i] = float(sum[i]) * of_row[i / 2] * of_column[i % 2];
    }
};

// Computes all tiles of this block, and stores them by the copy engine: rows of `out` begin at multiples of 16 bytes. T
// and S are the types of elements and sums; with FRESH the sums are promoted every FRESH steps of 128
// (`av_multiply_by_roles`).
template <class T, class S, int COLUMNS, int STAGES, int GROUP, int FRESH>
__device__ inline void av_multiply_quantized(const av_tensor_map& a, const av_tensor_map& b, const av_scales& scales,
                                             const av_tensor_map& out, int rows, int columns, int depth, unsigned char* room) {
    T* const stages = av_boxes_in<T>(room);
    av_bf16* const boxes = reinterpret_cast<av_bf16*>(stages + STAGES * (2 + COLUMNS / AV_BOX) * AV_ELEMENTS_OF_BOX<T>);
    int used = 0;
    av_multiply_by_roles<T, COLUMNS, false, false, STAGES, 1, GROUP, FRESH, false, S>(
        a, b, rows, columns, depth, stages, [&](S(&sum)[COLUMNS / 2], int64_t row, int64_t column, int group) {
            const av_scales_of_lane own(scales, row, column, rows, columns);
            av_store_squares_by_engine<av_bf16, COLUMNS>(
                out, row, column, boxes + (group - 1) * 2 * AV_BOX_ELEMENTS, group, used,
                [&](int j, float(&values)[4]) { own.apply(sum + 4 * j, j, values); });
        });
    if (threadIdx.x >= 128 && threadIdx.x % 128 == 0) av_wait_until_stored();
}

// The same for an `out` whose rows may begin anywhere; it is stored from registers.
template <class T, class S, int COLUMNS, int STAGES, int GROUP, int FRESH, bool HAS_PAIRS>
__device__ inline void av_multiply_quantized_anywhere(const av_tensor_map& a, const av_tensor_map& b, const av_scales& scales,
                                                      av_bf16* out, int rows, int columns, int depth, unsigned char* room) {
    const av_bf16* const no_bias = nullptr;
    av_multiply_by_roles<T, COLUMNS, false, false, STAGES, 1, GROUP, FRESH, false, S>(
        a, b, rows, columns, depth, av_boxes_in<T>(room), [&](S(&sum)[COLUMNS / 2], int64_t row, int64_t column, int) {
            const av_scales_of_lane own(scales, row, column, rows, columns);
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; ++j) {
                float values[4];
                own.apply(sum + 4 * j, j, values);
                av_store_square_of_sums<av_bf16, HAS_PAIRS>(values, no_bias, out, row + av_warp() % 4 * 16, column + 8 * j, rows,
                                                            columns);
            }
        });
}
