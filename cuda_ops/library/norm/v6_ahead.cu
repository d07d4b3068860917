// LayerNorm or RMSNorm of each row by a block or a cluster, which takes one row or row after row and loads rows ahead
// (av_row_ring.cuh).
//
// Each warp finds mean and sum of squared distances of its own chunk; one exchange joins them to those of the row. With
// KEEPS_WEIGHTS a block copies its part of weight and bias to shared memory when it begins; otherwise it loads them for
// every row, after the exchange.
#include "rows/av_row_exchange.cuh"
#include "rows/av_row_moments.cuh"
#include "rows/av_row_ring.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, int AT_ONCE, bool KEEPS_WEIGHTS,
          bool HAS_WEIGHT, bool HAS_BIAS, bool IS_RMS>
__global__ void __launch_bounds__(THREADS, AT_ONCE)
norm_ahead(const T* x, const T* weight, const T* bias, T* out, int64_t rows, int columns, float epsilon) {
    using Ring = av_row_ring<T, LANES, VECTORS, THREADS, BLOCKS, STAGES>;
    using Exchange = av_row_exchange<THREADS, BLOCKS>;
    AV_DYNAMIC_SHARED(T, slots);
    AV_SHARED_ARRAY(uint64_t, pair_barriers, Exchange::BARRIERS_WITH_ROOM);
    AV_SHARED_ARRAY(float2, pairs, Exchange::PAIRS_WITH_ROOM);
    Exchange exchange;
    exchange.begin(pairs, pair_barriers);
    Ring ring;
    ring.place(columns, slots);
    T* const kept = slots + (STAGES * Ring::WARPS + av_warp()) * Ring::CHUNK;
    av_row_weights<T, LANES, VECTORS, KEEPS_WEIGHTS, HAS_WEIGHT> factors;
    av_row_weights<T, LANES, VECTORS, KEEPS_WEIGHTS, HAS_BIAS> more;
    factors.begin(ring.part, weight + ring.first, kept);
    more.begin(ring.part, bias + ring.first, kept + (HAS_WEIGHT ? Ring::WARPS * Ring::CHUNK : 0));
    av_commit_copies();  // before the rows' copies, so that they have arrived when a row has
    ring.begin(x, rows);
    for (; ring.row < rows; ring.next()) {
        ring.take(0u);
        const float2 own = av_moments_of_chunk<IS_RMS>(ring.part);
        const float2 all = av_join_chunks<Exchange::PAIRS, Ring::CHUNK, IS_RMS>(exchange.of_all(own), columns);
        const float scale = 1.0f / sqrtf(all.y / float(columns) + epsilon);
        ring.part.stay_packed();
        if (KEEPS_WEIGHTS && STAGES == 0) av_wait_for_copies<0>();
        T* const to = out + ring.offset(ring.row);
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            if (!ring.part.has(v)) continue;
            const int column = ring.part.column(v);
            const av_words<T, LANES> factor = factors.at(column), added = more.at(column);
            float result[LANES];
#pragma unroll
            for (int k = 0; k < LANES; ++k) {
                result[k] = (ring.part.value(v, k) - all.x) * scale;
                if (HAS_WEIGHT) result[k] *= factor.value(k);
                if (HAS_BIAS) result[k] += added.value(k);
            }
            av_words<T, LANES> words;
            words.round(result);
            words.store(to + column);
        }
    }
}
