// CUDA's execution model on one CPU thread, as far as this package's kernels need it. Every CUDA thread is a fiber;
// barriers, warp votes and shuffles switch to the next fiber. It is slow and exact: for tests of logic at small sizes.
#pragma once
#define AV_ON_CPU 1

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __constant__ static const
#define __align__(n) alignas(n)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

namespace shim {

struct Warp {
    uint64_t brought[32], result[32];  // the lanes' values in the current vote or shuffle, and in the last finished one
    unsigned mask = 0, arrived = 0, took_part = 0, present = 0, round = 0;
};

struct Block {
    dim3 index;
    unsigned threads = 0, done = 0, waiting = 0, round = 0;
    int votes = 0, vote_result = 0;
    std::vector<Warp> warps;
    std::map<int, std::unique_ptr<unsigned char[]>> shared;
    std::map<int, size_t> shared_bytes;
    std::vector<unsigned char> dynamic;
};

struct Cluster {
    std::vector<Block>* blocks = nullptr;
    unsigned threads = 0, arrived = 0, round = 0;
};

struct Fiber {
    ucontext_t start;
    jmp_buf context;
    Block* block;
    dim3 thread;
    unsigned number;
    bool is_new, done;
    const unsigned* awaited;  // runnable once this differs from `seen`; null: runnable
    unsigned seen;
    unsigned cluster_round;  // of the cluster's barrier at which this thread arrived last
    std::unique_ptr<char[]> stack;
};

constexpr size_t STACK_BYTES = 48 * 1024;
inline dim3 grid_dim, block_dim;
inline Fiber* current = nullptr;
inline jmp_buf scheduler;
inline ucontext_t unused;
inline const std::function<void()>* body = nullptr;
inline Cluster cluster;  // the one that runs now

// Fibers start by swapcontext and switch by _setjmp, which makes no system call.
inline void yield(const unsigned* awaited = nullptr) {
    current->awaited = awaited;
    if (awaited) current->seen = *awaited;
    if (_setjmp(current->context) == 0) _longjmp(scheduler, 1);
}

inline void finish_barrier(Block& block) {
    block.vote_result = block.votes;
    block.votes = 0;
    block.waiting = 0;
    block.round++;
}

inline void finish_exchange(Warp& warp) {
    std::memcpy(warp.result, warp.brought, sizeof warp.brought);
    warp.took_part = warp.arrived;
    warp.arrived = 0;
    warp.round++;
}

inline void enter() {
    (*body)();
    Block& block = *current->block;
    Warp& warp = block.warps[current->number / 32];
    current->done = true;
    block.done++;
    warp.present &= ~(1u << (current->number % 32));
    if (block.waiting != 0 && block.waiting == block.threads - block.done) finish_barrier(block);
    if (warp.arrived != 0 && warp.arrived == (warp.mask & warp.present)) finish_exchange(warp);
    _longjmp(scheduler, 1);
}

// All threads of the block that have not returned meet here; returns the number of non-zero `vote`s.
inline int barrier(int vote) {
    Block& block = *current->block;
    block.votes += vote != 0;
    if (++block.waiting == block.threads - block.done) finish_barrier(block);
    else yield(&block.round);
    return block.vote_result;
}

// Each lane of `mask` passes a value; `take` reads all of them once every lane has arrived.
template <class F> auto exchange(unsigned mask, uint64_t value, F take) {
    Warp& warp = current->block->warps[current->number / 32];
    const unsigned lane = current->number % 32, bit = 1u << lane;
    if ((mask & bit) == 0) { std::fprintf(stderr, "shim: lane %u is not in the mask it passed\n", lane); std::abort(); }
    if (warp.arrived & bit) { std::fprintf(stderr, "shim: lane %u arrives twice\n", lane); std::abort(); }
    warp.mask = mask;
    warp.brought[lane] = value;
    warp.arrived |= bit;
    if (warp.arrived == (mask & warp.present)) finish_exchange(warp);
    else yield(&warp.round);
    return take(warp.result, warp.took_part);
}

inline unsigned char* shared_memory_of(Block& block, int key, size_t bytes) {
    auto& slot = block.shared[key];
    if (!slot) { slot.reset(new unsigned char[bytes + 16]); std::memset(slot.get(), 0xA5, bytes + 16); }
    block.shared_bytes[key] = bytes;
    return reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(slot.get()) + 15) & ~uintptr_t(15));
}
inline unsigned char* shared_memory(int key, size_t bytes) { return shared_memory_of(*current->block, key, bytes); }

inline unsigned cluster_rank() { return unsigned(current->block - cluster.blocks->data()); }
inline void cluster_arrive() {
    current->cluster_round = cluster.round;
    if (++cluster.arrived == cluster.threads) { cluster.arrived = 0; cluster.round++; }
}
inline void cluster_wait() {
    if (cluster.round == current->cluster_round) yield(&cluster.round);
}
// Where block `rank` of the cluster has the static shared variable that holds `own` in this block.
inline void* peer_address(void* own, unsigned rank) {
    for (auto& [key, bytes] : current->block->shared_bytes) {
        const ptrdiff_t offset = static_cast<unsigned char*>(own) - shared_memory(key, bytes);
        if (offset >= 0 && size_t(offset) < bytes)
            return shared_memory_of(cluster.blocks->at(rank), key, bytes) + offset;
    }
    std::fprintf(stderr, "shim: no shared variable lies at the address that a block passed to its cluster\n");
    std::abort();
}

