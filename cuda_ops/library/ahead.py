"""Launch rules of the kernels that take row after row and load rows ahead (include/rows/av_row_ring.cuh)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cuda_ops.library.ladder import PACK_BYTES, Problem
from cuda_ops.library.rows import CLUSTER_BLOCKS_MAX, CLUSTER_COLUMNS_MAX, EACH_MAX, ROWS_MAX, has_full_packs_of_half
from cuda_ops.runtime.launcher import Argument, Launcher, ceil_div

ALONE_THREADS, CLUSTER_THREADS = 512, 256
"""Threads of a block that has a row for itself, and of a cluster's block, while as many hold the row."""
THREADS_AT_ONCE = 1024
"""Threads that a processor runs at once: 64 registers for each."""
SHARED_BYTES_MAX = 222 << 10
"""Shared memory of a processor for rows and weights, bytes; 5 KB are left for the exchange and the driver."""
TIMED_COLUMNS_MIN = 4096
"""Rows of 1,024 are slower, by up to 62 % (H200), but for the norms' float32 ones (equal).

Those between have not been timed.
"""
LONG_COLUMNS = CLUSTER_BLOCKS_MAX * CLUSTER_THREADS * EACH_MAX
"""Longer rows take more threads, or more elements per thread, than 8 blocks of 256 threads."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Distribution of a row, and how it is loaded.

    * `vectors`, `threads`, `blocks`: each thread holds `vectors` packs; a row takes `blocks` blocks of `threads`.
    * `stages`: rows in shared memory; 0: a row is loaded into registers when it is needed.
    * `at_once`: blocks per processor for which the compiler limits the registers.
    * `is_persistent`: as many blocks as run at once take the rows in turn; otherwise a block takes one row.
    * `keeps_weights`: a block of a norm copies its weights and biases to shared memory while its first row arrives.
    """

    vectors: int
    threads: int
    blocks: int = 1
    stages: int = 0
    at_once: int = 1
    is_persistent: bool = False
    keeps_weights: bool = False

    def template(self, problem: Problem) -> str:
        """The first template arguments of the kernel."""
        packs = f"{problem.lanes}, {self.vectors}, {self.threads}"
        return f"{problem.element.cuda}, {packs}, {self.blocks}, {self.stages}, {self.at_once}"

    def part_bytes(self, problem: Problem) -> int:
        """Bytes of a block's part of a row."""
        return self.vectors * problem.lanes * self.threads * problem.element.size_bytes


def start(
    launcher: Launcher,
    kernel: str,
    shape: Ahead,
    problem: Problem,
    values: Sequence[Argument],
    kept: int = 0,
) -> None:
    """Launch `kernel` for all rows; shared memory also has room for `kept` arrays of a block's weights."""
    shared = (shape.stages + kept) * shape.part_bytes(problem)
    groups = problem.rows
    if shape.is_persistent:
        resident = launcher.resident_blocks(kernel, shape.threads, shared, shape.blocks) // shape.blocks
        groups = max(1, min(groups, resident))
    grid = (groups * shape.blocks, 1, 1)
    launcher.launch(kernel, grid, shape.threads, values, shared_bytes=shared, cluster=shape.blocks)


def fits(problem: Problem) -> bool:
    """Whether a cluster holds the row."""
    return problem.columns <= CLUSTER_COLUMNS_MAX and problem.rows <= ROWS_MAX


def is_faster(problem: Problem) -> bool:
    """Whether rows are long enough and in full packs.

    Then an older version is as fast or faster (H200) for the two lengths that the norms' ladder excludes, and by 0.6 %
    and 1.2 % in float32 LayerNorm of 16,384 and 262,144.
    """
    is_full = problem.lanes * problem.element.size_bytes == PACK_BYTES
    return problem.architecture >= 90 and is_full and problem.columns >= TIMED_COLUMNS_MIN and fits(problem)


def for_softmax(problem: Problem) -> Ahead:
    """32 elements per thread, and each row through shared memory; float32 of up to 32,768 elements in one block.

    Of rows of more than 65,536 elements, those of half precision are taken in turn, with two rows ahead; those of
    float32 leave no room for that, and go straight into the registers.
    """
    if problem.columns <= LONG_COLUMNS:
        alone = ALONE_THREADS * (2 if problem.element.size_bytes == 4 else 1)
        return replace(_spread(problem, EACH_MAX, alone), stages=1)
    return replace(_wide(problem), stages=2, is_persistent=True) if has_full_packs_of_half(problem) else _long(problem)


def for_norm(is_rms: bool, problem: Problem) -> Ahead:
    """64 bytes per thread if one block holds the row so, otherwise 128.

    A block loads its row ahead of the registers, but for LayerNorm's longer rows. A cluster takes its row without, and
    RMSNorm's weights come ahead instead if it has all blocks. LayerNorm's longest rows are taken in turn: its weights
    and biases, as many bytes as two more rows, are loaded once.
    """
    size = problem.element.size_bytes
    if not is_rms and problem.columns > LONG_COLUMNS:
        one = _spread(problem, EACH_MAX)
        at_once = min(one.at_once, SHARED_BYTES_MAX // (3 * one.part_bytes(problem)))
        if at_once == 0:
            return _long(problem)
        return replace(one, stages=1, at_once=at_once, is_persistent=True, keeps_weights=True)
    each = 64 // size
    if problem.columns > ALONE_THREADS * each:
        each = 128 // size if has_full_packs_of_half(problem) else EACH_MAX
    one = _spread(problem, each)
    if one.blocks == 1:
        return replace(one, stages=int(is_rms or problem.columns <= TIMED_COLUMNS_MIN))
    return replace(one, keeps_weights=is_rms and one.blocks == CLUSTER_BLOCKS_MAX)


def _long(problem: Problem) -> Ahead:
    """A cluster that loads its row straight into the registers.

    Not of 1,024 threads: their 64 registers do not hold 32 elements and a share of the pairs of 256 warps.
    """
    one = _spread(problem, EACH_MAX)
    return one if one.threads <= 512 else _wide(problem)


def _wide(problem: Problem) -> Ahead:
    """A cluster with 64 elements per thread, in 128 registers: half as many threads run at once."""
    one = _spread(problem, 2 * EACH_MAX)
    return replace(one, at_once=max(1, THREADS_AT_ONCE // 2 // one.threads))


def _spread(problem: Problem, each: int, alone: int = ALONE_THREADS) -> Ahead:
    """One block of up to `alone` threads, or the fewest blocks of 256 threads that hold the row, or 8 of more.

    Each thread holds `each` elements.
    """
    blocks, threads = 1, alone
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * threads * each:
        blocks, threads = 2 * blocks, CLUSTER_THREADS
    threads = ceil_div(ceil_div(problem.columns, blocks * each), 64) * 64
    return Ahead(each // problem.lanes, threads, blocks, at_once=max(1, THREADS_AT_ONCE // threads))
