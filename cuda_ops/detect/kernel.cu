// YOLO head to final boxes, with the depth of each, in one launch without the host: decode, non-maximum suppression,
// depth.
//
// One-to-many head (4 + classes, anchors), `detect_dense_*`, one cooperative launch:
//   1. Best class per anchor: a warp reads 32 anchors of one class row at once; 8 warps share the classes. Anchors
//      above the threshold are appended (one ballot and one atomic per warp). NaN is never above it.
//   2. Overlaps: a warp computes one word (32 pairs) of the suppression matrix. Candidates stay in the order in which
//      they were found: scores tell which of two is better, and the number of better ones becomes a candidate's rank.
//      Only when more than 1024 are found are they sorted first, and the best 1024 kept.
//   3. Keep-set, by the last block to finish: greedy suppression is the only fixed point of "kept, unless a better kept
//      one overlaps". All candidates are settled in parallel, in as many rounds as the chains of overlaps are long (a
//      few).
//   4. Depth statistics, one block per box.
// End-to-end head (rows, 6), `detect_end_to_end_*`: every block sorts the few rows for itself.
//
// Corners are rounded to 1/64 px: then torchvision's class offset is exact in float32, and so is the comparison.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"
#include "depth_stats.cuh"

constexpr int CAPACITY = 1024, MASK_WORDS = CAPACITY / 32, THREADS = 256, WARPS = THREADS / 32;
constexpr int ROWS_MAX = 512;  // most rows of an end-to-end head

constexpr int IMAGES_MAX = 32;
constexpr unsigned COUNT_BITS = 20;  // low bits of a counter: candidates; the others: blocks that have compared boxes

struct Found {  // an image's candidates, in any order
    float4 box[CAPACITY];
    uint64_t key[CAPACITY];
    int label[CAPACITY];
    uint32_t better[CAPACITY];  // number of candidates with a higher key
    uint32_t filled[CAPACITY];  // one bit per word of the row of `overlap` that is not 0
    uint32_t overlap[CAPACITY][MASK_WORDS];
};

struct Output {
    float* boxes;   // (images, limit, 4)
    float* scores;  // (images, limit)
    int* labels;    // (images, limit)
    int* counts;    // (images, 2): number of boxes, and 1 if candidates were left out
    float* depths;  // (images, limit, 3) or null
    int limit;
};

struct Depth {  // a depth picture per image, and the mapping of network pixels to its pixels
    const float* data;
    int width, height;
    float left, top, step_x, step_y;
};

__device__ inline float snap(float x) { return floorf(x * 64.0f + 0.5f) * (1.0f / 64.0f); }
__device__ inline bool is_finite(float4 b) {
    const float sum = (b.x - b.x) + (b.y - b.y) + (b.z - b.z) + (b.w - b.w);
    return sum == 0.0f;
}
// A key is larger for a higher score; the lower index wins a tie. Scores are above a threshold of at least 0.
__device__ inline uint64_t key_of(float score, int index) {
    return uint64_t(__float_as_uint(score)) << 32 | (0xffffffffu - uint32_t(index));
}
__device__ inline int index_of(uint64_t key) { return int(0xffffffffu - uint32_t(key)); }
__device__ inline float score_of(uint64_t key) { return __uint_as_float(uint32_t(key >> 32)); }

template <class In> __device__ inline float4 dense_box(const In* head, int anchors, int anchor) {
    const float x = av_to_float(head[anchor]), y = av_to_float(head[anchors + anchor]);
    const float w = av_to_float(head[2 * anchors + anchor]), h = av_to_float(head[3 * anchors + anchor]);
    return make_float4(snap(x - w * 0.5f), snap(y - h * 0.5f), snap(x + w * 0.5f), snap(y + h * 0.5f));
}

__device__ inline bool overlaps(float4 a, float4 b, float limit) {
    const float w = fmaxf(fminf(a.z, b.z) - fmaxf(a.x, b.x), 0.0f), h = fmaxf(fminf(a.w, b.w) - fmaxf(a.y, b.y), 0.0f);
    const float both = w * h, area_a = (a.z - a.x) * (a.w - a.y), area_b = (b.z - b.x) * (b.w - b.y);
    return both / (area_a + area_b - both) > limit;
}

