// Lines in a picture of edges: the votes and the order of cv2.HoughLines, and the segments along them.
//
// One cooperative launch:
//   1. Edge pixels -> list: 16 px a load, places from a block's prefix sum, one atomic a block.
//   2. A block takes an angle and counts all points in shared memory, so votes never meet in global memory; 4 points a
//      load; each product and sum is rounded on its own, as OpenCV's are.
//   3. Local maxima of the votes -> list of keys (votes, then position: OpenCV's order).
//   4. A warp counts how many keys beat its own: that is the line's place in the output. No sort.
//   5. Segments: a block takes a line; its warps look up 32 px a ballot, all at once, then one warp goes over the words,
//      whole runs at a time. (Version 1 had a warp walk alone, each look-up waiting for the one before: 62 us in all.)
#include "av_cuda.cuh"

constexpr int BINS = 10240;  // votes of one pass; wider pictures take several
constexpr int SEGMENTS = 4;  // kept of a line

struct Lines {
    float4* lines;  // rho, theta, votes, 0
    int4* segments;  // (limit, SEGMENTS): x0, y0, x1, y1, or -1
    int* count;
    int limit;
};

struct HoughShared {
    unsigned warp_total[32], first;
    uint32_t touched[1024];
};

__device__ void list_edges(HoughShared& s, const uint8_t* edges, int width, int height, uint32_t* points, unsigned* count) {
    const int64_t size = int64_t(width) * height, chunks = (size + 15) / 16;
    const bool vectors = (reinterpret_cast<uint64_t>(edges) & 15u) == 0;
    const int64_t rounds = (chunks + int64_t(gridDim.x) * av_threads() - 1) / (int64_t(gridDim.x) * av_threads());
    for (int64_t round = 0; round < rounds; ++round) {
        const int64_t chunk = (round * gridDim.x + blockIdx.x) * av_threads() + av_thread(), base = chunk * 16;
        uint32_t bits = 0u;
        if (vectors && base + 16 <= size) {
            const uint4 v = *reinterpret_cast<const uint4*>(edges + base);
            const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 16; ++i) bits |= uint32_t((word[i / 4] >> (8 * (i % 4)) & 0xffu) != 0u) << i;
        } else {
            for (int i = 0; i < 16 && base + i < size; ++i) bits |= uint32_t(edges[base + i] != 0) << i;
        }
        const unsigned own = __popc(bits);
        unsigned upto = own;
        for (int d = 1; d < 32; d *= 2) {
            const unsigned other = __shfl_up_sync(AV_FULL_WARP, upto, d);
            if (av_lane() >= d) upto += other;
        }
        if (av_lane() == 31) s.warp_total[av_warp()] = upto;
        __syncthreads();
        if (av_thread() == 0) {
            unsigned total = 0u;
            for (int w = 0; w < av_threads() / 32; ++w) {
                const unsigned here = s.warp_total[w];
                s.warp_total[w] = total;
                total += here;
            }
            s.first = total != 0u ? atomicAdd(count, total) : 0u;
        }
        __syncthreads();
        unsigned place = s.first + s.warp_total[av_warp()] + upto - own;
        for (; bits != 0u; bits &= bits - 1u) {
            const int64_t at = base + __ffs(int(bits)) - 1;
            points[place++] = uint32_t(at / width) << 16 | uint32_t(at % width);
        }
        __syncthreads();
    }
}

__device__ inline int rho_bin(uint32_t point, float cosine, float sine) {
    const float x = float(point & 0xffffu), y = float(point >> 16);
    return __float2int_rn(__fadd_rn(__fmul_rn(x, cosine), __fmul_rn(y, sine)));
}

