// Reductions over a warp, a block and a cluster of blocks. Every thread gets the result, and the order of the
// operations is fixed, so that two runs give the same bits.
#pragma once
#include "av_cuda.cuh"

struct av_sum {
    template <class V> __device__ static V identity() { return V(0); }
    template <class V> __device__ static V join(V a, V b) { return a + b; }
};
struct av_max {
    template <class V> __device__ static V identity() { return V(-INFINITY); }
    template <class V> __device__ static V join(V a, V b) { return fmaxf(a, b); }
};

// A butterfly: after each exchange twice as many lanes hold the same value.
template <class Op, class V> __device__ inline V av_reduce_warp(V x) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        x = Op::join(x, __shfl_xor_sync(AV_FULL_WARP, x, distance));
    return x;
}

// `slots` is shared memory for THREADS / 32 values that no other reduction of the kernel uses.
template <class Op, int THREADS, class V> __device__ inline V av_reduce_block(V x, V* slots) {
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "whole warps");
    x = av_reduce_warp<Op>(x);
    if constexpr (THREADS > 32) {
        if (av_lane() == 0) slots[av_warp()] = x;
        __syncthreads();
        x = av_reduce_warp<Op>(av_lane() < THREADS / 32 ? slots[av_lane()] : Op::template identity<V>());
    }
    return x;
}

// Two sums at once: half the barriers. `slots` as above.
template <int THREADS> __device__ inline float2 av_reduce_pair_block(float2 x, float2* slots) {
    x = make_float2(av_reduce_warp<av_sum>(x.x), av_reduce_warp<av_sum>(x.y));
    if constexpr (THREADS > 32) {
        if (av_lane() == 0) slots[av_warp()] = x;
        __syncthreads();
        x = av_lane() < THREADS / 32 ? slots[av_lane()] : make_float2(0.0f, 0.0f);
        x = make_float2(av_reduce_warp<av_sum>(x.x), av_reduce_warp<av_sum>(x.y));
    }
    return x;
}

// A cluster is a group of up to 8 blocks that run at the same time and can write to each other's shared memory (sm_90).
#ifdef AV_ON_CPU
inline unsigned av_cluster_rank() { return shim::cluster_rank(); }
inline void av_cluster_begin() { shim::cluster_arrive(); }
inline void av_cluster_arrive() { shim::cluster_arrive(); }
inline void av_cluster_wait() { shim::cluster_wait(); }
inline void av_cluster_store(float2* own, unsigned rank, float2 value) {
    *reinterpret_cast<float2*>(shim::peer_address(own, rank)) = value;
}
#else
__device__ inline unsigned av_cluster_rank() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}
// The first arrival; it only says that the block has started: writes before it need not be visible.
__device__ inline void av_cluster_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
// Each thread of the cluster arrives; writes before its arrival are visible to each thread that has waited.
__device__ inline void av_cluster_arrive() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
__device__ inline void av_cluster_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
// Writes `value` to the variable of block `rank` at the same place in shared memory as `own` in this block.
__device__ inline void av_cluster_store(float2* own, unsigned rank, float2 value) {
#if __CUDA_ARCH__ >= 900
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(unsigned(__cvta_generic_to_shared(own))), "r"(rank));
    asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(value.x), "f"(value.y) : "memory");
#endif
}
#endif

// Sends the `value` of each block to every block of the cluster, into `slots` (BLOCKS values of shared memory). All
// blocks must have started, and no block may still read the previous content of `slots`.
template <int BLOCKS> __device__ inline void av_tell_cluster(float2 value, float2* slots) {
    if (av_thread() < BLOCKS) av_cluster_store(&slots[av_cluster_rank()], av_thread(), value);
    av_cluster_arrive();
    av_cluster_wait();
}
// The same exchange for blocks that may not have started yet; the kernel must have called av_cluster_begin.
template <int BLOCKS> __device__ inline void av_exchange_in_cluster(float2 value, float2* slots) {
    av_cluster_wait();
    av_tell_cluster<BLOCKS>(value, slots);
}
