// Barriers in shared memory (mbarrier, sm_80) that a thread arrives at without waiting, and waits for later. A barrier has
// phases: phase n ends when `count` arrivals came, and wait(n % 2) returns once it has.
#pragma once
#include "av_async.cuh"

#ifdef AV_ON_CPU
struct av_barrier {
    unsigned count, left, phase;
    void init(unsigned arrivals) { count = left = arrivals, phase = 0; }
    void arrive() {
        if (--left == 0) left = count, phase ^= 1u;
    }
    void arrive_after_copies() { arrive(); }
    void wait(unsigned parity) const {
        while (phase == parity) AV_PAUSE();
    }
};
#else
struct av_barrier {
    uint64_t word;
    __device__ unsigned address() const { return unsigned(__cvta_generic_to_shared(&word)); }
    __device__ void init(unsigned arrivals) {
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(arrivals) : "memory");
    }
    __device__ void arrive() {
        asm volatile("{\n\t.reg .b64 state;\n\tmbarrier.arrive.shared.b64 state, [%0];\n\t}" ::"r"(address()) : "memory");
    }
    // Arrives when all copies that this thread started before have ended.
    __device__ void arrive_after_copies() {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
    }
    __device__ void wait(unsigned parity) const {
        unsigned done = 0;
        while (done == 0)
            asm volatile(
                "{\n\t.reg .pred is_done;\n\tmbarrier.try_wait.parity.shared.b64 is_done, [%1], %2;\n\t"
                "selp.u32 %0, 1, 0, is_done;\n\t}"
                : "=r"(done)
                : "r"(address()), "r"(parity)
                : "memory");
    }
};
#endif
