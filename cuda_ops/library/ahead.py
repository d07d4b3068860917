"""Launch rules of the kernels that take row after row and load rows ahead (include/rows/av_row_ring.cuh)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuda_ops.library.ladder import PACK_BYTES, Problem
from cuda_ops.library.rows import CLUSTER_BLOCKS_MAX, CLUSTER_COLUMNS_MAX, ROWS_MAX
from cuda_ops.runtime.launcher import Argument, Launcher, ceil_div

EACH = 32
"""Elements of a row that a thread holds by default."""
THREADS_AT_ONCE = 1024
"""Threads that a processor runs at once by default: 64 registers for each."""
SHARED_BYTES_MAX = 222 << 10
"""Shared memory of a processor for rows that are loaded ahead, bytes; 5 KB are left for the exchange and the driver."""
STAGES_MAX = 2


@dataclass(frozen=True, slots=True)
class Ahead:
    """Distribution of a row, and how it is loaded.

    * `vectors`, `threads`, `blocks`: each thread holds `vectors` packs; a row takes `blocks` blocks of `threads`.
    * `stages`: rows in shared memory; 0: a row is loaded into registers when it is needed.
    * `by_engine`: the copy engine loads rows, if they consist of full packs; otherwise threads do.
    * `at_once`: blocks per processor for which the compiler limits the registers.
    * `is_persistent`: as many blocks as run at once take the rows in turn; otherwise a block takes one row.
    * `keeps_weights`: a block of a norm keeps its weights and biases in shared memory.
    """

    vectors: int
    threads: int
    blocks: int = 1
    stages: int = 0
    by_engine: bool = False
    at_once: int = 1
    is_persistent: bool = True
    keeps_weights: bool = False

    def template(self, problem: Problem) -> str:
        """The first template arguments of the kernel."""
        is_full = problem.lanes * problem.element.size_bytes == PACK_BYTES
        copies = "AV_BY_ENGINE" if self.by_engine and is_full and self.stages > 0 else "AV_BY_THREADS"
        packs = f"{problem.lanes}, {self.vectors}, {self.threads}"
        return f"{problem.element.cuda}, {packs}, {self.blocks}, {self.stages}, {copies}, {self.at_once}"

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


def rows_ahead(problem: Problem) -> Ahead:
    """The fewest blocks of up to 512 threads; of 1,024 threads if 8 of those do not hold the row."""
    each = max(EACH, problem.lanes)
    blocks = 1
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * 512 * each:
        blocks *= 2
    threads = ceil_div(ceil_div(problem.columns, blocks * each), 64) * 64
    at_once = max(1, THREADS_AT_ONCE // threads)
    part_bytes = threads * each * problem.element.size_bytes
    stages = min(STAGES_MAX, SHARED_BYTES_MAX // at_once // part_bytes)
    return Ahead(each // problem.lanes, threads, blocks, stages, True, at_once)
