"""Distribution of rows over the GPU for softmax and the norms, and the versions that hold a row in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cuda_ops.library.ladder import PACK_BYTES, Launch, Problem, Version
from cuda_ops.runtime.launcher import I64, Launcher, Ptr, ceil_div

EACH_MAX = 32
"""Maximum number of elements of a row that a thread holds in registers; 64 of half precision in a cluster."""
WARPS = 4
"""Rows per block in kernels with one warp per row."""
WARP_COLUMNS_MAX = 32 * EACH_MAX
BLOCK_COLUMNS_MAX = 1024 * EACH_MAX
CLUSTER_BLOCKS_MAX = 8
CLUSTER_COLUMNS_MAX = CLUSTER_BLOCKS_MAX * BLOCK_COLUMNS_MAX
ONE_BLOCK_THREADS = 512
"""Threads per row in kernels for rows of any length."""
ROWS_MAX = (2**31 - 1) // CLUSTER_BLOCKS_MAX


def flag(value: bool) -> str:
    """A bool as a template argument of C++."""
    return "true" if value else "false"


def block_per_row(kernel: Callable[[Problem], str], threads: int) -> Launch:
    """Launch rule of a kernel with one block of `threads` threads per row.

    `kernel` returns the kernel's name with its template arguments. Its parameters are the arrays, then the number of
    columns as `int64_t`.
    """

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        launcher.launch(kernel(problem), (problem.rows, 1, 1), threads, [*map(Ptr, arrays), I64(problem.columns)])

    return launch


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of a row: `blocks` blocks of `threads` threads; each thread holds `vectors` packs."""

    vectors: int
    threads: int
    blocks: int = 1


