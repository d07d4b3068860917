// Softmax of each row by a block or a cluster, which takes one row or row after row and loads rows ahead
// (av_row_ring.cuh).
//
// Each warp takes exponentials around its own maximum, so that one exchange of maximum and sum is enough for a row.
// With one row per block and no stages the rows are not loaded ahead; then other blocks of the processor load.
#include "av_softmax.cuh"
#include "rows/av_row_exchange.cuh"
#include "rows/av_row_ring.cuh"
#include "rows/av_row_softmax.cuh"

template <class T, int LANES, int VECTORS, int THREADS, int BLOCKS, int STAGES, int AT_ONCE, bool IS_LOG>
__global__ void __launch_bounds__(THREADS, AT_ONCE)
softmax_ahead(const T* x, T* out, int64_t rows, int columns) {
    using Ring = av_row_ring<T, LANES, VECTORS, THREADS, BLOCKS, STAGES>;
    using Exchange = av_row_exchange<THREADS, BLOCKS>;
    AV_DYNAMIC_SHARED(T, slots);
    AV_SHARED_ARRAY(uint64_t, pair_barriers, Exchange::BARRIERS_WITH_ROOM);
    AV_SHARED_ARRAY(float2, pairs, Exchange::PAIRS_WITH_ROOM);
    Exchange exchange;
    exchange.begin(pairs, pair_barriers);
    Ring ring;
    ring.place(columns, slots);
    ring.begin(x, rows);
    for (; ring.row < rows; ring.next()) {
        ring.take(av_minus_infinities(T()));
        const float most = av_reduce_warp<av_max>(av_max_of(ring.part)), own = av_softmax_shift(most);
        av_row_powers<T, LANES, VECTORS, IS_LOG> powers;
        const float sum = av_reduce_warp<av_sum>(powers.take(ring.part, own));
        const av_softmax_state all = av_softmax_join_pairs<T, Exchange::PAIRS>(exchange.of_all(make_float2(most, sum)));
        const float shift = av_softmax_shift(all.most);
        const float number = IS_LOG ? logf(all.sum) : expf(own - shift) * av_reciprocal(all.sum);
        powers.store(ring.part, shift, number, out + ring.offset(ring.row));
    }
}
