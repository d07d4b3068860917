// The best rows of a one-to-one detection head, from what its last convolutions leave at each level: box corners, score and
// class of the places and classes that score highest, best first.
//
// What a network would do in some thirty small kernels (put levels together, sigmoid, corners, best class of each place, best
// places, best classes of these) is one pass over the scores: the best pairs of place and class are among the best places'
// anyway. A pair above the least score, compared before the sigmoid, leaves a key (its score's 16 bits, then its place, in
// their order); the block that ends last picks the best keys, digit by digit where there are more than fit, and orders them
// by counting. Scores that nobody wants cost one comparison.
#include "av_cuda.cuh"

constexpr int THREADS = 256, EACH = 8, LEVELS = 4, LIMIT_MAX = 1024, DIGITS = 5;
constexpr uint64_t PLACES = 0xffffffull;  // a key's lower 24 bits

struct Level {
    const av_half *boxes, *scores;  // (places, 4): left, top, right, bottom, in strides; (places, classes)
    int width, places;
    float stride;
};

struct BestShared {
    uint64_t chosen[LIMIT_MAX];
    unsigned bins[256], count, is_last;
    uint64_t prefix;
    unsigned wanted;
};

struct alignas(16) Halves {
    av_half at[EACH];
};

__device__ inline uint64_t key_of(av_half score, unsigned place) {
    const unsigned bits = score.bits == 0x8000u ? 0u : score.bits;  // there are two zeros
    const unsigned order = (bits & 0x8000u) != 0u ? bits ^ 0xffffu : bits | 0x8000u;
    return uint64_t(order) << 24 | (PLACES - place);
}
__device__ inline av_half score_of(uint64_t key) {
    const unsigned order = unsigned(key >> 24) & 0xffffu;
    return {uint16_t((order & 0x8000u) != 0u ? order & 0x7fffu : order ^ 0xffffu)};
}

// Keys of this block's scores above `least`; `first`: pairs of the levels before. A warp takes its places at once.
__device__ void list_keys(const Level& level, int block, int classes, int first, float least, uint64_t* keys, unsigned* count) {
    const int size = level.places * classes, at = (block * THREADS + av_thread()) * EACH;
    Halves scores = {};
    if (at + EACH <= size && (reinterpret_cast<uint64_t>(level.scores) & 15u) == 0)
        scores = *reinterpret_cast<const Halves*>(level.scores + at);
    else
        for (int i = 0; i < EACH; ++i)
            if (at + i < size) scores.at[i] = level.scores[at + i];
    unsigned found = 0u;
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if (at + i < size && av_to_float(scores.at[i]) > least) found |= 1u << i;
    if (!__any_sync(AV_FULL_WARP, found != 0u)) return;
    const unsigned own = __popc(found);
    unsigned upto = own;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned other = __shfl_up_sync(AV_FULL_WARP, upto, d);
        if (av_lane() >= d) upto += other;
    }
    unsigned place = 0u;
    if (av_lane() == 31) place = atomicAdd(count, upto);
    place = __shfl_sync(AV_FULL_WARP, place, 31) + upto - own;
#pragma unroll
    for (int i = 0; i < EACH; ++i)
        if ((found >> i & 1u) != 0u) __stcg(&keys[place++], key_of(scores.at[i], unsigned(first + at + i)));
}

// The key that `limit` keys reach, from its highest digit on: how many have a digit or a higher one is counted for all of
// a digit's values at once.
__device__ uint64_t find_least_key(BestShared& s, const uint64_t* keys, unsigned n, unsigned limit) {
    if (av_thread() == 0) s.prefix = 0u, s.wanted = limit;
    for (int shift = 8 * (DIGITS - 1); shift >= 0; shift -= 8) {
        s.bins[av_thread()] = 0u;
        __syncthreads();
        for (unsigned i = av_thread(); i < n; i += THREADS) {
            const uint64_t key = __ldcg(&keys[i]);
            if (key >> (shift + 8) == s.prefix) atomicAdd(&s.bins[unsigned(key >> shift) & 255u], 1u);
        }
        __syncthreads();
        unsigned above = 0u;
        for (int digit = av_thread() + 1; digit < 256; ++digit) above += s.bins[digit];
        const unsigned wanted = s.wanted, own = s.bins[av_thread()];
        const uint64_t prefix = s.prefix;
        __syncthreads();
        if (above < wanted && above + own >= wanted) s.prefix = prefix << 8 | unsigned(av_thread()), s.wanted = wanted - above;
        __syncthreads();
    }
    return s.prefix;
}

