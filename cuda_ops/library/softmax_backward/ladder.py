"""The ladder of softmax's gradient over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, ceil_div


def _any_length(launcher: Launcher, problem: Problem, arrays: Sequence[Any], kernel: str, threads: int) -> None:
    values: list[Argument] = [*(Ptr(array) for array in arrays), I64(problem.columns)]
    launcher.launch(kernel, (problem.rows, 1, 1), threads, values)


def _two_passes(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    _any_length(launcher, problem, arrays, f"softmax_backward_two_passes<{problem.element.cuda}>", 256)


def _vector(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    threads = rows.ONE_BLOCK_THREADS
    kernel = f"softmax_backward_vector<{problem.element.cuda}, {problem.lanes}, {threads}>"
    _any_length(launcher, problem, arrays, kernel, threads)


def warp(warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 3: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        vectors = rows.vectors_per_lane(problem)
        kernel = f"softmax_backward_warp<{problem.element.cuda}, {problem.lanes}, {vectors}, {warps}>"
        values: list[Argument] = [*(Ptr(array) for array in arrays), I64(problem.rows), I32(problem.columns)]
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, values)

    return launch


def spread(rule: Any) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster per row, as `rule` gives it for the problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen: Spread = rule(problem)
        name, last = ("block", "") if chosen.blocks == 1 else ("cluster", f", {chosen.blocks}")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}{last}"
        kernel = f"softmax_backward_{name}<{problem.element.cuda}, {packs}>"
        values: list[Argument] = [*(Ptr(array) for array in arrays), I32(problem.columns)]
        launcher.launch(kernel, (problem.rows * chosen.blocks, 1, 1), chosen.threads, values, cluster=chosen.blocks)

    return launch


SOFTMAX_BACKWARD = Ladder(
    name="softmax_backward",
    folder="softmax_backward",
    formula="out = y * (gradient - sum of gradient * y), for each row; y = softmax(x)",
    arrays=("gradient", "y", "out"),
    moved_bytes=lambda problem: 3 * problem.count * problem.element.size_bytes,
    operations=lambda problem: 4 * problem.count,
    preferred=lambda problem: rows.preferred_of_two(problem, any_length=2, warp=3, block=4, cluster=5),
    versions=(
        Version(
            1,
            "two_passes",
            change="One block per row, and two passes over it: the sum of gradient * y, then the result.",
            why="It is the formula as it stands; x is not needed, since the result y holds all of it.",
            limit="Every element is loaded twice, 4 bytes at a time.",
            launch=_two_passes,
        ),
        Version(
            2,
            "vector",
            change="Packs of 16 bytes.",
            why="A quarter (float32) or an eighth (half precision) of the instructions move the same bytes.",
            limit="The second pass loads both rows again: from the L2 cache at best.",
            launch=_vector,
            instructions=("LDG.E.128", "STG.E.128"),
        ),
        *rows.versions_of_two(warp(), spread(rows.for_block_of_two), spread(rows.for_cluster_of_two)),
    ),
)
