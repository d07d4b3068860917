"""What the page of an operator says before its versions, in Markdown, by the folder of its ladder."""

from __future__ import annotations

INTRODUCTIONS = {
    "add": """\
A *kernel* is a function that many *threads* of the GPU run at once. The program on the CPU (the *host*) launches it
as a *grid* of *blocks*, here of 256 threads each. A thread knows the number of its block (`blockIdx.x`) and its own
number in the block (`threadIdx.x`). From these it computes which element is its own:
`blockIdx.x * 256 + threadIdx.x`. For 1,000 elements the host launches four blocks, and the last 24 threads of the
last block find no element left and do nothing.

The GPU gives each block to one of its *processors*; an H100 has 132. A processor runs several blocks at a time and
takes a new one when one has ended. Its threads run in *warps* of 32, and a warp takes each instruction for all its
threads together. If they load neighbouring elements, the 32 loads of 4 bytes are a single line of 128 bytes in
memory.

Data from memory takes hundreds of cycles to arrive (the *latency*). Meanwhile the warp waits, and other warps of the
processor run. The memory is busy only if enough bytes are *in flight*: asked for, and not yet there. An addition is
little work beside that, so the versions differ in two things: how many bytes are in flight, and how many
instructions that takes. A *pack* is up to 16 bytes of neighbouring elements, which one instruction loads or stores:
four of float32, eight of half precision (float16 or bfloat16).""",
    "reduce": """\
One number is computed from all elements, so threads must pass on what they have found. Each thread first joins many
elements to a *partial result* in a register: a sum, or the greatest element so far. Then the partial results of a
block's threads are joined, then those of all blocks:

- Threads of a warp exchange registers by *shuffles*, an instruction that needs no memory.
- Threads of a block exchange numbers through *shared memory*, a small fast memory of the processor. A *barrier*
  (`__syncthreads()`) lets no thread go on before all have come to it, and so have written.
- Blocks exchange numbers through device memory. Either a second launch begins when the first one has ended, or the
  blocks count how many of them have written, by *atomic* additions, of which none is lost.

The order is always the same, since a floating-point sum depends on it.""",
    "softmax": """\
The greatest element of a row is subtracted first, since `e^x` overflows float32 above 88; the quotients stay the
same. So there are three steps: the maximum of the row, the sum of `e^(x - max)`, and the result. The first two need
all elements of the row, so its threads join their results, as [sum](sum.md) explains.

The first two steps can be one, the *online softmax*. Keep the maximum `m` of the elements so far, and their sum `s`
of `e^(x - m)`. With a new element `x` the maximum is `M = max(m, x)`, and the sum `s e^(m - M) + e^(x - M)`.
Two parts of a row, with `m`, `s` and `n`, `t`, join in the same way: `M = max(m, n)`, `s e^(m - M) + t e^(n - M)`.
Both are in [av_softmax.cuh](../../cuda_ops/include/av_softmax.cuh).

To load a row only once, its threads keep it in their registers, up to 32 elements each
([av_row.cuh](../../cuda_ops/include/av_row.cuh)). How many threads share a row decides how long it may be: a warp
holds 1,024 elements, a block of 1,024 threads 32,768, a cluster of eight such blocks 262,144. The norms do the same,
so versions 3 to 5 are described in [rows.py](../../cuda_ops/library/rows.py).""",
    "norm": """\
The steps are those of [softmax](softmax.md): two results that need the whole row, here its mean and its variance,
then the result of each element. RMSNorm has no mean, and so a step less. Versions 3 to 5 keep the row in registers,
as those of softmax do.

Mean and variance can be found in one pass (*Welford's update*). Keep the number of elements `n`, their mean `m` and
the sum of their squared distances to it, `q`. Two parts with `n`, `m`, `q` and `k`, `l`, `r` join to `n + k` elements
with the mean `m + (l - m) k / (n + k)` and the sum `q + r + (l - m)^2 n k / (n + k)`. The mean of the squares less the
square of the mean would be simpler, but loses digits when the mean is large.""",
    "matmul": """\
An element of the result is the sum over the *depth* of a row of `a` times a column of `b` (BLAS calls this SGEMM).
Each element of a matrix takes part in thousands of multiply-adds, but a load takes more time than a multiply-add. So
each version asks the same question: how many loads does a multiply-add take, and from where?

- From device memory or the L2 cache to shared memory: a block computes a *tile* of the result. It goes along the
  depth in *steps*: its threads copy the parts of `a` and `b` that a step needs to shared memory, wait at a barrier,
  and multiply. In a tile of 128 x 128 each number that was copied serves 128 multiply-adds.
- From shared memory to registers: a thread computes several elements. For a square of 8 x 8 it loads 8 numbers of
  each matrix, which serve 64 multiply-adds. One instruction loads four of them (a *pack* of 16 bytes) if they lie
  side by side.
- Shared memory has 32 *banks*; neighbouring words of 4 bytes lie in neighbouring banks. If threads want different
  words of one bank at once, they are served one after the other (a *bank conflict*).

| version | tile of a block | step | elements of a thread | threads | loads from shared memory for 64 multiply-adds |
| --- | --- | --- | --- | --- | --- |
| 1 | 8 x 32 | 1 | 1 | 256 | none: 128 from the caches and the memory |
| 2 | 32 x 32 | 32 | 1 | 1,024 | 80, of which 16 are packs |
| 3 | 64 x 64 | 8 | 8 x 1 | 512 | 24, of which 16 are packs |
| 4, 5, 6 | 128 x 128 | 8 | 8 x 8 | 256 | 4 packs |
| 7 | 128 x 256 | 16 | 16 x 8 | 256 | 3 packs |
| 8, 9 | 128 x 256 | 8 | 16 x 8 | 256 | 3 packs |

`tests/cuda_ops/library/test_ladder_machine_code.py` counts these loads in the machine code; the compiler makes one
pack of four loads if it can. Versions 7 to 9 have these tiles for large matrices, and 64 x 128 for small ones.""",
}