inline std::vector<std::unique_ptr<Fiber>>& pool() { static std::vector<std::unique_ptr<Fiber>> fibers; return fibers; }

inline void run_blocks(std::vector<Block>& blocks) {
    auto& fibers = pool();
    size_t used = 0;
    cluster = {&blocks, unsigned(blocks.size()) * block_dim.x * block_dim.y * block_dim.z};
    for (Block& block : blocks) {
        const unsigned threads = block_dim.x * block_dim.y * block_dim.z;
        block.threads = threads;
        block.warps.resize((threads + 31) / 32);
        for (unsigned t = 0; t < threads; ++t, ++used) {
            block.warps[t / 32].present |= 1u << (t % 32);
            if (used == fibers.size()) {
                fibers.emplace_back(new Fiber);
                fibers.back()->stack.reset(new char[STACK_BYTES]);
            }
            Fiber& f = *fibers[used];
            f.block = &block;
            f.number = t;
            f.done = false;
            f.is_new = true;
            f.awaited = nullptr;
            f.thread = {t % block_dim.x, t / block_dim.x % block_dim.y, t / (block_dim.x * block_dim.y)};
            getcontext(&f.start);
            f.start.uc_stack.ss_sp = f.stack.get();
            f.start.uc_stack.ss_size = STACK_BYTES;
            f.start.uc_link = nullptr;
            makecontext(&f.start, enter, 0);
        }
    }
    static size_t left, next;  // static: they outlive the jumps
    static bool ran;
    ran = true;
    for (left = used; left > 0;) {
        if (!ran) { std::fprintf(stderr, "shim: every thread waits: a barrier that not all reach\n"); std::abort(); }
        ran = false;
        left = 0;
        for (next = 0; next < used; ++next) {
            current = fibers[next].get();
            if (current->done) continue;
            if (current->awaited == nullptr || *current->awaited != current->seen) {
                ran = true;
                if (_setjmp(scheduler) == 0) {
                    if (!current->is_new) _longjmp(current->context, 1);
                    current->is_new = false;
                    swapcontext(&unused, &current->start);
                }
            }
            left += !fibers[next]->done;
        }
    }
    current = nullptr;
}

// Runs the blocks one after the other, or each cluster of blocks at once, or all at once for a cooperative launch.
inline void run(dim3 grid, dim3 block, unsigned shared_bytes, bool cooperative, unsigned cluster_blocks,
                const std::function<void()>& f) {
    grid_dim = grid;
    block_dim = block;
    body = &f;
    std::vector<Block> blocks;
    for (unsigned z = 0; z < grid.z; ++z)
        for (unsigned y = 0; y < grid.y; ++y)
            for (unsigned x = 0; x < grid.x; ++x) {
                blocks.emplace_back();
                blocks.back().index = {x, y, z};
                blocks.back().dynamic.assign(shared_bytes + 16, 0xA5);
                if (!cooperative && blocks.size() == cluster_blocks) { run_blocks(blocks); blocks.clear(); }
            }
    if (!blocks.empty()) run_blocks(blocks);
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_reference_t<A>*>(arguments[I])...);
}
template <class... A> void call(void (*kernel)(A...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<A...>{});
}
template <class... A> int count(void (*)(A...)) { return sizeof...(A); }

}  // namespace shim

#define threadIdx (shim::current->thread)
#define blockIdx (shim::current->block->index)
#define blockDim (shim::block_dim)
#define gridDim (shim::grid_dim)
#define AV_SHARED(Type, name) Type& name = *reinterpret_cast<Type*>(shim::shared_memory(__LINE__, sizeof(Type)))
#define AV_SHARED_ARRAY(Type, name, count) \
    Type(&name)[count] = *reinterpret_cast<Type(*)[count]>(shim::shared_memory(__LINE__, sizeof(Type) * (count)))
#define AV_DYNAMIC_SHARED(Type, name)                     \
    Type* name = reinterpret_cast<Type*>(                 \
        (reinterpret_cast<uintptr_t>(shim::current->block->dynamic.data()) + 15) & ~uintptr_t(15))
#define AV_PAUSE() shim::yield()

