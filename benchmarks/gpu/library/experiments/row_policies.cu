// Softmax and the norms of full rows, one block for each, with a choice of how memory is loaded and stored: kernels of
// an experiment (`python -m benchmarks.gpu.library.experiments.row_policies`). Each is version 6 without copies to
// shared memory.
#include "av_softmax.cuh"
#include "rows/av_row_exchange.cuh"
#include "rows/av_row_moments.cuh"
#include "rows/av_row_softmax.cuh"

// How a pack is loaded. The names are PTX's: nc, a read-only load; L1 and L2, what the caches keep longest or evict
// first.
enum policy_load { PLAIN, NC, ONCE, ONCE_256B, L1_FIRST, L1_LAST, L2_FIRST, BOTH_FIRST, BOTH_LAST };
// How a pack is stored: as it is, evicted first from both caches (.cs), from the L2 cache, or kept there longest.
enum policy_store { STORE_PLAIN, STORE_CS, STORE_L2_FIRST, STORE_L2_LAST };
// When weights are loaded: with each pack of the result, all before the first is stored, or before the exchange.
enum policy_weights { EACH, TOGETHER, BEFORE };

#ifndef AV_ON_CPU
__device__ inline uint64_t l2_first() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
__device__ inline uint64_t l2_last() {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
#define POLICY_LOAD(how)                                                  \
    asm volatile("ld.global" how ".v4.u32 {%0, %1, %2, %3}, [%4];"        \
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(p))
#define POLICY_LOAD_BY(how, policy)                                                      \
    asm volatile("ld.global" how ".L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"    \
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(p), "l"(policy))
template <int HOW> __device__ inline void policy_load_words(const void* p, uint32_t (&word)[4]) {
    if constexpr (HOW == PLAIN) POLICY_LOAD("");
    if constexpr (HOW == NC) POLICY_LOAD(".nc");
    if constexpr (HOW == ONCE) POLICY_LOAD(".nc.L1::no_allocate");
    if constexpr (HOW == ONCE_256B) POLICY_LOAD(".nc.L1::no_allocate.L2::256B");
    if constexpr (HOW == L1_FIRST) POLICY_LOAD(".L1::evict_first");
    if constexpr (HOW == L1_LAST) POLICY_LOAD(".L1::evict_last");
    if constexpr (HOW == L2_FIRST) POLICY_LOAD_BY("", l2_first());
    if constexpr (HOW == BOTH_FIRST) POLICY_LOAD_BY(".L1::evict_first", l2_first());
    if constexpr (HOW == BOTH_LAST) POLICY_LOAD_BY(".L1::evict_last", l2_last());
}
#define POLICY_STORE(how)                                                                                          \
    asm volatile("st.global" how ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(word[0]), "r"(word[1]), "r"(word[2]), \
                 "r"(word[3]) : "memory")
#define POLICY_STORE_BY(policy)                                                                               \
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "r"(word[0]), "r"(word[1]), \
                 "r"(word[2]), "r"(word[3]), "l"(policy) : "memory")
template <int HOW> __device__ inline void policy_store_words(void* p, const uint32_t (&word)[4]) {
    if constexpr (HOW == STORE_PLAIN) POLICY_STORE("");
    if constexpr (HOW == STORE_CS) POLICY_STORE(".cs");
    if constexpr (HOW == STORE_L2_FIRST) POLICY_STORE_BY(l2_first());
    if constexpr (HOW == STORE_L2_LAST) POLICY_STORE_BY(l2_last());
}
#else
template <int HOW> inline void policy_load_words(const void* p, uint32_t (&word)[4]) {
    for (int i = 0; i < 4; ++i) word[i] = static_cast<const uint32_t*>(p)[i];
}
template <int HOW> inline void policy_store_words(void* p, const uint32_t (&word)[4]) {
    for (int i = 0; i < 4; ++i) static_cast<uint32_t*>(p)[i] = word[i];
}
#endif

// The chunk of a row that this warp takes: VECTORS packs of 16 bytes for each lane.
template <class T, int LANES, int VECTORS, int LOAD>
__device__ inline av_row_packs<T, LANES, VECTORS, 32> policy_chunk(const T* chunk) {
    static_assert(sizeof(T) * LANES == 16, "whole packs");
    av_row_packs<T, LANES, VECTORS, 32> part;
    part.thread = av_lane(), part.columns = part.COLUMNS;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) policy_load_words<LOAD>(chunk + part.column(v), part.at[v].word);
    return part;
}

