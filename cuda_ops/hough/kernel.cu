// Hough transform of an edge picture: lines with the votes and the order of cv2.HoughLines, and the segments along
// them.
//
// One cooperative launch:
//   1. Edge pixels are listed: 16 px per load, places from a prefix sum over the block, one atomic per block.
//   2. A block takes one angle and counts all points in shared memory, so that votes never meet in global memory; 4
//      points per load; each product and sum is rounded on its own, like OpenCV's.
//   3. Local maxima of the votes are listed as keys (votes, then position: OpenCV's order).
//   4. A block takes one key and counts the better ones, which gives the line's place in the output without a sort. If
//      no segments are wanted, a warp takes one key.
//   5. Segments, by the same block: its warps look up 32 px per ballot, then one warp cuts the words into whole runs.
// Earlier versions and their times: docs/cuda.md, "Versions of the kernels".
#include "av_cuda.cuh"

constexpr int BINS = 9216;  // bins per pass; larger pictures take several passes
constexpr int SEGMENTS = 4;  // segments kept per line
constexpr int LOADS = 4, UNDER_WAY = 8, WORDS_UNDER_WAY = 3;  // loads in flight per thread: of points, votes, edges

struct Lines {
    float4* lines;  // rho, theta, votes, bits of the peak's index; zeros after the last line
    int4* segments;  // (limit, SEGMENTS): x0, y0, x1, y1, or -1
    int* count;
    int limit;
};

struct HoughShared {
    unsigned warp_total[32], first, read;
    int better[32];
    uint32_t touched[1024];
    int start[32 * 16 + 1], end[32 * 16];  // of the segments that begin in 32 words
};

// Inclusive prefix sum over the warp.
__device__ inline unsigned warp_upto(unsigned own) {
    for (int d = 1; d < 32; d *= 2) {
        const unsigned other = __shfl_up_sync(AV_FULL_WARP, own, d);
        if (av_lane() >= d) own += other;
    }
    return own;
}

__device__ inline uint32_t edge_bits(const uint8_t* edges, int base, int size) {
    uint32_t bits = 0u;
    if ((reinterpret_cast<uint64_t>(edges) & 15u) == 0 && base + 16 <= size) {
        const uint4 v = *reinterpret_cast<const uint4*>(edges + base);
        const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int i = 0; i < 16; ++i) bits |= uint32_t((word[i / 4] >> (8 * (i % 4)) & 0xffu) != 0u) << i;
    } else {
        for (int i = 0; i < 16 && base + i < size; ++i) bits |= uint32_t(edges[base + i] != 0) << i;
    }
    return bits;
}

__device__ void list_edges(HoughShared& s, const uint8_t* edges, int width, int height, uint32_t* points, unsigned* count) {
    const int size = width * height, warps = av_threads() / 32, step = int(gridDim.x) * av_threads() * 16;
    for (int64_t first = 0; first < size; first += step) {  // all threads of a block stay together
        const int64_t own_base = first + (int64_t(blockIdx.x) * av_threads() + av_thread()) * 16;
        const int base = own_base < size ? int(own_base) : size;
        uint32_t bits = edge_bits(edges, base, size);
        const unsigned own = __popc(bits), upto = warp_upto(own);
        if (av_lane() == 31) s.warp_total[av_warp()] = upto;
        __syncthreads();
        if (av_warp() == 0) {
            const unsigned of_warp = av_lane() < warps ? s.warp_total[av_lane()] : 0u, upto_warp = warp_upto(of_warp);
            s.warp_total[av_lane()] = upto_warp - of_warp;
            if (av_lane() == 31) s.first = upto_warp != 0u ? atomicAdd(count, upto_warp) : 0u;
        }
        __syncthreads();
        unsigned place = s.first + s.warp_total[av_warp()] + upto - own;
        uint32_t x = uint32_t(base) % uint32_t(width), y = uint32_t(base) / uint32_t(width), last = 0u;
        for (; bits != 0u; bits &= bits - 1u) {
            const uint32_t at = uint32_t(__ffs(int(bits)) - 1);
            for (x += at - last, last = at; x >= uint32_t(width); x -= uint32_t(width)) ++y;
            points[place++] = y << 16 | x;
        }
        __syncthreads();
    }
}

