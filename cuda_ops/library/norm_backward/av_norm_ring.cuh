// Common parts of the pipelined versions of the norms' gradients: the rows of a block are copied ahead into a ring of
// STAGES slots in shared memory.
//
// A thread only reads packs that it has copied itself, so that the copies need no barrier; a slot is filled again as
// soon as the thread has read it for the last time.
#pragma once
#include "av_async.cuh"
#include "av_norm_backward.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int STAGES, bool IS_RMS, int SUMS> struct av_norm_ring {
    static constexpr int WARPS = THREADS / 32, PART = THREADS * VECTORS * LANES;  // elements of a block's part of a row
    av_row_packs<T, LANES, VECTORS, THREADS> v, g;
    av_column_sums<VECTORS * LANES, SUMS> own;
    const T *x, *gradient, *weight;
    T* at;
    int64_t rows;
    int columns, first;  // of a row; the first one of this block
    float per_element;

    // Writes the number of elements of each warp to `counts`, for every thread to read after a barrier.
    __device__ void begin(float* ring, float* counts) {
        v.thread = g.thread = threadIdx.x, v.columns = g.columns = av_clamp(columns - first, 0, PART);
        own.clear();
        float count = 0.0f;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) count += v.has(i) ? float(LANES) : 0.0f;
        count = av_reduce_warp<av_sum>(count);
        if (av_lane() == 0) counts[av_warp()] = count;
        per_element = count > 0.0f ? 1.0f / count : 0.0f;
        at = reinterpret_cast<T*>(ring) + threadIdx.x * LANES;
    }
    __device__ T* slot(int stage, int array, int i) const {
        return at + ((stage * 2 + array) * VECTORS + i) * (THREADS * LANES);
    }
    __device__ void copy(int64_t row, int stage, int i) const {
        if (row >= rows || !v.has(i)) return;
        const int64_t from = row * columns + first + v.column(i);
        av_copy_async<T, LANES>(slot(stage, 0, i), x + from);
        av_copy_async<T, LANES>(slot(stage, 1, i), gradient + from);
    }
    // Starts the copies of the first rows, one group for each.
    __device__ void fill(int64_t row, int64_t step) const {
#pragma unroll
        for (int s = 0; s < STAGES; ++s) {
#pragma unroll
            for (int i = 0; i < VECTORS; ++i) copy(row + s * step, s, i);
            av_commit_copies();
        }
    }
    // The sums of the row at `stage` over this warp, around the mean of the warp's elements.
    __device__ av_part_state warp_sums(int stage) {
        av_part_state sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            v.at[i].clear();
            if (v.has(i)) v.at[i].load(slot(stage, 0, i));
        }
        if (!IS_RMS) sum.mean = av_reduce_warp<av_sum>(av_sum_of(v)) * per_element;
        v.stay_packed();
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            if (!v.has(i)) continue;
            float factor[LANES];
            av_weights(v, weight, i, factor);
            g.at[i].load(slot(stage, 1, i));
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float off = v.value(i, k) - sum.mean, h = g.value(i, k) * factor[k];
                sum.squares += off * off;
                sum.h += h;
                sum.h_off += h * off;
            }
        }
        sum.squares = av_reduce_warp<av_sum>(sum.squares);
        if (!IS_RMS) sum.h = av_reduce_warp<av_sum>(sum.h);
        sum.h_off = av_reduce_warp<av_sum>(sum.h_off);
        return sum;
    }
    // Stores the gradient of x of the row at `stage`, whose sums are `sum`, and starts the copy of row `later` to its
    // slots.
    __device__ void finish(int64_t row, int stage, av_part_state sum, float epsilon, T* dx, int64_t later) {
        const float scale = 1.0f / sqrtf(sum.squares / float(columns) + epsilon);
        const float mean_h = sum.h / float(columns), mean_hn = sum.h_off * scale / float(columns);
        T* const out = dx + row * columns + first;
#pragma unroll
        for (int i = 0; i < VECTORS; ++i) {
            if (!v.has(i)) continue;
            float factor[LANES], result[LANES];
            av_weights(v, weight, i, factor);
            v.at[i].load(slot(stage, 0, i));
            g.at[i].load(slot(stage, 1, i));
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                const float d = g.value(i, k), n = (v.value(i, k) - sum.mean) * scale;
                result[k] = scale * (d * factor[k] - (IS_RMS ? 0.0f : mean_h) - n * mean_hn);
                own.add(i * LANES + k, d * n, d);
            }
            av_store<T, LANES>(out + v.column(i), av_packed<T, LANES>(result));
            copy(later, stage, i);
        }
        av_commit_copies();
    }
    // Stores what the rows add to dweight and dbias.
    __device__ void store_sums(float* partials, int64_t part) const {
        if (SUMS > 0) own.template store<LANES>(v, partials + part * 2 * columns + first, columns);
    }
};
