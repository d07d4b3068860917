// The copy engine of sm_90 (TMA), and barriers in shared memory that wait for its copies and for warps.
//
// A phase of a barrier ends when all expected arrivals and all announced bytes have come. Phases are numbered by their
// parity: a wait for parity p returns when the phase with this parity has ended. Before the first phase, a wait for p =
// 1 returns at once.
#pragma once
#include "av_cuda.cuh"

// The host's `TensorMap` in a kernel.
struct alignas(64) av_tensor_map {
    uint64_t opaque[16];
};

#ifndef AV_ON_CPU
__device__ inline unsigned av_shared_address_of(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ inline void av_barrier_init(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(av_shared_address_of(barrier)), "r"(arrivals) : "memory");
}
// Makes the barriers that this thread has initialized visible to the copy engine and to the other blocks of the
// cluster.
__device__ inline void av_barriers_are_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ inline void av_arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(av_shared_address_of(barrier)) : "memory");
}
// Arrives at the barrier at the same place in block `rank` of the cluster. It signals that this thread has read shared
// memory. It does not make its stores visible: this would need a release over the cluster, which waits for all stores.
__device__ inline void av_arrive_at(uint64_t* barrier, int rank) {
    asm volatile(
        "{\n\t.reg .b32 there;\n\tmapa.shared::cluster.u32 there, %0, %1;\n\t"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t}" ::"r"(av_shared_address_of(barrier)),
        "r"(rank)
        : "memory");
}
// Arrives, and announces bytes that the copy engine will copy.
__device__ inline void av_arrive_expecting(uint64_t* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(av_shared_address_of(barrier)), "r"(bytes)
                 : "memory");
}
__device__ inline void av_wait_for_phase(uint64_t* barrier, unsigned parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n\tagain:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(
            av_shared_address_of(barrier)),
        "r"(parity)
        : "memory");
}

// Stores two floats at the place of `own` in block `rank` of the cluster; their bytes arrive at the `barrier` there.
// The launch must have clusters: in a launch of single blocks the instruction is illegal.
__device__ inline void av_send_to_block(float2* own, uint64_t* barrier, int rank, float2 value) {
    asm volatile(
        "{\n\t.reg .b32 there, then;\n\tmapa.shared::cluster.u32 there, %0, %2;\n\tmapa.shared::cluster.u32 then, %1, %2;\n\t"
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [there], {%3, %4}, [then];\n\t}" ::"r"(
            av_shared_address_of(own)),
        "r"(av_shared_address_of(barrier)), "r"(rank), "f"(value.x), "f"(value.y)
        : "memory");
}

__device__ inline void av_prefetch_map(const av_tensor_map& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(&map)) : "memory");
}
// Copies the box whose first element is (row, column); its bytes arrive at `barrier`. Elements outside the matrix are
// zero.
__device__ inline void av_copy_box(void* to, const av_tensor_map& map, int row, int column, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            av_shared_address_of(to)),
        "l"(reinterpret_cast<uint64_t>(&map)), "r"(column), "r"(row), "r"(av_shared_address_of(barrier))
        : "memory");
}
// Copies a box of one matrix of a batch; the number of the matrix is the third dimension of the map.
struct av_map_of_pair {
    const av_tensor_map& map;
    int number;
};
__device__ inline void av_copy_box(void* to, const av_map_of_pair& one, int row, int column, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
            av_shared_address_of(to)),
        "l"(reinterpret_cast<uint64_t>(&one.map)), "r"(column), "r"(row), "r"(one.number), "r"(av_shared_address_of(barrier))
        : "memory");
}
// Copies a box to all blocks of the cluster whose bits are set; in each of them, box and barrier are at the same
// places.
__device__ inline void av_copy_box_to_many(void* to, const av_tensor_map& map, int row, int column, uint64_t* barrier,
                                           uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(av_shared_address_of(to)),
        "l"(reinterpret_cast<uint64_t>(&map)), "r"(column), "r"(row), "r"(av_shared_address_of(barrier)), "h"(blocks)
        : "memory");
}
// Makes this thread's stores to shared memory visible to the copy engine and the tensor cores.
__device__ inline void av_show_shared_to_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Stores a box of the matrix; elements outside the matrix are not stored.
__device__ inline void av_store_box(const av_tensor_map& map, int row, int column, const void* from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
                     reinterpret_cast<uint64_t>(&map)),
                 "r"(column), "r"(row), "r"(av_shared_address_of(from))
                 : "memory");
}
__device__ inline void av_store_box(const av_map_of_pair& one, int row, int column, const void* from) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(
                     reinterpret_cast<uint64_t>(&one.map)),
                 "r"(column), "r"(row), "r"(one.number), "r"(av_shared_address_of(from))
                 : "memory");
}
__device__ inline void av_commit_boxes() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Waits until the engine has read the shared memory of all groups that this thread has committed, except the last
// LATER.
template <int LATER> __device__ inline void av_wait_until_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LATER) : "memory");
}
// Waits until the stores of all groups are complete.
__device__ inline void av_wait_until_stored() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
#else
// On the CPU a copy is done at once. The low word of a barrier counts the phases that have ended; the high word what
// the present one lacks: its one arrival as 2^24, and the announced bytes. Bytes may come before they are announced.
constexpr int AV_ONE_ARRIVAL = 1 << 24;
inline void av_barrier_add(uint64_t* barrier, int lacking) {
    unsigned* const ended = reinterpret_cast<unsigned*>(barrier);
    int* const lacks = reinterpret_cast<int*>(barrier) + 1;
    *lacks += lacking;
    if (*lacks == 0) ++*ended, *lacks = AV_ONE_ARRIVAL;
}
inline void av_barrier_init(uint64_t* barrier, int) { *barrier = uint64_t(AV_ONE_ARRIVAL) << 32; }
inline void av_barriers_are_made() {}
inline void av_arrive_expecting(uint64_t* barrier, int bytes) { av_barrier_add(barrier, bytes - AV_ONE_ARRIVAL); }
inline void av_wait_for_phase(uint64_t* barrier, unsigned parity) {
    const unsigned* const ended = reinterpret_cast<const unsigned*>(barrier);
    while ((*ended & 1u) == parity) shim::yield(ended);
}
inline void av_send_to_block(float2* own, uint64_t* barrier, int rank, float2 value) {
    *static_cast<float2*>(shim::peer_address(own, rank)) = value;
    av_barrier_add(static_cast<uint64_t*>(shim::peer_address(barrier, rank)), -int(sizeof(float2)));
}
#endif