// The bin of a point, plus `offset`; each operation is rounded on its own, like OpenCV's.
__device__ inline int rho_bin(uint32_t point, float cosine, float sine, int offset) {
    const float x = av_short_to_float(point, 0), y = av_short_to_float(point, 1);
    return av_round_to_int(__fadd_rn(__fmul_rn(x, cosine), __fmul_rn(y, sine))) + offset;
}

// Adds points to the bins, one atomic per point: the hardware merges the additions of a warp to one bin, as along a row
// of pixels. IS_ALL: the pass covers all bins, so that no bin lies outside.
template <bool IS_ALL>
__device__ inline void count_points(int* bins, const uint32_t* points, int n, float cosine, float sine, int offset, int here) {
    const auto count = [&](uint32_t point) {
        const int bin = rho_bin(point, cosine, sine, offset);
        if (IS_ALL || unsigned(bin) < unsigned(here)) atomicAdd(&bins[bin], 1);
    };
    const int fours = n / 4, step = av_threads();
    for (int i = av_thread(); i < fours; i += step * LOADS) {
        uint4 four[LOADS];
#pragma unroll
        for (int k = 0; k < LOADS; ++k)  // all in flight together
            if (i + k * step < fours) four[k] = __ldcg(reinterpret_cast<const uint4*>(points) + i + k * step);
#pragma unroll
        for (int k = 0; k < LOADS; ++k) {
            if (i + k * step >= fours) break;
            count(four[k].x), count(four[k].y), count(four[k].z), count(four[k].w);
        }
    }
    for (int i = fours * 4 + av_thread(); i < n; i += step) count(__ldcg(&points[i]));
}

// Rows of `votes` are `pitch` long, which is `rhos` rounded up to a multiple of 4.
__device__ void count_votes(int* bins, const uint32_t* points, int n, const float2* directions, int angles, int rhos,
                            int* votes) {
    const int middle = (rhos - 1) / 2, pitch = (rhos + 3) & ~3;
    for (int angle = blockIdx.x; angle < angles; angle += gridDim.x) {
        const float cosine = directions[angle].x, sine = directions[angle].y;
        for (int first = 0; first < rhos; first += BINS) {
            const int here = min(BINS, rhos - first), words = (here + 3) / 4;
            for (int i = av_thread(); i < words; i += av_threads()) reinterpret_cast<int4*>(bins)[i] = make_int4(0, 0, 0, 0);
            __syncthreads();
            if (here == rhos) count_points<true>(bins, points, n, cosine, sine, middle, here);
            else count_points<false>(bins, points, n, cosine, sine, middle - first, here);
            __syncthreads();
            int4* to = reinterpret_cast<int4*>(votes + int64_t(angle) * pitch + first);
            for (int i = av_thread(); i < words; i += av_threads()) __stcg(&to[i], reinterpret_cast<const int4*>(bins)[i]);
            __syncthreads();
        }
    }
}

// `bins` still holds the votes of the block's only angle, or is null. A thread tests UNDER_WAY bins; a warp appends all
// the peaks that it found by one atomic.
__device__ void find_peaks(const int* bins, const int* votes, int angles, int rhos, int least, uint64_t* peaks, unsigned* count) {
    const int pitch = (rhos + 3) & ~3, step = av_threads();
    for (int angle = blockIdx.x; angle < angles; angle += gridDim.x) {
        const int* row = votes + int64_t(angle) * pitch;
        const auto vote = [&](int r) { return r < 0 || r >= rhos ? 0 : (bins != nullptr ? bins[r] : __ldcg(&row[r])); };
        for (int base = 0; base < rhos; base += step * UNDER_WAY) {
            unsigned found = 0u;
#pragma unroll
            for (int k = 0; k < UNDER_WAY; ++k) {
                const int r = base + k * step + av_thread(), v = vote(r);
                if (v > least && v > vote(r - 1) && v >= vote(r + 1)) found |= 1u << k;
            }
#pragma unroll
            for (int k = 0; k < UNDER_WAY; ++k) {
                const int r = base + k * step + av_thread();
                if ((found >> k & 1u) == 0u) continue;
                const int before = angle > 0 ? __ldcg(&row[r - pitch]) : 0;
                const int after = angle + 1 < angles ? __ldcg(&row[r + pitch]) : 0;
                const int v = vote(r);
                if (v <= before || v < after) found &= ~(1u << k);
            }
            if (__ballot_sync(AV_FULL_WARP, found != 0u) == 0u) continue;
            const unsigned own = __popc(found), upto = warp_upto(own);
            unsigned place = 0u;
            if (av_lane() == 31) place = atomicAdd(count, upto);
            place = __shfl_sync(AV_FULL_WARP, place, 31) + upto - own;
            for (; found != 0u; found &= found - 1u) {
                const int r = base + (__ffs(int(found)) - 1) * step + av_thread();
                peaks[place++] = uint64_t(unsigned(vote(r))) << 32 | (0xffffffffu - unsigned(angle * rhos + r));
            }
        }
    }
}

