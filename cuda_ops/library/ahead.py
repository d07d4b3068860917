"""Launch rules of the kernels that take row after row and load rows ahead (include/rows/av_row_ring.cuh).

Chosen by the shapes that an H200 timed: docs/operators/ahead_tried.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cuda_ops.library.ladder import PACK_BYTES, Problem
from cuda_ops.library.rows import (
    BLOCK_COLUMNS_MAX,
    CLUSTER_BLOCKS_MAX,
    CLUSTER_COLUMNS_MAX,
    EACH_MAX,
    ROWS_MAX,
    has_full_packs_of_half,
)
from cuda_ops.runtime.launcher import Argument, Launcher, ceil_div

ALONE_THREADS, CLUSTER_THREADS = 512, 256
"""Threads of a block that has a row for itself, and of a cluster's block, while as many hold the row."""
THREADS_AT_ONCE = 1024
"""Threads that a processor runs at once: 64 registers for each."""
SHARED_BYTES_MAX = 222 << 10
"""Shared memory of a processor for rows and weights, bytes; 5 KB are left for the exchange and the driver."""
TIMED_COLUMNS_MIN = 4096
"""Rows of 1,024 are slower, by 2 % to 64 % (H200).

Those between have not been timed.
"""
EACH_BYTES = 64
"""Bytes of a row that a thread of a norm holds, four packs, where these are enough."""


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

    Then an older version is as fast (H200) only for the length that the norms' ladder excludes.
    """
    is_full = problem.lanes * problem.element.size_bytes == PACK_BYTES
    return problem.architecture >= 90 and is_full and problem.columns >= TIMED_COLUMNS_MIN and fits(problem)


def for_softmax(is_log: bool, problem: Problem) -> Ahead:
    """32 elements per thread, each row through shared memory, ahead of the registers.

    Half precision of more than 32,768 elements takes 8 blocks with 64 elements per thread, rows in turn. Blocks of more
    than 512 threads also take them in turn: one of them fills a processor, which would be idle from its end to the
    begin of the next one. The logarithm's float32 rows of more than 65,536 go straight into the registers, since with
    copies of 131,072 one variable did not fit into them: 64 elements per thread where 32 need more than 512 threads.
    """
    if has_full_packs_of_half(problem) and problem.columns > BLOCK_COLUMNS_MAX:
        return replace(_wide(problem), stages=1, is_persistent=True)
    one = _spread(problem, EACH_MAX)
    if is_log and problem.element.size_bytes == 4 and problem.columns > 2 * BLOCK_COLUMNS_MAX:
        return one if one.threads <= ALONE_THREADS else _wide(problem)
    return replace(one, stages=1, is_persistent=one.threads > ALONE_THREADS)


def for_norm(is_rms: bool, problem: Problem) -> Ahead:
    """64 bytes per thread, but for rows of RMSNorm that one block holds with 128.

    * A block of up to 512 threads loads its row ahead of the registers, but for LayerNorm's rows of more than 4,096.
    * LayerNorm's longer rows take one or two blocks of up to 1,024 threads, in turn with one row ahead.
    * All that are longer take 8 blocks (`_eight_blocks_of_a_norm`).
    """
    size = problem.element.size_bytes
    each = EACH_BYTES // size
    if problem.columns <= ALONE_THREADS * each:
        return replace(_spread(problem, each), stages=int(is_rms or problem.columns <= TIMED_COLUMNS_MIN))
    if is_rms:
        one = _spread(problem, 2 * each if has_full_packs_of_half(problem) else EACH_MAX)
        return replace(one, stages=1) if one.blocks == 1 else _eight_blocks_of_a_norm(is_rms, problem)
    for blocks in (1, 2):
        if problem.columns <= blocks * THREADS_AT_ONCE * each:
            return replace(_over(problem, each, blocks), stages=1, is_persistent=True)
    return _eight_blocks_of_a_norm(is_rms, problem)


def _eight_blocks_of_a_norm(is_rms: bool, problem: Problem) -> Ahead:
    """A cluster of 8 blocks, which keep their weights; with more than 256 threads, rows in turn with one row ahead.

    Float32 of more than 131,072 elements needs 128 bytes per thread, and leaves no room for a row ahead, or for
    LayerNorm's weights and biases.
    """
    each = EACH_BYTES // problem.element.size_bytes
    if problem.columns > CLUSTER_BLOCKS_MAX * THREADS_AT_ONCE * each:
        return replace(_over(problem, EACH_MAX, CLUSTER_BLOCKS_MAX), keeps_weights=True) if is_rms else _wide(problem)
    one = replace(_over(problem, each, CLUSTER_BLOCKS_MAX), keeps_weights=True)
    return one if one.threads <= CLUSTER_THREADS else replace(one, stages=1, is_persistent=True)


def _wide(problem: Problem) -> Ahead:
    """8 blocks with 64 elements per thread, in 128 registers: half as many threads run at once."""
    one = _over(problem, 2 * EACH_MAX, CLUSTER_BLOCKS_MAX)
    return replace(one, at_once=max(1, one.at_once // 2))


def _spread(problem: Problem, each: int) -> Ahead:
    """One block of up to 512 threads, or the fewest blocks of 256 threads that hold the row, or 8 of more.

    Each thread holds `each` elements.
    """
    blocks, threads = 1, ALONE_THREADS
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * threads * each:
        blocks, threads = 2 * blocks, CLUSTER_THREADS
    return _over(problem, each, blocks)


def _over(problem: Problem, each: int, blocks: int) -> Ahead:
    """The row over `blocks` blocks; each thread holds `each` elements."""
    threads = ceil_div(ceil_div(problem.columns, blocks * each), 64) * 64
    return Ahead(each // problem.lanes, threads, blocks, at_once=max(1, THREADS_AT_ONCE // threads))