struct Shared {
    union {
        struct {
            float score[WARPS][32];
            int label[WARPS][32];
        } best;
        uint64_t keys[CAPACITY];
        struct {
            uint32_t kept[MASK_WORDS], open[MASK_WORDS], placed[MASK_WORDS];  // `placed`: by rank, not by candidate
        } sets;
        DepthScratch depth;
    };
    unsigned count, crowded, is_last;
};

__device__ inline void enter(Found& found, int place, float4 box, uint64_t key, int label) {
    found.box[place] = box;
    found.key[place] = key;
    found.label[place] = label;
    found.better[place] = 0u;
    found.filled[place] = 0u;
}

template <class In>
__device__ void find_candidates(Shared& s, const In* head, int classes, int anchors, float threshold, uint64_t* keys,
                                int* labels, Found& found, unsigned* count, unsigned* crowded) {
    for (int base = blockIdx.x * 32; base < anchors; base += gridDim.x * 32) {
        const int anchor = base + av_lane(), warp = av_warp();
        float best = -INFINITY;
        int label = 0;
        float4 box = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (anchor < anchors) {
            if (warp == 0) box = dense_box(head, anchors, anchor);
#pragma unroll 10
            for (int c = warp; c < classes; c += WARPS) {
                const float score = av_to_float(head[int64_t(4 + c) * anchors + anchor]);
                if (score > best) best = score, label = c;
            }
        }
        s.best.score[warp][av_lane()] = best;
        s.best.label[warp][av_lane()] = label;
        __syncthreads();
        if (warp == 0) {
            for (int w = 1; w < WARPS; ++w) {
                const float score = s.best.score[w][av_lane()];
                const int other = s.best.label[w][av_lane()];
                if (score > best || (score == best && other < label)) best = score, label = other;
            }
            const bool take = anchor < anchors && best > threshold && best < INFINITY && is_finite(box);
            const unsigned taken = __ballot_sync(AV_FULL_WARP, take);
            unsigned first = 0u;
            if (av_lane() == 0 && taken != 0u) first = atomicAdd(count, unsigned(__popc(taken)));
            first = __shfl_sync(AV_FULL_WARP, first, 0);
            if (take) {
                const unsigned place = first + __popc(taken & ((1u << av_lane()) - 1u));
                keys[place] = key_of(best, anchor);
                labels[anchor] = label;
                if (place < CAPACITY) enter(found, int(place), box, key_of(best, anchor), label);
                else if (place == CAPACITY) *crowded = 1u;
            }
        }
        __syncthreads();
    }
}

template <class In>
__device__ void order_candidates(Shared& s, const In* head, int anchors, const uint64_t* keys, const int* labels, int n,
                                 Found& found) {
    for (int first = blockIdx.x * WARPS; first < n; first += gridDim.x * WARPS) {
        const int own = first + av_warp();
        const uint64_t key = own < n ? __ldcg(&keys[own]) : 0u;
        int better = 0;
        for (int start = 0; start < n; start += CAPACITY) {
            const int part = min(CAPACITY, n - start);
            for (int i = av_thread(); i < part; i += THREADS) s.keys[i] = __ldcg(&keys[start + i]);
            __syncthreads();
            for (int i = av_lane(); i < part; i += 32) better += s.keys[i] > key;
            __syncthreads();
        }
        for (int d = 16; d > 0; d /= 2) better += __shfl_xor_sync(AV_FULL_WARP, better, d);
        if (own < n && better < CAPACITY && av_lane() == 0) {
            const int anchor = index_of(key);
            enter(found, better, dense_box(head, anchors, anchor), key, __ldcg(&labels[anchor]));
        }
    }
}

