// Asynchronous copies from global to shared memory that bypass the registers (cp.async, sm_80).
#pragma once
#include "av_vector.cuh"

// Copies one pack; the thread that copies it must also be the one that reads it. A pack of two bytes is copied
// synchronously, because there is no asynchronous instruction for it.
template <class T, int LANES> __device__ inline void av_copy_async(T* shared, const T* global) {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    const unsigned to = unsigned(__cvta_generic_to_shared(shared));
    constexpr int BYTES = sizeof(T) * LANES;
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    } else if constexpr (BYTES >= 4) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
    } else {
        av_store<T, LANES>(shared, av_load<T, LANES>(global));
    }
#else
    av_store<T, LANES>(shared, av_load<T, LANES>(global));
#endif
}
// Copies one pack, or writes zeros if `is_there` is false; `global` need not be a valid address then.
template <class T, int LANES> __device__ inline void av_copy_async_or_zero(T* shared, const T* global, bool is_there) {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    constexpr int BYTES = sizeof(T) * LANES;
    const unsigned to = unsigned(__cvta_generic_to_shared(shared));
    const int bytes = is_there ? BYTES : 0;
    if constexpr (BYTES == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
    } else if constexpr (BYTES < 4) {
        av_store<T, LANES>(shared, is_there ? av_load<T, LANES>(global) : av_pack<T, LANES>{});
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(BYTES), "r"(bytes) : "memory");
    }
#else
    av_store<T, LANES>(shared, is_there ? av_load<T, LANES>(global) : av_pack<T, LANES>{});
#endif
}
// av_copy_async with the hint that the L2 cache keeps the data longest.
template <class T, int LANES> __device__ inline void av_copy_async_kept_in_l2(T* shared, const T* global) {
#if AV_HAS_L2_HINTS
    if constexpr (sizeof(T) * LANES == 16) {
        const unsigned to = unsigned(__cvta_generic_to_shared(shared));
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(global),
                     "l"(AV_L2_EVICT_LAST)
                     : "memory");
    } else {
        av_copy_async<T, LANES>(shared, global);
    }
#else
    av_copy_async<T, LANES>(shared, global);
#endif
}
// Ends a group of copies of this thread.
__device__ inline void av_commit_copies() {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until all groups of this thread have arrived, except the last LATER ones.
template <int LATER> __device__ inline void av_wait_for_copies() {
#if !defined(AV_ON_CPU) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
#endif
}