__device__ void count_votes(int* bins, const uint32_t* points, int n, const float2* directions, int angles, int rhos,
                            int* votes) {
    const int middle = (rhos - 1) / 2;
    for (int angle = blockIdx.x; angle < angles; angle += gridDim.x) {
        const float cosine = directions[angle].x, sine = directions[angle].y;
        for (int first = 0; first < rhos; first += BINS) {
            const int here = min(BINS, rhos - first);
            for (int i = av_thread(); i < here; i += av_threads()) bins[i] = 0;
            __syncthreads();
            for (int i = av_thread() * 4; i < n; i += av_threads() * 4) {
                const uint4 four = __ldcg(reinterpret_cast<const uint4*>(points + i));
                const uint32_t point[4] = {four.x, four.y, four.z, four.w};
                int last = -1, alike = 0;  // neighbours on a line along this angle fall into one bin: one addition
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    int bin = rho_bin(point[k], cosine, sine) + middle - first;
                    if (i + k >= n || bin < 0 || bin >= here) bin = -1;
                    if (bin != last) {
                        if (last >= 0) atomicAdd(&bins[last], alike);
                        last = bin, alike = 0;
                    }
                    ++alike;
                }
                if (last >= 0) atomicAdd(&bins[last], alike);
            }
            __syncthreads();
            for (int i = av_thread(); i < here; i += av_threads()) votes[int64_t(angle) * rhos + first + i] = bins[i];
            __syncthreads();
        }
    }
}

// `bins` still holds the block's only angle, or is null.
__device__ void find_peaks(const int* bins, const int* votes, int angles, int rhos, int least, uint64_t* peaks, unsigned* count) {
    for (int angle = blockIdx.x; angle < angles; angle += gridDim.x) {
        const int* row = votes + int64_t(angle) * rhos;
        for (int base = 0; base < rhos; base += av_threads()) {
            const int r = base + av_thread();
            const int v = r < rhos ? (bins != nullptr ? bins[r] : __ldcg(&row[r])) : 0;
            bool is_peak = r < rhos && v > least;
            if (is_peak) {
                const int left = r > 0 ? __ldcg(&row[r - 1]) : 0, right = r + 1 < rhos ? __ldcg(&row[r + 1]) : 0;
                const int before = angle > 0 ? __ldcg(&row[r - rhos]) : 0;
                const int after = angle + 1 < angles ? __ldcg(&row[r + rhos]) : 0;
                is_peak = v > left && v >= right && v > before && v >= after;
            }
            const unsigned found = __ballot_sync(AV_FULL_WARP, is_peak);
            unsigned first = 0u;
            if (found != 0u && av_lane() == 0) first = atomicAdd(count, unsigned(__popc(found)));
            first = __shfl_sync(AV_FULL_WARP, first, 0);
            if (is_peak)
                peaks[first + __popc(found & ((1u << av_lane()) - 1u))] =
                    uint64_t(unsigned(v)) << 32 | (0xffffffffu - unsigned(angle * rhos + r));
        }
    }
}