__device__ void compare_boxes(Found& found, int n, float limit) {
    const int words = (n + 31) / 32;
    for (int i = blockIdx.x * WARPS + av_warp(); i < words * n; i += gridDim.x * WARPS) {
        const int row = i / words, word = i % words, other = min(word * 32 + av_lane(), n - 1);
        const uint64_t key = __ldcg(&found.key[row]), other_key = __ldcg(&found.key[other]);
        const int label = __ldcg(&found.label[row]), other_label = __ldcg(&found.label[other]);
        const float4 box = __ldcg(&found.box[row]), other_box = __ldcg(&found.box[other]);
        const bool is_better = word * 32 + av_lane() < n && other_key > key;
        const bool hit = is_better && label == other_label && overlaps(other_box, box, limit);
        const uint32_t bits = __ballot_sync(AV_FULL_WARP, hit), better = __ballot_sync(AV_FULL_WARP, is_better);
        if (av_lane() == 0 && better != 0u) atomicAdd(&found.better[row], unsigned(__popc(better)));
        if (av_lane() == 0 && bits != 0u) {
            found.overlap[row][word] = bits;
            atomicOr(&found.filled[row], 1u << word);
        }
    }
}

__device__ void settle(Shared& s, const Found& found, int n) {
    for (int w = av_thread(); w < MASK_WORDS; w += THREADS) {
        const int left = n - w * 32;
        s.sets.kept[w] = s.sets.placed[w] = 0u;
        s.sets.open[w] = left >= 32 ? 0xffffffffu : (left > 0 ? (1u << left) - 1u : 0u);
    }
    uint32_t filled[CAPACITY / THREADS];
#pragma unroll
    for (int k = 0; k < CAPACITY / THREADS; ++k)
        filled[k] = k * THREADS + av_thread() < n ? __ldcg(&found.filled[k * THREADS + av_thread()]) : 0u;
    __syncthreads();
    bool again = true;
    while (again) {
        uint32_t keep[CAPACITY / THREADS], drop[CAPACITY / THREADS];
        bool settled = false;
#pragma unroll
        for (int k = 0; k < CAPACITY / THREADS; ++k) {
            const int row = k * THREADS + av_thread();
            bool is_kept = false, is_dropped = false;
            if (s.sets.open[row / 32] >> (row % 32) & 1u) {
                is_kept = true;
                for (uint32_t words = filled[k]; words != 0u; words &= words - 1u) {
                    const int word = __ffs(int(words)) - 1;
                    const uint32_t bits = found.overlap[row][word];  // complete, so that later rounds read it from L1
                    if (bits & s.sets.kept[word]) is_dropped = true;
                    if (bits & s.sets.open[word]) is_kept = false;
                }
                is_kept = is_kept && !is_dropped;
            }
            keep[k] = __ballot_sync(AV_FULL_WARP, is_kept);
            drop[k] = __ballot_sync(AV_FULL_WARP, is_dropped);
            settled = settled || is_kept || is_dropped;
        }
        again = __syncthreads_or(settled);
        if (av_lane() == 0) {
#pragma unroll
            for (int k = 0; k < CAPACITY / THREADS; ++k) {
                const int word = k * WARPS + av_warp();
                s.sets.kept[word] |= keep[k];
                s.sets.open[word] &= ~(keep[k] | drop[k]);
            }
        }
        __syncthreads();
    }
}

__device__ inline void write_row(const Output& out, int image, int row, float4 box, float score, int label) {
    const int64_t at = int64_t(image) * out.limit + row;
    reinterpret_cast<float4*>(out.boxes)[at] = box;
    out.scores[at] = score;
    out.labels[at] = label;
}

__device__ void write_kept(Shared& s, const Found& found, const Output& out, int image, bool overflow) {
    uint32_t better[CAPACITY / THREADS];
#pragma unroll
    for (int k = 0; k < CAPACITY / THREADS; ++k) {
        const int i = k * THREADS + av_thread();
        better[k] = CAPACITY;
        if (s.sets.kept[i / 32] >> (i % 32) & 1u) {
            better[k] = __ldcg(&found.better[i]);
            atomicOr(&s.sets.placed[better[k] / 32], 1u << (better[k] % 32));
        }
    }
    __syncthreads();
    const int own = __popc(s.sets.placed[av_lane()]);
    int upto = own;
    for (int d = 1; d < 32; d *= 2) {
        const int other = __shfl_up_sync(AV_FULL_WARP, upto, d);
        if (av_lane() >= d) upto += other;
    }
    const int total = __shfl_sync(AV_FULL_WARP, upto, 31);
#pragma unroll
    for (int k = 0; k < CAPACITY / THREADS; ++k) {
        const int before = __shfl_sync(AV_FULL_WARP, upto - own, int(better[k] / 32) % 32), i = k * THREADS + av_thread();
        if (better[k] == CAPACITY) continue;
        const int place = before + __popc(s.sets.placed[better[k] / 32] & ((1u << (better[k] % 32)) - 1u));
        if (place < out.limit)
            write_row(out, image, place, __ldcg(&found.box[i]), score_of(__ldcg(&found.key[i])), __ldcg(&found.label[i]));
    }
    for (int row = total + av_thread(); row < out.limit; row += THREADS)
        write_row(out, image, row, make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, -1);
    if (av_thread() == 0) {
        out.counts[image * 2] = min(total, out.limit);
        out.counts[image * 2 + 1] = overflow || total > out.limit;
    }
}

