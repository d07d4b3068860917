"""How the rows of softmax, LayerNorm and RMSNorm are spread over warps, blocks and clusters."""

from __future__ import annotations

from dataclasses import dataclass

from cuda_ops.library.ladder import Problem
from cuda_ops.runtime.launcher import ceil_div

EACH_MAX = 32
"""Elements of a row that a thread holds in registers, at most."""
WARPS = 4
"""Rows per block, where a warp takes a row."""
WARP_COLUMNS_MAX = 32 * EACH_MAX
BLOCK_COLUMNS_MAX = 1024 * EACH_MAX
CLUSTER_BLOCKS_MAX = 8
CLUSTER_COLUMNS_MAX = CLUSTER_BLOCKS_MAX * BLOCK_COLUMNS_MAX
ONE_BLOCK_THREADS = 512
"""Threads per row of the kernels that take a row of any length."""
ROWS_MAX = (2**31 - 1) // CLUSTER_BLOCKS_MAX


@dataclass(frozen=True, slots=True)
class Spread:
    """`blocks` blocks of `threads` threads for each row; each thread holds `vectors` packs."""

    vectors: int
    threads: int
    blocks: int = 1


def vectors_per_lane(problem: Problem) -> int:
    """Packs per lane where a warp takes a row of at most `WARP_COLUMNS_MAX` elements; a power of two."""
    needed = ceil_div(problem.columns, 32 * problem.lanes)
    return 1 << (needed - 1).bit_length()


def for_block(problem: Problem) -> Spread:
    """A row of at most `BLOCK_COLUMNS_MAX` elements: 16 elements per thread, 32 if that needs over 512 threads."""
    each = max(16 if problem.columns <= 512 * 16 else EACH_MAX, problem.lanes)
    vectors = each // problem.lanes
    threads = ceil_div(ceil_div(problem.columns, each), 64) * 64
    return Spread(vectors, threads)


def for_cluster(problem: Problem) -> Spread:
    """A row of at most `CLUSTER_COLUMNS_MAX` elements: the fewest blocks of 512 threads, else 8 of 1,024."""
    vectors = EACH_MAX // problem.lanes
    blocks = 2
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * 512 * EACH_MAX:
        blocks *= 2
    threads = 512 if problem.columns <= blocks * 512 * EACH_MAX else 1024
    return Spread(vectors, threads, blocks)


def preferred(problem: Problem, any_length: int, warp: int, block: int, cluster: int) -> int:
    """The number of the version for the length of the rows, of those that take rows of a kind."""
    if problem.columns <= WARP_COLUMNS_MAX:
        return warp
    if problem.columns <= BLOCK_COLUMNS_MAX:
        return block
    return cluster if problem.architecture >= 90 and problem.columns <= CLUSTER_COLUMNS_MAX else any_length
