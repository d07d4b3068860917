// Copies a frame's small inputs and results between a GPU and pinned host memory, all by one kernel.
//
// Copy nodes in the frame's graph would run on the copy engine: the GPU would switch between engines for each copy, and
// the driver would submit more work. A kernel can access pinned host memory directly.
//
// Bytes moved: one read and one write per byte, over the bus.
#include "av_cuda.cuh"

constexpr int PARTS = 8, THREADS = 256;

struct Part {
    const uint8_t* from;
    uint8_t* to;
    int bytes;
};

#define PART(n) const uint8_t *from##n, uint8_t *to##n, int bytes##n

// One row of blocks per part; unused parts have 0 bytes.
extern "C" __global__ void __launch_bounds__(THREADS)
exchange(PART(0), PART(1), PART(2), PART(3), PART(4), PART(5), PART(6), PART(7)) {
    const Part parts[PARTS] = {{from0, to0, bytes0}, {from1, to1, bytes1}, {from2, to2, bytes2}, {from3, to3, bytes3},
                               {from4, to4, bytes4}, {from5, to5, bytes5}, {from6, to6, bytes6}, {from7, to7, bytes7}};
    Part part = parts[0];
#pragma unroll
    for (int n = 1; n < PARTS; ++n)
        if (int(blockIdx.y) == n) part = parts[n];
    const bool is_even = ((reinterpret_cast<uint64_t>(part.from) | reinterpret_cast<uint64_t>(part.to)) & 15u) == 0;
    const int quads = is_even ? part.bytes / 16 : 0, stride = gridDim.x * THREADS;
    const int first = blockIdx.x * THREADS + threadIdx.x;
    for (int i = first; i < quads; i += stride)
        reinterpret_cast<uint4*>(part.to)[i] = reinterpret_cast<const uint4*>(part.from)[i];
    for (int i = quads * 16 + first; i < part.bytes; i += stride) part.to[i] = part.from[i];
}