__device__ void measure(Shared& s, const Output& out, const Depth& depth, int image, int row, int count, float4 box) {
    float* result = out.depths + (int64_t(image) * out.limit + row) * 3;
    if (row < count) {
        box = make_float4((box.x - depth.left) * depth.step_x, (box.y - depth.top) * depth.step_y,
                          (box.z - depth.left) * depth.step_x, (box.w - depth.top) * depth.step_y);
        depth_stats(s.depth, depth.data + int64_t(image) * depth.width * depth.height, depth.width, depth.height, box,
                    result);
    } else if (av_thread() < 3) {
        result[av_thread()] = 0.0f;
    }
}

template <class In>
__device__ void detect_dense(const In* heads, int classes, int anchors, float threshold, float iou, uint64_t* keys,
                             int* labels, Found* founds, unsigned* control, Output out, Depth depth) {
    AV_SHARED(Shared, s);
    const int image = blockIdx.y;
    const In* head = heads + int64_t(image) * (4 + classes) * anchors;
    keys += int64_t(image) * anchors;
    labels += int64_t(image) * anchors;
    Found& found = founds[image];
    unsigned *barrier = control, *count = control + 1 + image, *crowded = control + 1 + IMAGES_MAX;
    AV_STAMPS_BEGIN();
    find_candidates(s, head, classes, anchors, threshold, keys, labels, found, count, crowded);
    __syncthreads();
    AV_STAMP(1);
    if (av_thread() == 0) {
        av_wait_for_grid(barrier);
        s.count = __ldcg(count) & ((1u << COUNT_BITS) - 1u);
        s.crowded = __ldcg(crowded);  // set by any image: all blocks must agree on the number of barriers
    }
    __syncthreads();
    AV_STAMP(2);
    const int all = int(s.count), n = min(all, CAPACITY);
    if (s.crowded != 0u) {
        if (all > CAPACITY) order_candidates(s, head, anchors, keys, labels, all, found);
        av_grid_barrier(barrier);
        if ((blockIdx.x | blockIdx.y) == 0 && av_thread() == 0) *crowded = 0u;
    }
    compare_boxes(found, n, iou);
    __syncthreads();
    AV_STAMP(3);
    if (av_thread() == 0) {
        s.is_last = av_add_acquire_release(count, 1u << COUNT_BITS) >> COUNT_BITS == gridDim.x - 1u;
        if (s.is_last) *count = 0u;  // all blocks have read it; the next launch needs 0
    }
    __syncthreads();
    AV_STAMP(4);
    if (s.is_last) {
        settle(s, found, n);
        AV_STAMP(5);
        write_kept(s, found, out, image, all > CAPACITY);
        AV_STAMP(6);
        AV_STAMPS_END(control, image == 0);
    }
    if (depth.data == nullptr) return;
    av_grid_barrier(barrier);
    const int kept = __ldcg(&out.counts[image * 2]);
    for (int row = blockIdx.x; row < out.limit; row += gridDim.x)
        measure(s, out, depth, image, row, kept,
                __ldcg(&reinterpret_cast<const float4*>(out.boxes)[int64_t(image) * out.limit + row]));
}

