"""The ladder of LayerNorm and softmax over the last dimension in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr, ceil_div

EACH_SHORT, EACH = 8, 16
"""Elements per thread for rows of up to 1,024 and up to 16,384 columns; an element of any type takes a register."""


PACKED_COLUMNS_MAX = 256 * rows.EACH_MAX
"""Maximum number of columns with 32 half-precision elements per thread in one block."""


def _passes(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    values: list[Argument] = [*map(Ptr, arrays), I64(problem.columns), F32(problem.epsilon)]
    launcher.launch(f"norm_softmax_passes<{problem.element.cuda}>", (problem.rows, 1, 1), 256, values)


def warp(warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 4: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        packs = f"{problem.lanes}, {rows.vectors_per_lane(problem)}, {warps}"
        numbers: list[Argument] = [I64(problem.rows), I32(problem.columns), F32(problem.epsilon)]
        kernel = f"norm_softmax_warp<{problem.element.cuda}, {packs}>"
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, [*map(Ptr, arrays), *numbers])

    return launch


def spread(rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 2 and 3: a block or a cluster per row; `rule` returns its `Spread` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, last = ("block", "") if chosen.blocks == 1 else ("cluster", f", {chosen.blocks}")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}{last}"
        values: list[Argument] = [*map(Ptr, arrays), I32(problem.columns), F32(problem.epsilon)]
        kernel = f"norm_softmax_{name}<{problem.element.cuda}, {packs}>"
        launcher.launch(kernel, (problem.rows * chosen.blocks, 1, 1), chosen.threads, values, cluster=chosen.blocks)

    return launch


def for_block(problem: Problem) -> Spread:
    """The `Spread` of a row of at most `rows.BLOCK_COLUMNS_MAX` over one block.

    8 elements per thread up to 1,024 columns, 16 up to 16,384, 32 beyond. Full packs of half precision are faster with
    32 elements from 1,025 to 8,192 columns.
    """
    is_packed = rows.has_full_packs_of_half(problem) and problem.columns <= PACKED_COLUMNS_MAX
    each = EACH_SHORT if problem.columns <= 128 * EACH_SHORT else EACH
    if problem.columns > 1024 * EACH or (is_packed and each == EACH):
        each = rows.EACH_MAX
    threads = ceil_div(ceil_div(problem.columns, each), 32) * 32
    return Spread(each // problem.lanes, threads)


def for_cluster(problem: Problem) -> Spread:
    """The `Spread` of a row of at most `rows.CLUSTER_COLUMNS_MAX` over a cluster.

    32 elements per thread and the fewest blocks of 1,024 threads; blocks of 256 threads if one block could hold the
    row.
    """
    threads = 256 if problem.columns <= rows.BLOCK_COLUMNS_MAX else 1024
    return rows.fewest_blocks(problem, rows.EACH_MAX, threads)


def _preferred(problem: Problem) -> int:
    """The fastest version on H100s and H200s.

    Short rows are faster in warps (float32: 6 % faster on an H200, 2 % slower on an H100), and half-precision rows of
    8,193 to 16,384 columns in two blocks.
    """
    is_float32 = problem.element.size_bytes == 4
    if problem.columns <= rows.WARP_COLUMNS_MAX and (is_float32 or rows.has_full_packs_of_half(problem)):
        return 4
    is_between = PACKED_COLUMNS_MAX < problem.columns <= 2 * PACKED_COLUMNS_MAX
    if problem.architecture >= 90 and is_between and rows.has_full_packs_of_half(problem):
        return 3
    return rows.preferred(problem, any_length=1, warp=2, block=2, cluster=3)


LAYER_NORM_SOFTMAX = Ladder(
    name="layer_norm_softmax",
    folder="norm_softmax",
    formula="out = softmax(layer_norm(x)), for each row",
    arrays=("x", "weight", "bias", "out"),
    moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
    operations=lambda problem: 13 * problem.count,
    preferred=_preferred,
    versions=(
        Version(
            1,
            "passes",
            change="One block per row, and five passes over it: mean, variance, maximum, sum, quotients.",
            why="One kernel instead of two: no normalized row is stored and loaded again.",
            limit="Every element is loaded five times, 4 bytes at a time.",
            launch=_passes,
        ),
        Version(
            2,
            "block",
            change="The row stays in the registers of its block.",
            why="Rows of up to 32,768 elements are loaded once.",
            limit="Four barriers per row, during which a block loads nothing.",
            launch=spread(for_block),
            fits=lambda problem: problem.columns <= rows.BLOCK_COLUMNS_MAX,
            instructions=("LDG.E.NA.128", "SHFL.BFLY", "MUFU.EX2", "STG.E.128"),
        ),
        Version(
            3,
            "cluster",
            change="A cluster of 2 to 8 blocks per row; two exchanges through distributed shared memory.",
            why="Rows of up to 262,144 elements are loaded once.",
            limit=(
                "Blocks of a cluster wait for the slowest one, twice per row. Blocks of 1,024 threads have up "
                "to four variables in local memory."
            ),
            launch=spread(for_cluster),
            fits=lambda problem: problem.columns <= rows.CLUSTER_COLUMNS_MAX and problem.rows <= rows.ROWS_MAX,
            architecture_min=90,
            instructions=("LDG.E.NA.128", "UCGABAR_ARV", "UCGABAR_WAIT", "MUFU.EX2", "STG.E.128"),
        ),
        Version(
            4,
            "warp",
            change="One warp per row of up to 1,024 elements, with the row in its registers.",
            why="Where a block holds a short row, its few warps wait at four barriers; a warp has none.",
            limit="A thread has registers for 32 elements: 1,024 to the row.",
            launch=warp(),
            fits=lambda problem: problem.columns <= rows.WARP_COLUMNS_MAX,
            instructions=("LDG.E.NA.128", "SHFL.BFLY", "MUFU.EX2", "STG.E.128"),
        ),
    ),
)