__device__ inline void write_row(float* row, uint64_t key, const Level (&levels)[LEVELS], int image, int classes) {
    int pair = int(PLACES - (key & PLACES));
    Level level = levels[0];
    bool is_found = pair < level.places * classes;
#pragma unroll
    for (int i = 1; i < LEVELS; ++i) {
        if (is_found) continue;
        pair -= level.places * classes;
        level = levels[i];
        is_found = pair < level.places * classes;
    }
    const int place = pair / classes, y = place / level.width;
    const av_half* box = level.boxes + (int64_t(image) * level.places + place) * 4;
    const float middle_x = float(place - y * level.width) + 0.5f, middle_y = float(y) + 0.5f;
    row[0] = (middle_x - av_to_float(box[0])) * level.stride;
    row[1] = (middle_y - av_to_float(box[1])) * level.stride;
    row[2] = (middle_x + av_to_float(box[2])) * level.stride;
    row[3] = (middle_y + av_to_float(box[3])) * level.stride;
    row[4] = 1.0f / (1.0f + expf(-av_to_float(score_of(key))));
    row[5] = float(pair - place * classes);
}

// `keys`: room for all pairs of each image; `control`: two zeros an image, zero again after.
extern "C" __global__ void __launch_bounds__(256)
best_rows(const av_half* boxes0, const av_half* scores0, int width0, int places0, float stride0, const av_half* boxes1,
          const av_half* scores1, int width1, int places1, float stride1, const av_half* boxes2, const av_half* scores2,
          int width2, int places2, float stride2, const av_half* boxes3, const av_half* scores3, int width3, int places3,
          float stride3, int classes, float least, int limit, uint64_t* keys, unsigned* control, float* rows) {
    AV_SHARED(BestShared, s);
    av_wait_for_earlier();
    const Level levels[LEVELS] = {{boxes0, scores0, width0, places0, stride0}, {boxes1, scores1, width1, places1, stride1},
                                  {boxes2, scores2, width2, places2, stride2}, {boxes3, scores3, width3, places3, stride3}};
    const int image = blockIdx.y;
    unsigned *count = control + 2 * image, *ended = count + 1;
    int block = blockIdx.x, first = 0, all = 0, own = -1, own_first = 0, own_block = 0;
#pragma unroll
    for (int i = 0; i < LEVELS; ++i) {
        const int pairs = levels[i].places * classes, blocks = (pairs + THREADS * EACH - 1) / (THREADS * EACH);
        if (own < 0 && block < blocks) own = i, own_first = first, own_block = block;
        block -= blocks, first += pairs, all += pairs;
    }
    keys += int64_t(image) * all;
#pragma unroll
    for (int i = 0; i < LEVELS; ++i)
        if (own == i) {
            Level level = levels[i];
            level.scores += int64_t(image) * level.places * classes;
            list_keys(level, own_block, classes, own_first, least, keys, count);
        }
    __syncthreads();
    if (av_thread() == 0) {
        s.is_last = av_add_acquire_release(ended, 1u) == gridDim.x - 1u;
        s.count = s.is_last ? __ldcg(count) : 0u;
        if (s.is_last) *count = *ended = 0u;
    }
    __syncthreads();
    if (!s.is_last) return;
    const unsigned n = s.count;
    const uint64_t least_key = n > unsigned(limit) ? find_least_key(s, keys, n, unsigned(limit)) : 0u;
    const int kept = int(min(n, unsigned(limit)));
    __syncthreads();
    if (av_thread() == 0) s.count = 0u;
    __syncthreads();
    for (unsigned i = av_thread(); i < n; i += THREADS) {
        const uint64_t key = __ldcg(&keys[i]);
        if (key >= least_key) s.chosen[atomicAdd(&s.count, 1u)] = key;
    }
    __syncthreads();
    float* out = rows + int64_t(image) * limit * 6;
    for (int i = av_thread(); i < limit; i += THREADS) {
        if (i >= kept) {
            for (int k = 0; k < 6; ++k) out[i * 6 + k] = 0.0f;
            continue;
        }
        const uint64_t key = s.chosen[i];
        int better = 0;
        for (int k = 0; k < kept; ++k) better += s.chosen[k] > key;
        write_row(out + better * 6, key, levels, image, classes);
    }
}
