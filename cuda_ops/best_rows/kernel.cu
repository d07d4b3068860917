// The best detections of a one-to-one head (no suppression needed), from the outputs of its last convolutions at each
// level: box corners, score and class of the pairs of place and class that score highest, best first.
//
// A framework needs some thirty small kernels for it (concatenate the levels, sigmoid, corners, best class of each
// place, best places, best classes of these). This is one pass over the scores, since the best pairs belong to the best
// places anyway. A pair above the least score, compared before the sigmoid, writes a key (the 16 bits of its score,
// then its index, both in sorting order); the last block to finish sorts the keys by counting. A score below the least
// costs one comparison. Where more pairs pass than the limit, a radix selection picks the best keys: first within each
// block, so that no block writes more than the limit, then in the last block among all keys.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int THREADS = 256, EACH = 8, LOADS = 4, LEVELS = 4, LIMIT_MAX = 1024, DIGITS = 5, ROUNDS = 8;
constexpr int OF_BLOCK = THREADS * EACH * LOADS;  // pairs of a place and a class
constexpr uint64_t PLACES = 0xffffffull;  // mask of a key's lower 24 bits, which hold PLACES - index of the pair

struct Level {
    const av_half *boxes, *scores;  // (places, 4): distances to left, top, right, bottom in strides; (places, classes)
    int width, places;
    float stride;
};

struct alignas(16) BestShared {
    uint64_t chosen[LIMIT_MAX];
    av_half scores[OF_BLOCK];
    unsigned bins[256], count, is_last;
    uint64_t prefix;
    unsigned wanted;
};

struct alignas(16) Halves {
    av_half at[EACH];
};

__device__ inline uint64_t key_of(av_half score, unsigned place) {
    const unsigned bits = score.bits == 0x8000u ? 0u : score.bits;  // -0 equals +0
    const unsigned order = (bits & 0x8000u) != 0u ? bits ^ 0xffffu : bits | 0x8000u;
    return uint64_t(order) << 24 | (PLACES - place);
}
__device__ inline av_half score_of(uint64_t key) {
    const unsigned order = unsigned(key >> 24) & 0xffffu;
    return {uint16_t((order & 0x8000u) != 0u ? order & 0x7fffu : order ^ 0xffffu)};
}

// Radix selection: the least of the `limit` best keys. Digits of 8 bits from the highest on; each round counts the keys
// with each of the 256 digits. `each(visit)` calls `visit(key, is_there)` for a thread's keys, equally often in every
// lane of a warp. Lanes with the same digit as the first lane are counted by one atomic, since most scores begin with
// equal bits.
template <class Each> __device__ uint64_t find_least_key(BestShared& s, unsigned limit, Each each) {
    if (av_thread() == 0) s.prefix = 0u, s.wanted = limit;
    for (int shift = 8 * (DIGITS - 1); shift >= 0; shift -= 8) {
        s.bins[av_thread()] = 0u;
        __syncthreads();
        const uint64_t prefix = s.prefix;
        each([&](uint64_t key, bool is_there) {
            const bool counts = is_there && key >> (shift + 8) == prefix;
            const unsigned counting = __ballot_sync(AV_FULL_WARP, counts), digit = unsigned(key >> shift) & 255u;
            if (counting == 0u) return;
            const int leader = __ffs(int(counting)) - 1;
            const unsigned leading = __shfl_sync(AV_FULL_WARP, digit, leader);
            const bool is_like = counts && digit == leading;
            const unsigned alike = __ballot_sync(AV_FULL_WARP, is_like);
            if (av_lane() == leader) atomicAdd(&s.bins[digit], unsigned(__popc(alike)));
            if (counts && !is_like) atomicAdd(&s.bins[digit], 1u);
        });
        __syncthreads();
        unsigned above = 0u;
        for (int digit = av_thread() + 1; digit < 256; ++digit) above += s.bins[digit];
        const unsigned wanted = s.wanted, own = s.bins[av_thread()];
        __syncthreads();
        if (above < wanted && above + own >= wanted) s.prefix = prefix << 8 | unsigned(av_thread()), s.wanted = wanted - above;
        __syncthreads();
    }
    return s.prefix;
}

__device__ inline Halves scores_at(const Level& level, int at, int size) {
    Halves scores = {};
    if (at + EACH <= size && (reinterpret_cast<uint64_t>(level.scores) & 15u) == 0) {
        scores = *reinterpret_cast<const Halves*>(level.scores + at);
    } else {
#pragma unroll
        for (int i = 0; i < EACH; ++i)
            if (at + i < size) scores.at[i] = level.scores[at + i];
    }
    return scores;
}