// Number of peaks with a higher key; all threads of the block must call it.
__device__ int count_better(HoughShared& s, const uint64_t* peaks, int n, uint64_t key) {
    int better = 0;
#pragma unroll 4
    for (int i = av_thread(); i < n; i += av_threads()) better += __ldcg(&peaks[i]) > key;
    for (int d = 16; d > 0; d /= 2) better += __shfl_xor_sync(AV_FULL_WARP, better, d);
    if (av_lane() == 0) s.better[av_warp()] = better;
    __syncthreads();
    better = av_lane() < av_threads() / 32 ? s.better[av_lane()] : 0;
    for (int d = 16; d > 0; d /= 2) better += __shfl_xor_sync(AV_FULL_WARP, better, d);
    __syncthreads();
    return better;
}

struct Walk {  // along a line, one pixel per step of the axis to which it is closer
    bool by_x;
    float rho, cosine, sine;
    __device__ int across(int along) const {
        const float c = by_x ? cosine : sine, d = by_x ? sine : cosine;
        return __float2int_rn(__fdiv_rn(__fsub_rn(rho, __fmul_rn(float(along), c)), d));
    }
};

// Appends the lanes' segments in their order, as long as there is room.
__device__ inline void keep_segments(const Walk& walk, int from, int to, float shortest, int4* out, int& kept) {
    const int a = walk.across(from), b = walk.across(to);
    const float along = float(to - from), over = float(b - a);
    const bool is_long = from >= 0 && along * along + over * over >= shortest * shortest;
    const unsigned found = __ballot_sync(AV_FULL_WARP, is_long);
    const int place = kept + __popc(found & ((1u << av_lane()) - 1u));
    if (is_long && place < SEGMENTS) out[place] = walk.by_x ? make_int4(from, a, to, b) : make_int4(a, from, b, to);
    kept += __popc(found);
}

// Whether an edge lies on the line's pixel or one pixel beside it: a line of one bin's width covers both.
__device__ inline bool touches(const uint8_t* edges, int width, int height, const Walk& walk, int along) {
    const int middle = walk.across(along), limit = walk.by_x ? height : width;
    int any = 0;
#pragma unroll
    for (int d = -1; d <= 1; ++d) {  // three loads in flight together
        const int place = middle + d;
        const int x = walk.by_x ? along : place, y = walk.by_x ? place : along;
        if (place >= 0 && place < limit) any |= edges[int64_t(y) * width + x];
    }
    return any != 0;
}

// Calls `visit` for each segment that begins in the word `bits` (pixel `base` and on), with its first pixel and the
// last edge pixel before it. `last`: the last edge pixel before the word, -1 if there is none.
template <class Visit> __device__ inline void visit_starts(uint32_t bits, int base, int last, int gap, Visit visit) {
    while (bits != 0u) {
        const int first = __ffs(int(bits)) - 1, from = base + first;
        const unsigned rest = ~(bits >> first);
        const int run = rest == 0u ? 32 - first : min(__ffs(int(rest)) - 1, 32 - first);
        if (last < 0 || from - last - 1 > gap) visit(from, last);
        last = from + run - 1;
        bits &= first + run >= 32 ? 0u : 0xffffffffu << (first + run);
    }
}

