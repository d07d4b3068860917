// Mean and sum of squared distances to it, of the chunk of a row that a warp holds, and of all chunks of the row.
#pragma once
#include "av_async.cuh"
#include "av_packs.cuh"
#include "av_reduce.cuh"

// (mean, sum of squared distances); with IS_RMS (0, sum of squares).
template <bool IS_RMS, class Part> __device__ inline float2 av_moments_of_chunk(Part& part) {
    float mean = 0.0f;
    if (!IS_RMS) mean = av_reduce_warp<av_sum>(av_sum_of(part)) / float(part.columns > 0 ? part.columns : 1);
    part.stay_packed();
    return make_float2(mean, av_reduce_warp<av_sum>(av_sum_of_squares(part, mean)));
}
// Joins those of the row's PAIRS chunks of CHUNK elements (Chan, Golub and LeVeque, 1979): a chunk's mean counts once
// for each of its elements, and its distance to the row's mean is added to its sum of squares.
template <int PAIRS, int CHUNK, bool IS_RMS> __device__ inline float2 av_join_chunks(const float2* pairs, int columns) {
    constexpr int EACH = (PAIRS + 31) / 32;
    float2 own[EACH];
    float count[EACH], mean = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const int at = i * 32 + av_lane();
        own[i] = at < PAIRS ? pairs[at] : make_float2(0.0f, 0.0f);
        count[i] = at < PAIRS ? float(av_clamp(columns - at * CHUNK, 0, CHUNK)) : 0.0f;
        if (!IS_RMS) mean += own[i].x * count[i];
    }
    if (!IS_RMS) mean = av_reduce_warp<av_sum>(mean) / float(columns);
#pragma unroll
    for (int i = 0; i < EACH; ++i) {
        const float off = own[i].x - mean;
        squares += IS_RMS ? own[i].y : own[i].y + off * off * count[i];
    }
    return make_float2(mean, av_reduce_warp<av_sum>(squares));
}
// The weights, or biases, of a chunk: copied to shared memory ahead, or loaded from global memory for each row.
template <class T, int LANES, int VECTORS, bool IS_KEPT, bool IS_THERE> struct av_row_weights {
    const T* from;

    // `kept`: shared memory for a chunk. A thread reads only what it has copied itself, so there is no barrier; it
    // waits for its copies before it calls `at`.
    __device__ void begin(const av_row_packs<T, LANES, VECTORS, 32>& part, const T* global, T* kept) {
        from = IS_KEPT ? kept : global;
        if constexpr (IS_KEPT && IS_THERE)
            for (int v = 0; v < VECTORS; ++v)
                if (part.has(v)) av_copy_async<T, LANES>(kept + part.column(v), global + part.column(v));
    }
    __device__ av_words<T, LANES> at(int column) const {
        av_words<T, LANES> words;
        words.clear();
        if constexpr (IS_THERE) words.load(from + column);
        return words;
    }
};