inline void __syncthreads() { shim::barrier(0); }
inline int __syncthreads_or(int v) { return shim::barrier(v) != 0; }
inline int __syncthreads_count(int v) { return shim::barrier(v); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __syncwarp(unsigned mask = 0xffffffffu) { shim::exchange(mask, 0, [](uint64_t*, unsigned) { return 0; }); }
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return shim::exchange(mask, predicate != 0, [](uint64_t* v, unsigned arrived) {
        unsigned bits = 0;
        for (int i = 0; i < 32; ++i) if (arrived >> i & 1u) bits |= unsigned(v[i] & 1u) << i;
        return bits;
    });
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }
template <class T> T shim_shuffle(unsigned mask, T value, int source) {
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    raw = shim::exchange(mask, raw, [source](uint64_t* v, unsigned) { return v[source & 31]; });
    std::memcpy(&value, &raw, sizeof(T));
    return value;
}
inline int shim_lane() { return int(shim::current->number % 32); }
template <class T> T __shfl_sync(unsigned m, T v, int lane) { return shim_shuffle(m, v, lane); }
template <class T> T __shfl_up_sync(unsigned m, T v, int d) {
    return shim_shuffle(m, v, shim_lane() >= d ? shim_lane() - d : shim_lane());
}
template <class T> T __shfl_down_sync(unsigned m, T v, int d) {
    return shim_shuffle(m, v, shim_lane() + d < 32 ? shim_lane() + d : shim_lane());
}
template <class T> T __shfl_xor_sync(unsigned m, T v, int d) { return shim_shuffle(m, v, shim_lane() ^ d); }

template <class T> struct shim_same { using type = T; };
template <class T> using shim_as = typename shim_same<T>::type;
template <class T> T atomicAdd(T* p, shim_as<T> v) { T old = *p; *p = old + v; return old; }
template <class T> T atomicMax(T* p, shim_as<T> v) { T old = *p; *p = std::max(old, v); return old; }
template <class T> T atomicMin(T* p, shim_as<T> v) { T old = *p; *p = std::min(old, v); return old; }
template <class T> T atomicOr(T* p, shim_as<T> v) { T old = *p; *p = old | v; return old; }
template <class T> T atomicAnd(T* p, shim_as<T> v) { T old = *p; *p = old & v; return old; }
template <class T> T atomicExch(T* p, shim_as<T> v) { T old = *p; *p = v; return old; }
template <class T> T atomicCAS(T* p, shim_as<T> expected, shim_as<T> v) {
    T old = *p;
    if (old == expected) *p = v;
    return old;
}
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> void __stcg(T* p, shim_as<T> v) { *p = v; }
inline unsigned av_load_acquire(const unsigned* p) { return *p; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(unsigned(x)); }
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned which = selector >> (4 * i) & 7u;
        result |= ((which < 4 ? low >> (8 * which) : high >> (8 * (which - 4))) & 0xffu) << (8 * i);
    }
    return result;
}
inline unsigned __dp2a_lo(unsigned pair, unsigned bytes, unsigned sum) {
    return sum + (pair & 0xffffu) * (bytes & 0xffu) + (pair >> 16) * (bytes >> 8 & 0xffu);
}
inline unsigned __dp2a_hi(unsigned pair, unsigned bytes, unsigned sum) { return __dp2a_lo(pair, bytes >> 16, sum); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned((uint64_t(high) << 32 | low) >> (shift & 31u));
}
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (x >> i & 1u) << (31 - i);
    return r;
}
inline int __float2int_rn(float x) { return int(std::nearbyintf(x)); }
inline unsigned __float_as_uint(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
inline int __float_as_int(float x) { int u; std::memcpy(&u, &x, 4); return u; }
inline float __int_as_float(int u) { float x; std::memcpy(&x, &u, 4); return x; }
inline float __uint_as_float(unsigned u) { float x; std::memcpy(&x, &u, 4); return x; }
inline float __fmul_rn(float a, float b) { volatile float r = a * b; return r; }
inline float __fadd_rn(float a, float b) { volatile float r = a + b; return r; }
inline float __fadd_rd(float a, float b) {
    const double sum = double(a) + double(b);
    const float nearest = float(sum);
    return double(nearest) > sum ? std::nextafter(nearest, -INFINITY) : nearest;
}
inline float __fsub_rn(float a, float b) { volatile float r = a - b; return r; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __saturatef(float x) { return x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
using std::max;
using std::min;

struct av_half;
// Conversion to and from IEEE half by hand: g++ 12 has no _Float16 in C++.
inline uint16_t shim_half_bits(float x) {
    const unsigned u = __float_as_uint(x), sign = u >> 16 & 0x8000u;
    const float a = std::fabs(x);
    if (a != a) return uint16_t(sign | 0x7e00u);
    if (a >= 65520.0f) return uint16_t(sign | 0x7c00u);
    int exponent;
    std::frexp(a, &exponent);  // a in [2^(e-1), 2^e)
    const float step = std::ldexp(1.0f, std::max(exponent - 11, -24));
    const float rounded = std::nearbyintf(a / step) * step;
    if (rounded == 0.0f) return uint16_t(sign);
    std::frexp(rounded, &exponent);
    if (exponent <= -14) return uint16_t(sign | unsigned(std::ldexp(rounded, 24)));
    return uint16_t(sign | unsigned(exponent + 14) << 10 | (unsigned(std::ldexp(rounded, 11 - exponent)) & 0x3ffu));
}
inline float shim_half_value(uint16_t b) {
    const int exponent = b >> 10 & 31, fraction = b & 0x3ff;
    const float a = exponent == 31 ? (fraction ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(float(fraction), -24)
                                    : std::ldexp(float(fraction + 1024), exponent - 25);
    return b >> 15 ? -a : a;
}