// Cuts the words into segments, by one warp with one word per lane: 32 words at a time; a segment that is open at their
// end continues in the next ones.
__device__ void cut_segments(HoughShared& s, int words, const Walk& walk, float shortest, int gap, int4* segments) {
    int start = -1, last = -1, kept = 0;
    for (int word = 0; word < words && kept < SEGMENTS; word += 32) {
        const int base = (word + av_lane()) * 32;
        const uint32_t bits = word + av_lane() < words ? s.touched[word + av_lane()] : 0u;
        int upto = bits != 0u ? base + 31 - __clz(int(bits)) : -1;  // last edge pixel in this word or the ones before
        for (int d = 1; d < 32; d *= 2) upto = max(upto, __shfl_up_sync(AV_FULL_WARP, upto, d));
        int before = __shfl_up_sync(AV_FULL_WARP, upto, 1);
        before = av_lane() == 0 ? last : max(before, last);
        unsigned own = 0u;
        visit_starts(bits, base, before, gap, [&](int, int) { ++own; });
        const unsigned upto_own = warp_upto(own);
        unsigned k = upto_own - own;
        if (av_lane() == 0) s.start[0] = start;
        visit_starts(bits, base, before, gap, [&](int from, int end) { s.end[k] = end, s.start[++k] = from; });
        const int closed = int(__shfl_sync(AV_FULL_WARP, upto_own, 31));  // each start closes the segment before it
        __syncwarp();
        for (int i = av_lane(); i - av_lane() < closed; i += 32)
            keep_segments(walk, i < closed ? s.start[i] : -1, i < closed ? s.end[i] : 0, shortest, segments, kept);
        start = s.start[closed];
        last = max(last, __shfl_sync(AV_FULL_WARP, upto, 31));
        __syncwarp();
    }
    keep_segments(walk, av_lane() == 0 ? start : -1, last, shortest, segments, kept);
}

// The segments along a line, -1 if there are fewer; all threads of the block must call it.
__device__ void follow_line(HoughShared& s, const uint8_t* edges, int width, int height, const Walk& walk, float shortest,
                            int gap, int4* segments) {
    const int length = walk.by_x ? width : height, words = (length + 31) / 32, warps = av_threads() / 32;
    if (av_thread() < SEGMENTS) segments[av_thread()] = make_int4(-1, -1, -1, -1);
    for (int first = av_warp(); first < words; first += warps * WORDS_UNDER_WAY) {
        bool hit[WORDS_UNDER_WAY];
#pragma unroll
        for (int k = 0; k < WORDS_UNDER_WAY; ++k) {
            const int along = (first + k * warps) * 32 + av_lane();
            hit[k] = along < length && touches(edges, width, height, walk, along);
        }
#pragma unroll
        for (int k = 0; k < WORDS_UNDER_WAY; ++k) {
            const unsigned bits = __ballot_sync(AV_FULL_WARP, hit[k]);
            if (av_lane() == 0 && first + k * warps < words) s.touched[first + k * warps] = bits;
        }
    }
    __syncthreads();
    if (av_warp() == 0) cut_segments(s, words, walk, shortest, gap, segments);
    __syncthreads();
}

// rho, theta and number of votes of the peak `key`; `at` is its index in the votes, which the fourth element carries.
__device__ inline float4 line_of(uint64_t key, int at, int rhos, float rho_step, float theta_step, float theta_min) {
    const int angle = at / rhos;
    const float rho = float(at - angle * rhos - (rhos - 1) / 2) * rho_step, theta = theta_min + float(angle) * theta_step;
    return make_float4(rho, theta, float(uint32_t(key >> 32)), __int_as_float(at));
}

