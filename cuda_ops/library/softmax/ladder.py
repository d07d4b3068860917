"""The ladder of softmax over the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, ceil_div


def _three_passes(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    x, out = arrays
    kernel = f"softmax_three_passes<{problem.element.cuda}>"
    launcher.launch(kernel, (problem.rows, 1, 1), 256, [Ptr(x), Ptr(out), I64(problem.columns)])


def _online(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    x, out = arrays
    threads = rows.ONE_BLOCK_THREADS
    kernel = f"softmax_online<{problem.element.cuda}, {problem.lanes}, {threads}>"
    launcher.launch(kernel, (problem.rows, 1, 1), threads, [Ptr(x), Ptr(out), I64(problem.columns)])


def warp(warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 3: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        x, out = arrays
        vectors = rows.vectors_per_lane(problem)
        kernel = f"softmax_warp<{problem.element.cuda}, {problem.lanes}, {vectors}, {warps}>"
        values: list[Argument] = [Ptr(x), Ptr(out), I64(problem.rows), I32(problem.columns)]
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, values)

    return launch


def spread(rule: Any) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster per row, as `rule` gives it for the problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        x, out = arrays
        chosen: Spread = rule(problem)
        name, last = ("softmax_block", "") if chosen.blocks == 1 else ("softmax_cluster", f", {chosen.blocks}")
        kernel = f"{name}<{problem.element.cuda}, {problem.lanes}, {chosen.vectors}, {chosen.threads}{last}>"
        grid = (problem.rows * chosen.blocks, 1, 1)
        values: list[Argument] = [Ptr(x), Ptr(out), I32(problem.columns)]
        launcher.launch(kernel, grid, chosen.threads, values, cluster=chosen.blocks)

    return launch


SOFTMAX = Ladder(
    name="softmax",
    folder="softmax",
    formula="out = e^(x - max of x) / sum of e^(x - max of x), for each row",
    arrays=("x", "out"),
    moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
    operations=lambda problem: 5 * problem.count,
    preferred=lambda problem: rows.preferred(problem, any_length=2, warp=3, block=4, cluster=5),
    versions=(
        Version(
            1,
            "three_passes",
            change="One block per row, and three passes over it: maximum, sum, quotients.",
            why="It is the formula as it stands, with the maximum subtracted so that nothing overflows.",
            limit="Every element is loaded three times, 4 bytes at a time.",
            launch=_three_passes,
        ),
        Version(
            2,
            "online",
            change="Maximum and sum in one pass; packs of 16 bytes.",
            why="Two passes instead of three: when a greater element comes, the sum so far is scaled to it.",
            limit="The second pass loads the row again: from the L2 cache at best.",
            launch=_online,
            instructions=("LDG.E.128", "STG.E.128"),
        ),
        *rows.versions_in_registers(
            warp(),
            spread(rows.for_block),
            spread(rows.for_cluster),
            cluster_limit="Blocks of a cluster wait for the slowest one; counters have not yet told what it costs.",
        ),
    ),
)