// LayerNorm or RMSNorm. AGAIN: how the row is loaded for the result; -1: it stays in registers.
template <class T, int LANES, int VECTORS, int THREADS, int AT_ONCE, int LOAD, int AGAIN, int STORE, int WEIGHTS,
          bool IS_RMS>
__global__ void __launch_bounds__(THREADS, AT_ONCE)
norm_policies(const T* x, const T* weight, const T* bias, T* out, float epsilon) {
    using Exchange = av_row_exchange<THREADS, 1>;
    constexpr int CHUNK = 32 * VECTORS * LANES, COLUMNS = VECTORS * LANES * THREADS;
    constexpr int TOGETHER_MAX = WEIGHTS == EACH ? 1 : VECTORS;
    AV_SHARED_ARRAY(uint64_t, pair_barriers, Exchange::BARRIERS_WITH_ROOM);
    AV_SHARED_ARRAY(float2, pairs, Exchange::PAIRS_WITH_ROOM);
    Exchange exchange;
    exchange.begin(pairs, pair_barriers);
    const int first = av_warp() * CHUNK;
    const int64_t begin = int64_t(blockIdx.x) * COLUMNS + first;
    auto part = policy_chunk<T, LANES, VECTORS, LOAD>(x + begin);
    av_words<T, LANES> factor[TOGETHER_MAX], more[TOGETHER_MAX];
    const auto load_weights = [&](int v, int to) {
        policy_load_words<NC>(weight + first + part.column(v), factor[to].word);
        if constexpr (!IS_RMS) policy_load_words<NC>(bias + first + part.column(v), more[to].word);
    };
    const auto load_all_weights = [&] {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) load_weights(v, v % TOGETHER_MAX);
    };
    if constexpr (WEIGHTS == BEFORE) load_all_weights();
    const float2 own = av_moments_of_chunk<IS_RMS>(part);
    const float2 all = av_join_chunks<Exchange::PAIRS, CHUNK, IS_RMS>(exchange.of_all(own), COLUMNS);
    const float scale = 1.0f / sqrtf(all.y / float(COLUMNS) + epsilon);
    part.stay_packed();
    if constexpr (AGAIN >= 0 && WEIGHTS != EACH) part = policy_chunk<T, LANES, VECTORS, AGAIN>(x + begin);
    if constexpr (WEIGHTS == TOGETHER) load_all_weights();
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if constexpr (AGAIN >= 0 && WEIGHTS == EACH) policy_load_words<AGAIN>(x + begin + part.column(v), part.at[v].word);
        if constexpr (WEIGHTS == EACH) load_weights(v, 0);
        float result[LANES];
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            result[k] = (part.value(v, k) - all.x) * scale * factor[v % TOGETHER_MAX].value(k);
            if (!IS_RMS) result[k] += more[v % TOGETHER_MAX].value(k);
        }
        av_words<T, LANES> words;
        words.round(result);
        policy_store_words<STORE>(out + begin + part.column(v), words.word);
    }
}

// Softmax, with the exponentials in registers.
template <class T, int LANES, int VECTORS, int THREADS, int AT_ONCE, int LOAD, int STORE>
__global__ void __launch_bounds__(THREADS, AT_ONCE) softmax_policies(const T* x, T* out) {
    using Exchange = av_row_exchange<THREADS, 1>;
    AV_SHARED_ARRAY(uint64_t, pair_barriers, Exchange::BARRIERS_WITH_ROOM);
    AV_SHARED_ARRAY(float2, pairs, Exchange::PAIRS_WITH_ROOM);
    Exchange exchange;
    exchange.begin(pairs, pair_barriers);
    const int64_t begin = (int64_t(blockIdx.x) * (THREADS / 32) + av_warp()) * (32 * VECTORS * LANES);
    const auto part = policy_chunk<T, LANES, VECTORS, LOAD>(x + begin);
    const float most = av_reduce_warp<av_max>(av_max_of(part)), own = av_softmax_shift(most);
    av_row_powers<T, LANES, VECTORS, false> powers;
    const float sum = av_reduce_warp<av_sum>(powers.take(part, own));
    const av_softmax_state all = av_softmax_join_pairs<T, Exchange::PAIRS>(exchange.of_all(make_float2(most, sum)));
    const float number = expf(own - av_softmax_shift(all.most)) * av_reciprocal(all.sum);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        float result[LANES];
#pragma unroll
        for (int k = 0; k < LANES; ++k) result[k] = powers.at[v * LANES + k] * number;
        av_words<T, LANES> words;
        words.round(result);
        policy_store_words<STORE>(out + begin + part.column(v), words.word);
    }
}
