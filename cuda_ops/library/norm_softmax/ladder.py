"""The ladder of LayerNorm and softmax over the last dimension in one kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr, ceil_div

EACH = 16
"""Elements per thread of rows that one block of 1,024 threads then holds; of any type, each takes a register."""


def _passes(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    values: list[Argument] = [*map(Ptr, arrays), I64(problem.columns), F32(problem.epsilon)]
    launcher.launch(f"norm_softmax_passes<{problem.element.cuda}>", (problem.rows, 1, 1), 256, values)


def spread(rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 2 and 3: a block or a cluster per row, as `rule` gives it for the problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, last = ("block", "") if chosen.blocks == 1 else ("cluster", f", {chosen.blocks}")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}{last}"
        values: list[Argument] = [*map(Ptr, arrays), I32(problem.columns), F32(problem.epsilon)]
        kernel = f"norm_softmax_{name}<{problem.element.cuda}, {packs}>"
        launcher.launch(kernel, (problem.rows * chosen.blocks, 1, 1), chosen.threads, values, cluster=chosen.blocks)

    return launch


def for_block(problem: Problem) -> Spread:
    """A row of at most `rows.BLOCK_COLUMNS_MAX` elements: 16 per thread, 32 beyond 16,384 columns."""
    each = EACH if problem.columns <= 1024 * EACH else rows.EACH_MAX
    threads = ceil_div(ceil_div(problem.columns, each), 32) * 32
    return Spread(each // problem.lanes, threads)


def for_cluster(problem: Problem) -> Spread:
    """A row of at most `rows.CLUSTER_COLUMNS_MAX` elements: 32 per thread, the fewest blocks of 512, else of 1,024."""
    blocks = 2
    while blocks < rows.CLUSTER_BLOCKS_MAX and problem.columns > blocks * 512 * rows.EACH_MAX:
        blocks *= 2
    threads = 512 if problem.columns <= blocks * 512 * rows.EACH_MAX else 1024
    return Spread(rows.EACH_MAX // problem.lanes, threads, blocks)


LAYER_NORM_SOFTMAX = Ladder(
    name="layer_norm_softmax",
    folder="norm_softmax",
    formula="out = softmax(layer_norm(x)), for each row",
    arrays=("x", "weight", "bias", "out"),
    moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
    operations=lambda problem: 13 * problem.count,
    preferred=lambda problem: rows.preferred(problem, any_length=1, warp=2, block=2, cluster=3),
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
            instructions=("LDG.E.NA.128", "STG.E.128", "SHFL.BFLY"),
        ),
        Version(
            3,
            "cluster",
            change="A cluster of 2 to 8 blocks per row; two exchanges through distributed shared memory.",
            why="Rows of up to 262,144 elements are loaded once.",
            limit="Blocks of a cluster wait for the slowest one, twice per row.",
            launch=spread(for_cluster),
            fits=lambda problem: problem.columns <= rows.CLUSTER_COLUMNS_MAX and problem.rows <= rows.ROWS_MAX,
            architecture_min=90,
            instructions=("LDG.E.NA.128", "STG.E.128", "UCGABAR_ARV", "UCGABAR_WAIT"),
        ),
    ),
)