// Key sequences for find_least_key. They are structs, since NVRTC 13.0 takes a lambda with an `auto` parameter for a
// host function.
struct BlocksKeys {  // the keys of the scores that this block has copied to shared memory
    const av_half* scores;
    int base, size, first;
    float least;
    template <class Visit> __device__ void operator()(Visit visit) const {
#pragma unroll 1
        for (int i = av_thread(); i < OF_BLOCK; i += THREADS)
            visit(key_of(scores[i], unsigned(first + base + i)), base + i < size && av_to_float(scores[i]) > least);
    }
};

struct ListedKeys {  // the keys of all blocks; in whole rounds, to keep warps together with several loads in flight
    const uint64_t* keys;
    unsigned n;
    template <class Visit> __device__ void operator()(Visit visit) const {
#pragma unroll 1
        for (unsigned first = av_thread(); first - av_thread() < n; first += ROUNDS * THREADS) {
            uint64_t key[ROUNDS];
#pragma unroll
            for (int k = 0; k < ROUNDS; ++k) key[k] = first + k * THREADS < n ? __ldcg(&keys[first + k * THREADS]) : 0u;
#pragma unroll
            for (int k = 0; k < ROUNDS; ++k) visit(key[k], first + k * THREADS < n);
        }
    }
};

// Appends the keys of this block's scores above `least`, at most the `limit` best; `first`: number of pairs of the
// levels before this one.
__device__ void list_keys(BestShared& s, const Level& level, int block, int classes, int first, float least, unsigned limit,
                          uint64_t* keys, unsigned* count) {
    const int size = level.places * classes, base = block * OF_BLOCK + av_thread() * EACH;
    Halves scores[LOADS];
    uint32_t found = 0u;  // one bit per score
#pragma unroll
    for (int k = 0; k < LOADS; ++k) scores[k] = scores_at(level, base + k * THREADS * EACH, size);
#pragma unroll
    for (int k = 0; k < LOADS * EACH; ++k) {
        const int at = base + k / EACH * THREADS * EACH + k % EACH;
        if (at < size && av_to_float(scores[k / EACH].at[k % EACH]) > least) found |= 1u << k;
    }
    if (av_thread() == 0) s.count = 0u;
    __syncthreads();
    if (found != 0u) atomicAdd(&s.count, unsigned(__popc(found)));
    __syncthreads();
    if (s.count == 0u) return;
    const auto key = [&](int k) {
        return key_of(scores[k / EACH].at[k % EACH], unsigned(first + base + k / EACH * THREADS * EACH + k % EACH));
    };
    if (s.count > limit) {
#pragma unroll
        for (int k = 0; k < LOADS; ++k)
            *reinterpret_cast<Halves*>(&s.scores[(k * THREADS + av_thread()) * EACH]) = scores[k];
        __syncthreads();
        const uint64_t least_key = find_least_key(s, limit, BlocksKeys{s.scores, block * OF_BLOCK, size, first, least});
#pragma unroll
        for (int k = 0; k < LOADS * EACH; ++k)
            if (key(k) < least_key) found &= ~(1u << k);
    }
    if (found == 0u) return;
    unsigned place = atomicAdd(count, unsigned(__popc(found)));
#pragma unroll
    for (int k = 0; k < LOADS * EACH; ++k)
        if ((found >> k & 1u) != 0u) __stcg(&keys[place++], key(k));
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

// `keys`: room for all pairs of each image. `control`: after its first word two counters per image, 0 before and after.
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
    unsigned *count = control + 1 + 2 * image, *ended = count + 1;
    int block = blockIdx.x, first = 0, all = 0, own = -1, own_first = 0, own_block = 0;
#pragma unroll
    for (int i = 0; i < LEVELS; ++i) {
        const int pairs = levels[i].places * classes, blocks = (pairs + OF_BLOCK - 1) / OF_BLOCK;
        if (own < 0 && block < blocks) own = i, own_first = first, own_block = block;
        block -= blocks, first += pairs, all += pairs;
    }
    keys += int64_t(image) * all;
    if (own >= 0) {
        Level level = levels[0];
#pragma unroll
        for (int i = 1; i < LEVELS; ++i)
            if (own == i) level = levels[i];
        level.scores += int64_t(image) * level.places * classes;
        list_keys(s, level, own_block, classes, own_first, least, unsigned(limit), keys, count);
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
    const ListedKeys listed = {keys, n};
    const uint64_t least_key = n > unsigned(limit) ? find_least_key(s, unsigned(limit), listed) : 0u;
    const int kept = int(min(n, unsigned(limit)));
    __syncthreads();
    if (av_thread() == 0) s.count = 0u;
    __syncthreads();
    listed([&](uint64_t key, bool is_there) {
        if (is_there && key >= least_key) s.chosen[atomicAdd(&s.count, 1u)] = key;
    });
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