// Lines without segments: a warp takes one peak; the number of better peaks is the line's place in the output.
__device__ void write_lines_alone(const uint64_t* peaks, int n, int rhos, float rho_step, float theta_step, float theta_min,
                                  const Lines& out) {
    const int warps = av_threads() / 32;
    for (int own = av_warp() * int(gridDim.x) + int(blockIdx.x); own < n; own += int(gridDim.x) * warps) {
        const uint64_t key = __ldcg(&peaks[own]);
        int better = 0;
#pragma unroll 8
        for (int i = av_lane(); i < n; i += 32) better += __ldcg(&peaks[i]) > key;
        for (int d = 16; d > 0; d /= 2) better += __shfl_xor_sync(AV_FULL_WARP, better, d);
        if (av_lane() == 0 && better < out.limit)
            out.lines[better] = line_of(key, int(0xffffffffu - uint32_t(key)), rhos, rho_step, theta_step, theta_min);
    }
    for (int row = n + int(blockIdx.x) * av_threads() + av_thread(); row < out.limit; row += gridDim.x * av_threads())
        out.lines[row] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// Lines with segments: a block takes one peak; the number of better peaks is the line's place in the output. This needs
// no sort, and no grid barrier before the segments.
__device__ void write_lines(HoughShared& s, const uint8_t* edges, int width, int height, const float2* directions,
                            const uint64_t* peaks, int n, int rhos, float rho_step, float theta_step, float theta_min,
                            float shortest, int gap, const Lines& out) {
    for (int own = blockIdx.x; own < n; own += gridDim.x) {
        const uint64_t key = __ldcg(&peaks[own]);
        const int at = int(0xffffffffu - uint32_t(key)), angle = at / rhos;
        const float2 d = directions[angle];  // of length 1 / rho_step
        const int row = count_better(s, peaks, n, key);
        if (row >= out.limit) continue;
        const float4 line = line_of(key, at, rhos, rho_step, theta_step, theta_min);
        if (av_thread() == 0) out.lines[row] = line;
        const Walk walk = {fabsf(d.x) < fabsf(d.y), line.x, d.x * rho_step, d.y * rho_step};
        follow_line(s, edges, width, height, walk, shortest, gap, out.segments + int64_t(row) * SEGMENTS);
    }
    for (int row = n + int(blockIdx.x) * av_threads() + av_thread(); row < out.limit; row += gridDim.x * av_threads()) {
        out.lines[row] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        for (int k = 0; k < SEGMENTS; ++k) out.segments[int64_t(row) * SEGMENTS + k] = make_int4(-1, -1, -1, -1);
    }
}

extern "C" __global__ void __launch_bounds__(512)
hough_lines(const uint8_t* edges, int width, int height, const float2* directions, int angles, int rhos, int least,
            float rho_step, float theta_step, float theta_min, float shortest, int gap, uint32_t* points, int* votes,
            uint64_t* peaks, unsigned* control, float4* lines, int4* segments, int* count, int limit) {
    AV_SHARED(HoughShared, s);
    AV_DYNAMIC_SHARED(int, bins);
    const Lines out = {lines, segments, count, limit};
    unsigned *barrier = control, *edge_count = control + 1, *peak_count = control + 2, *finished = control + 3;
    AV_STAMPS_BEGIN();
    list_edges(s, edges, width, height, points, edge_count);
    AV_STAMP(1);
    const int n = int(av_grid_barrier_read(barrier, edge_count, s.read));
    AV_STAMP(2);
    count_votes(bins, points, n, directions, angles, rhos, votes);
    AV_STAMP(3);
    av_grid_barrier(barrier);
    AV_STAMP(4);
    find_peaks(int(gridDim.x) >= angles && rhos <= BINS ? bins : nullptr, votes, angles, rhos, least, peaks, peak_count);
    AV_STAMP(5);
    const int found = int(av_grid_barrier_read(barrier, peak_count, s.read));
    AV_STAMP(6);
    if (out.segments == nullptr)
        write_lines_alone(peaks, found, rhos, rho_step, theta_step, theta_min, out);
    else
        write_lines(s, edges, width, height, directions, peaks, found, rhos, rho_step, theta_step, theta_min, shortest, gap, out);
    AV_STAMP(7);
    AV_STAMPS_END(control, blockIdx.x == 0);
    if (av_thread() == 0 && atomicAdd(finished, 1u) == gridDim.x - 1u) {  // all blocks have read the counters
        count[0] = min(found, limit);
        count[1] = found > limit;
        *edge_count = *peak_count = *finished = 0u;
    }
}
