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
four of float32, eight of half precision (float16 or bfloat16).

The kernels are C++ templates over the type `T` of an element and the number of elements in a pack, `LANES`.
[Names in the kernels](terms.md#names-in-the-kernels) explains the functions that they share, all of which begin with
`av_`. The launch is in Python ([flat.py](../../cuda_ops/library/flat.py)).""",
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
of `e^(x - m)`; at first `m` is minus infinity and `s` is 0. With a new element `x` the maximum is `M = max(m, x)`,
and the sum `s e^(m - M) + e^(x - M)`.
Two parts of a row, with `m`, `s` and `n`, `t`, join in the same way: `M = max(m, n)`, `s e^(m - M) + t e^(n - M)`.
Both are in [av_softmax.cuh](../../cuda_ops/include/av_softmax.cuh).

To load a row only once, its threads keep it in their registers, up to 32 elements each
([av_row.cuh](../../cuda_ops/include/av_row.cuh)). How many threads share a row decides how long it may be: a warp
holds 1,024 elements, a block of 1,024 threads 32,768, a cluster of eight such blocks 262,144. A second step over
registers loads nothing, so versions 3 to 5 find the maximum first and then the sum, each by a reduction; only the
blocks of a cluster join two numbers each as above. The norms do the same, so the texts of versions 3 to 5 are in
[rows.py](../../cuda_ops/library/rows.py).

[log_softmax](log_softmax.md) has the same kernels: a kernel computes it where the template argument `IS_LOG` is
true. [Names in the kernels](terms.md#names-in-the-kernels) explains the functions that they call.""",
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
pack of four loads if it can. Versions 7 to 9 have these tiles for large matrices, and 64 x 128 for small ones.

Versions 1 to 4 are complete in their files. The later ones share their steps, which
[av_product.cuh](../../cuda_ops/library/matmul/av_product.cuh) has: copies of a tile, loads of factors, products and
stores. Read version 6 before it. Versions 7 to 9 are one function there, `av_multiply_by_warps`, with other template
arguments. [Names in the kernels](terms.md#names-in-the-kernels) explains what all operators share.""",
    "matmul_half": """\
The product is computed in tiles, as in [matmul](matmul.md), but by *tensor cores*: an instruction multiplies two
small matrices and adds the product to sums in registers. The factors have 2 bytes, the sums 4 (float32). A
processor's tensor cores do 2,048 multiply-adds in a clock, where its other units do 128 of float32. So the question
of each version is how the factors come to the tensor cores fast enough, and who waits.

- *Who multiplies.* In versions 2 and 3 each warp multiplies small matrices that its lanes hold in registers. From
  version 4 on four warps, a *warpgroup*, give one instruction (wgmma) that reads its factors from shared memory, and
  go on while it runs.
- *Who copies.* In version 2 threads load numbers into registers and store them to shared memory. In version 3 they
  ask for copies that go past the registers (cp.async). From version 4 on one thread asks the *copy engine* (TMA) for
  a whole *box*, here 64 x 64 numbers, and the engine says at a barrier in shared memory (mbarrier) when it has
  arrived.
- *Who waits.* Shared memory has room for several *stages*. A stage is full when its boxes have arrived, and empty
  when the products that read it have ended. From version 5 on one warpgroup only asks for boxes, as far ahead as
  stages are empty, and the others only multiply.
- *What is left over.* A tile's sums must be stored, during which its tensor cores idle unless something else runs. A
  number of tiles that is no multiple of 132 leaves processors idle at the end. Versions 6, 8 and 10 are about these
  two.

In shared memory the rows of a box are 128 bytes. Rows read at once would lie in the same banks, so each row has its
packs of 16 bytes in another order (a *swizzle*), which the engine makes and wgmma understands.""",
    "matmul_sparse": """\
A matrix is *2:4 sparse* if of each four neighbours in a row at most two are other than zero. It is packed once
([packing.py](../../cuda_ops/library/matmul_sparse/packing.py)): two values of each four, and for each of the two its
place among the four, 2 bits. From these bits, the *pattern*, the tensor cores pick the numbers of `b` that meet a
value, and do only those products: half of the multiply-adds in half of the time, and half of the bytes of `a`. The
rates below count all multiply-adds, those with zeros too, as a dense product has them.

All of `b` has to come to shared memory as before, so a processor needs twice as many of its bytes in the same time.
This is why tiles have more rows than those of [matmul_half](matmul_half.md): each number of `b` that has come serves
more of them. The pattern comes from memory to registers, in the order in which the instruction takes it.""",
    "matmul_parts": """\
A float32 has 24 bits of precision, a bfloat16 has 8. So a float32 is the sum of three bfloat16, its *parts*: the
number rounded to bfloat16, what is missing rounded to bfloat16, and what is then missing. The product of two numbers
is the sum of the nine products of their parts. Three of them are less than the rounding of float32, six are left, and
tensor cores multiply 16 times as fast as the other units multiply float32. (The more common *3xTF32* has parts of 11
bits: three products, each of which takes twice as long.)

Products of bfloat16 are exact in float32. Errors come from the sums: tensor cores cut off the bits that do not fit,
and do not round. The versions differ in how long such a sum may get. Numbers below 2^-110 lose precision, since their
last parts would be less than bfloat16's least number.""",
    "matmul_tf32": """\
The tensor cores read float32 as *TF32*: all of the exponent, but only 10 of the 23 bits behind the point. The product
then has an error of some 2^-11 for each factor, and torch uses it only if it is allowed to
(`torch.backends.cuda.matmul.allow_tf32`). The kernels are those of [matmul_half](matmul_half.md) with elements of 4
bytes; that page explains them.""",
    "matmul_quantized": """\
Elements have 8 bits: integers, or floating-point numbers of the form e4m3 (4 bits of exponent, 3 behind the point,
from 2^-9 to 448). So few values need *scales*: the matrix is the array times a factor, one for each row of `a` and
each column of `b`, or one for all. The kernel multiplies 8-bit numbers, adds them up, multiplies the sums by the
scales and stores bfloat16. The tiles are those of [matmul_half](matmul_half.md) with twice the depth in a box.

Sums of integers are exact. Those of floating-point numbers are not: for e4m3 the tensor cores keep sums of about 14
bits. *Promotion* means that they begin anew after some of the depth, and that what they had is added up in float32.""",
    "matmul_fused": """\
What follows a product in a network, such as a bias, an activation or a residual, would be a kernel of its own that
reads and writes the whole result. Here it is computed from the sums while they are in registers: the tile is that of
version 6 of [matmul_half](matmul_half.md), and a residual is loaded a part ahead of what is stored.""",
    "matmul_rows": """\
A softmax or a LayerNorm needs all of a row, but a block of a product has only a tile of it. So a *cluster* of up to
eight blocks computes whole rows: each block computes its tile of 64 rows as in [matmul_half](matmul_half.md), keeps
the sums in registers, and finds what its part says about each row: the greatest sum and the sum of exponentials for a
[softmax](softmax.md), mean and variance for a [LayerNorm](layer_norm.md). The blocks send each other these two
numbers for each row through distributed shared memory, join them by the formulas of those pages, and store the
normalized results.""",
    "matmul_batches": """\
Pairs of matrices of equal sizes, each an array of three dimensions, are multiplied by one launch. The tiles of all
pairs are one list, so that small matrices fill the processors together. A product can be scaled and added to another
array (`alpha a b + beta c`, as BLAS has it); with beta = 0 the array `c` is not read, and its NaN does not count.""",
    "activation": """\
Each result depends on one element, as in [add](add.md), which explains threads, packs and the bytes in flight.""",
    "activation_backward": """\
The gradient is computed from the result `y` of the forward pass, which is in memory anyway; `x` need not be kept.
Each result depends on one element of two arrays, as in [add](add.md).""",
    "softmax_backward": """\
The gradient needs one sum over the row, of `gradient * y`, and then both rows again for the result. What
[softmax](softmax.md) says of rows in registers holds here for two rows at once, so a thread holds half as many
elements of each.""",
    "norm_backward": """\
There are two results with sums in different directions. The gradient of `x` needs two sums over each row, as in
[layer_norm](layer_norm.md). The gradients of weight and bias are sums over all rows, one for each column. From
version 2 on blocks stay on the GPU and take rows in turn, each with columns' sums of its own, which it writes at its
end; a second pass adds up those of all blocks, in a fixed order.""",
    "norm_residual": """\
In a transformer a norm follows the addition of a residual. The two in one kernel read both arrays once, write the
sum, which is needed later, and the normalized rows: 4 transfers of an array, where two kernels need 5. The rest is as
in [layer_norm](layer_norm.md).""",
    "norm_softmax": """\
A softmax of normalized rows would read what the norm has just written. In one kernel the row stays in registers
between the two: one read and one write, where two kernels need two of each. Its steps are those of
[layer_norm](layer_norm.md), then those of [softmax](softmax.md).""",
}