__device__ void order_peaks(const uint64_t* peaks, int n, int rhos, float rho_step, float theta_step, float theta_min,
                            const Lines& out) {
    const int warps = gridDim.x * (av_threads() / 32);
    for (int own = blockIdx.x * (av_threads() / 32) + av_warp(); own < n; own += warps) {
        const uint64_t key = __ldcg(&peaks[own]);
        int better = 0;
        for (int i = av_lane(); i < n; i += 32) better += __ldcg(&peaks[i]) > key;
        for (int d = 16; d > 0; d /= 2) better += __shfl_xor_sync(AV_FULL_WARP, better, d);
        if (better < out.limit && av_lane() == 0) {
            const int at = int(0xffffffffu - uint32_t(key));
            const float rho = float(at % rhos - (rhos - 1) / 2) * rho_step;
            const float theta = theta_min + float(at / rhos) * theta_step;
            out.lines[better] = make_float4(rho, theta, float(uint32_t(key >> 32)), __int_as_float(at));
        }
    }
    for (int row = n + int(blockIdx.x) * av_threads() + av_thread(); row < out.limit; row += gridDim.x * av_threads())
        out.lines[row] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

struct Walk {  // along a line, one pixel a step of the axis it is closer to
    bool by_x;
    float rho, cosine, sine;
    __device__ int across(int along) const {
        const float c = by_x ? cosine : sine, d = by_x ? sine : cosine;
        return __float2int_rn(__fdiv_rn(__fsub_rn(rho, __fmul_rn(float(along), c)), d));
    }
};

__device__ inline void keep_segment(const Walk& walk, int from, int to, float shortest, int4* out, int& kept) {
    const int a = walk.across(from), b = walk.across(to);
    const float along = float(to - from), over = float(b - a);
    if (kept == SEGMENTS || along * along + over * over < shortest * shortest) return;
    if (av_lane() == 0) out[kept] = walk.by_x ? make_int4(from, a, to, b) : make_int4(a, from, b, to);
    ++kept;
}

// Whether an edge lies at the place or one pixel beside it: a line of one bin's width covers both.
__device__ inline bool touches(const uint8_t* edges, int width, int height, const Walk& walk, int along) {
    const int middle = walk.across(along), limit = walk.by_x ? height : width;
    int any = 0;
#pragma unroll
    for (int d = -1; d <= 1; ++d) {  // three loads under way together
        const int place = middle + d;
        const int x = walk.by_x ? along : place, y = walk.by_x ? place : along;
        if (place >= 0 && place < limit) any |= edges[int64_t(y) * width + x];
    }
    return any != 0;
}

__device__ void cut_segments(const uint32_t* touched, int words, const Walk& walk, float shortest, int gap,
                             int4* segments) {
    int start = -1, last = -1, kept = 0;
    for (int word = 0; word < words; ++word) {
        for (uint32_t bits = touched[word]; bits != 0u;) {
            const int first = __ffs(int(bits)) - 1, from = word * 32 + first;
            const unsigned rest = ~(bits >> first);
            const int run = rest == 0u ? 32 - first : min(__ffs(int(rest)) - 1, 32 - first);
            if (start >= 0 && from - last - 1 > gap) {
                keep_segment(walk, start, last, shortest, segments, kept);
                start = -1;
            }
            if (start < 0) start = from;
            last = from + run - 1;
            bits &= first + run >= 32 ? 0u : 0xffffffffu << (first + run);
        }
    }
    if (start >= 0) keep_segment(walk, start, last, shortest, segments, kept);
}

__device__ void follow_lines(HoughShared& s, const uint8_t* edges, int width, int height, const float2* directions,
                             int lines, int rhos, float rho_step, float shortest, int gap, const Lines& out) {
    for (int row = blockIdx.x; row < out.limit; row += gridDim.x) {
        int4* segments = out.segments + int64_t(row) * SEGMENTS;
        if (av_thread() < SEGMENTS) segments[av_thread()] = make_int4(-1, -1, -1, -1);
        if (row >= lines) continue;
        const float4 line = __ldcg(&out.lines[row]);
        const float2 d = directions[__float_as_int(line.w) / rhos];  // of length 1 / rho_step
        const Walk walk = {fabsf(d.x) < fabsf(d.y), line.x, d.x * rho_step, d.y * rho_step};
        const int length = walk.by_x ? width : height, words = (length + 31) / 32;
        for (int word = av_warp(); word < words; word += av_threads() / 32) {
            const int along = word * 32 + av_lane();
            const unsigned bits = __ballot_sync(AV_FULL_WARP, along < length && touches(edges, width, height, walk, along));
            if (av_lane() == 0) s.touched[word] = bits;
        }
        __syncthreads();
        if (av_warp() == 0) cut_segments(s.touched, words, walk, shortest, gap, segments);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(512)
hough_lines(const uint8_t* edges, int width, int height, const float2* directions, int angles, int rhos, int least,
            float rho_step, float theta_step, float theta_min, float shortest, int gap, uint32_t* points, int* votes,
            uint64_t* peaks, unsigned* control, float4* lines, int4* segments, int* count, int limit) {
    AV_SHARED(HoughShared, s);
    AV_DYNAMIC_SHARED(int, bins);
    const Lines out = {lines, segments, count, limit};
    unsigned *barrier = control, *edge_count = control + 1, *peak_count = control + 2;
    list_edges(s, edges, width, height, points, edge_count);
    av_grid_barrier(barrier);
    count_votes(bins, points, int(av_load_acquire(edge_count)), directions, angles, rhos, votes);
    av_grid_barrier(barrier);
    find_peaks(int(gridDim.x) >= angles && rhos <= BINS ? bins : nullptr, votes, angles, rhos, least, peaks, peak_count);
    av_grid_barrier(barrier);
    const int found = int(av_load_acquire(peak_count)), kept = min(found, limit);
    order_peaks(peaks, found, rhos, rho_step, theta_step, theta_min, out);
    av_grid_barrier(barrier);
    if (blockIdx.x == 0 && av_thread() == 0) {
        count[0] = kept;
        count[1] = found > limit;
        *edge_count = *peak_count = 0u;  // every block has read them
    }
    if (segments != nullptr)
        follow_lines(s, edges, width, height, directions, kept, rhos, rho_step, shortest, gap, out);
}