// Number of higher keys. The keys are in shared memory with zeros after the last; a load brings two, the same for all
// lanes.
__device__ inline int count_better(const uint64_t* keys, int rows, uint64_t key) {
    int better = 0;
#pragma unroll 8
    for (int i = 0; i < (rows + 1) / 2; ++i) {
        const uint4 two = reinterpret_cast<const uint4*>(keys)[i];
        better += (uint64_t(two.y) << 32 | two.x) > key;
        better += (uint64_t(two.w) << 32 | two.z) > key;
    }
    return better;
}

template <class In>
__device__ void detect_end_to_end(const In* heads, int rows, float threshold, Output out, Depth depth) {
    AV_SHARED(Shared, s);
    AV_SHARED(int, count);
    const int image = blockIdx.y;
    const In* head = heads + int64_t(image) * rows * 6;
    if (av_thread() == 0) count = 0;
    __syncthreads();
    float4 box[ROWS_MAX / THREADS];
    uint64_t key[ROWS_MAX / THREADS];
#pragma unroll
    for (int k = 0; k < ROWS_MAX / THREADS; ++k) {
        const int row = k * THREADS + av_thread();
        key[k] = 0u;
        if (row < rows) {
            const In* v = head + row * 6;
            const float score = av_to_float(v[4]);
            box[k] = make_float4(av_to_float(v[0]), av_to_float(v[1]), av_to_float(v[2]), av_to_float(v[3]));
            if (score > threshold && score < INFINITY && is_finite(box[k])) key[k] = key_of(score, row);
        }
        s.keys[row] = key[k];
        if (key[k] != 0u) atomicAdd(&count, 1);
    }
    __syncthreads();
    const int total = count;
    const int per_block = (out.limit + gridDim.x - 1) / gridDim.x;
    const int from = blockIdx.x * per_block, to = min(from + per_block, out.limit);
#pragma unroll
    for (int k = 0; k < ROWS_MAX / THREADS; ++k) {
        if (__any_sync(AV_FULL_WARP, key[k] != 0u) == 0) continue;
        const int rank = count_better(s.keys, rows, key[k]);
        if (key[k] != 0u && rank >= from && rank < to)
            write_row(out, image, rank, box[k], score_of(key[k]),
                      __float2int_rn(av_to_float(head[index_of(key[k]) * 6 + 5])));
    }
    for (int row = max(from, total) + av_thread(); row < to; row += THREADS)
        write_row(out, image, row, make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, -1);
    if (blockIdx.x == 0 && av_thread() == 0) {
        out.counts[image * 2] = min(total, out.limit);
        out.counts[image * 2 + 1] = total > out.limit;
    }
    if (depth.data == nullptr) return;
    __syncthreads();
    for (int row = from; row < to; ++row)
        measure(s, out, depth, image, row, total, reinterpret_cast<float4*>(out.boxes)[int64_t(image) * out.limit + row]);
}

#define RESULTS                                                                                                     \
    float *boxes, float *scores, int *out_labels, int *counts, float *depths, int limit, const float *depth,       \
        int depth_width, int depth_height, float left, float top, float step_x, float step_y
#define RESULT_VALUES                                              \
    {boxes, scores, out_labels, counts, depths, limit}, {          \
        depth, depth_width, depth_height, left, top, step_x, step_y \
    }
#define DENSE(In)                                                                                                   \
    const In *heads, int classes, int anchors, float threshold, float iou, uint64_t *keys, int *labels, Found *found, \
        unsigned *control, RESULTS

extern "C" __global__ void __launch_bounds__(256) detect_dense_half(DENSE(av_half)) {
    detect_dense(heads, classes, anchors, threshold, iou, keys, labels, found, control, RESULT_VALUES);
}
extern "C" __global__ void __launch_bounds__(256) detect_dense_float(DENSE(float)) {
    detect_dense(heads, classes, anchors, threshold, iou, keys, labels, found, control, RESULT_VALUES);
}
extern "C" __global__ void __launch_bounds__(256)
detect_end_to_end_half(const av_half* heads, int rows, float threshold, RESULTS) {
    av_wait_for_earlier();
    detect_end_to_end(heads, rows, threshold, RESULT_VALUES);
}
extern "C" __global__ void __launch_bounds__(256)
detect_end_to_end_float(const float* heads, int rows, float threshold, RESULTS) {
    av_wait_for_earlier();
    detect_end_to_end(heads, rows, threshold, RESULT_VALUES);
}