def fewest_blocks(problem: Problem, each: int, threads: int, blocks: int = 2) -> Spread:
    """The `Spread` over a cluster: `each` elements per thread, and `blocks` blocks, doubled until the row fits."""
    while problem.columns > blocks * threads * each:
        blocks *= 2
    return Spread(each // problem.lanes, threads, blocks)


def has_full_packs_of_half(problem: Problem) -> bool:
    """Whether rows consist of full 16-byte packs of half precision: two elements per register, so twice as many fit."""
    return problem.element.size_bytes == 2 and problem.lanes == PACK_BYTES // 2


def vectors_per_lane(problem: Problem) -> int:
    """Packs per lane if a warp takes a row of at most `WARP_COLUMNS_MAX` elements; a power of two."""
    needed = ceil_div(problem.columns, 32 * problem.lanes)
    return 1 << (needed - 1).bit_length()


def for_block(problem: Problem) -> Spread:
    """The `Spread` of a row of at most `BLOCK_COLUMNS_MAX` over one block: 64 bytes or 32 elements per thread."""
    each = 64 // problem.element.size_bytes
    each = max(each if problem.columns <= 512 * each else EACH_MAX, problem.lanes)
    vectors = each // problem.lanes
    threads = ceil_div(ceil_div(problem.columns, each), 64) * 64
    return Spread(vectors, threads)


def for_cluster(problem: Problem) -> Spread:
    """The `Spread` of a row of at most `CLUSTER_COLUMNS_MAX`: the fewest blocks of 512 threads, else 8 of 1,024.

    With full packs a thread holds 128 bytes, so for half precision blocks of 256 threads are enough.
    """
    has_full_packs = problem.lanes * problem.element.size_bytes == PACK_BYTES
    each = 128 // problem.element.size_bytes if has_full_packs else EACH_MAX
    threads = 512 * EACH_MAX // each
    blocks = 2
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * threads * each:
        blocks *= 2
    if problem.columns > blocks * threads * each:
        threads *= 2
    return Spread(each // problem.lanes, threads, blocks)


def preferred(problem: Problem, any_length: int, warp: int, block: int, cluster: int) -> int:
    """The number of the version for this length of rows; the arguments are the numbers of the possible versions."""
    if problem.columns <= WARP_COLUMNS_MAX:
        return warp
    if problem.columns <= BLOCK_COLUMNS_MAX:
        return block
    return cluster if problem.architecture >= 90 and problem.columns <= CLUSTER_COLUMNS_MAX else any_length


def preferred_of_float32(problem: Problem, any_length: int, warp: int, block: int, cluster: int) -> int:
    """The same for float32: rows of more than half of a warp's capacity are faster in a block (H200: 3 to 7 %)."""
    if WARP_COLUMNS_MAX // 2 < problem.columns <= WARP_COLUMNS_MAX:
        return block
    return preferred(problem, any_length, warp, block, cluster)


EACH_OF_TWO = 16
"""Maximum number of elements of each of two rows that a thread holds in registers."""
BLOCK_COLUMNS_OF_TWO_MAX = 1024 * EACH_OF_TWO
CLUSTER_COLUMNS_OF_TWO_MAX = CLUSTER_BLOCKS_MAX * BLOCK_COLUMNS_OF_TWO_MAX


def for_block_of_two(problem: Problem) -> Spread:
    """The `Spread` of two rows of at most `BLOCK_COLUMNS_OF_TWO_MAX` over one block: 8 or 16 elements per thread."""
    each = max(8 if problem.columns <= 512 * 8 else EACH_OF_TWO, problem.lanes)
    threads = ceil_div(ceil_div(problem.columns, each), 64) * 64
    return Spread(each // problem.lanes, threads)


def for_cluster_of_two(problem: Problem) -> Spread:
    """The `Spread` of two rows of at most `CLUSTER_COLUMNS_OF_TWO_MAX`: the fewest blocks of 512, else 8 of 1,024."""
    blocks = 2
    while blocks < CLUSTER_BLOCKS_MAX and problem.columns > blocks * 512 * EACH_OF_TWO:
        blocks *= 2
    threads = 512 if problem.columns <= blocks * 512 * EACH_OF_TWO else 1024
    return Spread(EACH_OF_TWO // problem.lanes, threads, blocks)


def preferred_of_two(problem: Problem, any_length: int, warp: int, block: int, cluster: int) -> int:
    """The number of the version for this length of rows, for operators that hold two rows."""
    if problem.columns <= WARP_COLUMNS_MAX:
        return warp
    if problem.columns <= BLOCK_COLUMNS_OF_TWO_MAX:
        return block
    return cluster if problem.architecture >= 90 and problem.columns <= CLUSTER_COLUMNS_OF_TWO_MAX else any_length


@dataclass(frozen=True, slots=True)
class Held:
    """Description of the data that versions hold in registers, and maximum columns of a row per block and cluster."""

    what: str
    loaded: str
    elements: str
    block_columns_max: int
    cluster_columns_max: int


ONE_ROW = Held("the row", "The row is loaded once", "32 elements", BLOCK_COLUMNS_MAX, CLUSTER_COLUMNS_MAX)
TWO_ROWS = Held(
    "both rows",
    "Each row is loaded once",
    "32 elements of each row",
    BLOCK_COLUMNS_OF_TWO_MAX,
    CLUSTER_COLUMNS_OF_TWO_MAX,
)


def versions_of_two(warp: Launch, block: Launch, cluster: Launch) -> tuple[Version, ...]:
    """Versions 3 to 5 of an operator that holds two rows in registers, by their launch rules."""
    limit = (
        "Blocks of a cluster wait for the slowest one: a warp waits as long for them as for the memory, which "
        "is busy at 63 % to 81 % of its peak (H100, rows of 131,072)."
    )
    return versions_in_registers(warp, block, cluster, limit, TWO_ROWS)


def versions_in_registers(
    warp: Launch,
    block: Launch,
    cluster: Launch,
    cluster_limit: str,
    held: Held = ONE_ROW,
    arithmetic: tuple[str, ...] = (),
) -> tuple[Version, ...]:
    """Versions 3 to 5, which hold rows in registers, by their launch rules; `cluster_limit` is the last one's `limit`.

    `arithmetic` names machine instructions of the operator itself.
    """
    return (
        Version(
            3,
            "warp",
            change=f"One warp per row, with {held.what} in its registers.",
            why=f"{held.loaded}, in packs that are all in flight together; shuffles replace shared memory and "
            "barriers.",
            limit=f"A thread has registers for {held.elements}: a warp for rows of 1,024.",
            launch=warp,
            fits=lambda problem: problem.columns <= WARP_COLUMNS_MAX,
            instructions=("LDG.E.NA.128", "SHFL.BFLY", *arithmetic, "STG.E.128"),
        ),
        Version(
            4,
            "block",
            change=f"One block per row, with {held.what} in its registers.",
            why=f"Rows of up to {held.block_columns_max:,} elements are loaded once. Several blocks share a processor: "
            "some load while others wait at a barrier.",
            limit="Longer rows do not fit into the registers of one block.",
            launch=block,
            fits=lambda problem: problem.columns <= held.block_columns_max,
            instructions=("LDG.E.NA.128", "SHFL.BFLY", *arithmetic, "STG.E.128"),
        ),
        Version(
            5,
            "cluster",
            change="A cluster of 2 to 8 blocks per row; one exchange through distributed shared memory: blocks of a "
            "cluster run at once and write into each other's shared memory.",
            why=f"Rows of up to {held.cluster_columns_max:,} elements are loaded once.",
            limit=cluster_limit,
            launch=cluster,
            fits=lambda problem: problem.columns <= held.cluster_columns_max and problem.rows <= ROWS_MAX,
            architecture_min=90,
            instructions=("LDG.E.NA.128", "UCGABAR_ARV", "UCGABAR_WAIT", *arithmetic, "STG.E.128"),
        ),
    )
