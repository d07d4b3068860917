"""The ladders of the gradients of softmax and its logarithm over the last dimension, which share their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, ceil_div


def _two_passes(is_log: bool) -> Launch:
    return rows.block_per_row(lambda p: f"softmax_backward_two_passes<{p.element.cuda}, {rows.flag(is_log)}>", 256)


def _vector(is_log: bool) -> Launch:
    threads = rows.ONE_BLOCK_THREADS
    return rows.block_per_row(
        lambda p: f"softmax_backward_vector<{p.element.cuda}, {p.lanes}, {threads}, {rows.flag(is_log)}>", threads
    )


def warp(is_log: bool, warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 3: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        packs = f"{problem.lanes}, {rows.vectors_per_lane(problem)}, {warps}"
        kernel = f"softmax_backward_warp<{problem.element.cuda}, {packs}, {rows.flag(is_log)}>"
        values: list[Argument] = [*map(Ptr, arrays), I64(problem.rows), I32(problem.columns)]
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, values)

    return launch


def spread(is_log: bool, rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster per row; `rule` returns its `Spread` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, blocks = ("block", "") if chosen.blocks == 1 else ("cluster", f"{chosen.blocks}, ")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}"
        kernel = f"softmax_backward_{name}<{problem.element.cuda}, {packs}, {blocks}{rows.flag(is_log)}>"
        values: list[Argument] = [*map(Ptr, arrays), I32(problem.columns)]
        launcher.launch(kernel, (problem.rows * chosen.blocks, 1, 1), chosen.threads, values, cluster=chosen.blocks)

    return launch


def _preferred(is_log: bool, problem: Problem) -> int:
    """The version that was fastest on H100s and H200s (docs/operators/runs).

    Reading a row of 4,096 elements twice takes less time than the barriers of a block, because the second read hits the
    L2 cache. In half precision this is also true for the logarithm's rows of 8,192, and for rows that fill a cluster.
    """
    is_half = problem.element.size_bytes == 2
    if rows.WARP_COLUMNS_MAX // 2 < problem.columns <= rows.WARP_COLUMNS_MAX:
        return 4
    if is_log and is_half:
        is_long = problem.columns > rows.CLUSTER_COLUMNS_OF_TWO_MAX // 2
        if is_long or 1 << 12 < problem.columns <= 1 << 13:
            return 2
    elif 1 << 11 < problem.columns <= 1 << 12:
        return 2
    return rows.preferred_of_two(problem, any_length=2, warp=3, block=4, cluster=5)


def _ladder(name: str, formula: str, is_log: bool) -> Ladder:
    return Ladder(
        name=name,
        folder="softmax_backward",
        formula=formula,
        arrays=("gradient", "y", "out"),
        moved_bytes=lambda problem: 3 * problem.count * problem.element.size_bytes,
        operations=lambda problem: 4 * problem.count,
        preferred=partial(_preferred, is_log),
        versions=(
            Version(
                1,
                "two_passes",
                change="One block per row, and two passes over it: the sum, then the result.",
                why="It is the formula as it stands; x is not needed, since the result y holds all of it.",
                limit="Every element is loaded twice, 4 bytes at a time.",
                launch=_two_passes(is_log),
            ),
            Version(
                2,
                "vector",
                change="Packs of 16 bytes.",
                why="A quarter (float32) or an eighth (half precision) of the instructions move the same bytes.",
                limit="The second pass loads both rows again: from the L2 cache at best.",
                launch=_vector(is_log),
                instructions=("LDG.E.128", "STG.E.128"),
            ),
            *rows.versions_of_two(
                warp(is_log), spread(is_log, rows.for_block_of_two), spread(is_log, rows.for_cluster_of_two)
            ),
        ),
    )


SOFTMAX_BACKWARD = _ladder(
    "softmax_backward", "out = y * (gradient - sum of gradient * y), for each row; y = softmax(x)", False
)
LOG_SOFTMAX_BACKWARD = _ladder(
    "log_softmax_backward", "out = gradient - e^y * sum of gradient, for each row; y = log_softmax(x)", True
)
