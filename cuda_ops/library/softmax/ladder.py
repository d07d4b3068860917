"""The ladders of softmax and its logarithm over the last dimension, which share their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuda_ops.library import ahead, rows
from cuda_ops.library.ahead import Ahead
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, ceil_div


def _three_passes(is_log: bool) -> Launch:
    return rows.block_per_row(lambda p: f"softmax_three_passes<{p.element.cuda}, {rows.flag(is_log)}>", 256)


def _online(is_log: bool) -> Launch:
    threads = rows.ONE_BLOCK_THREADS
    return rows.block_per_row(
        lambda p: f"softmax_online<{p.element.cuda}, {p.lanes}, {threads}, {rows.flag(is_log)}>", threads
    )


def warp(is_log: bool, warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 3: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        vectors = rows.vectors_per_lane(problem)
        kernel = f"softmax_warp<{problem.element.cuda}, {problem.lanes}, {vectors}, {warps}, {rows.flag(is_log)}>"
        values: list[Argument] = [*map(Ptr, arrays), I64(problem.rows), I32(problem.columns)]
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, values)

    return launch


def spread(is_log: bool, rule: Callable[[Problem], Spread]) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster per row; `rule` returns its `Spread` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen = rule(problem)
        name, blocks = ("softmax_block", "") if chosen.blocks == 1 else ("softmax_cluster", f"{chosen.blocks}, ")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}"
        kernel = f"{name}<{problem.element.cuda}, {packs}, {blocks}{rows.flag(is_log)}>"
        grid = (problem.rows * chosen.blocks, 1, 1)
        values: list[Argument] = [*map(Ptr, arrays), I32(problem.columns)]
        launcher.launch(kernel, grid, chosen.threads, values, cluster=chosen.blocks)

    return launch


def loaded_ahead(is_log: bool, rule: Callable[[Problem], Ahead]) -> Launch:
    """Launch rule of version 6; `rule` returns its `Ahead` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        shape = rule(problem)
        kernel = f"softmax_ahead<{shape.template(problem)}, {rows.flag(is_log)}>"
        values: list[Argument] = [*map(Ptr, arrays), I64(problem.rows), I32(problem.columns)]
        ahead.start(launcher, kernel, shape, problem, values)

    return launch


def for_cluster(is_log: bool, problem: Problem) -> Spread:
    """The `Spread` of a row over a cluster; half-precision rows of the logarithm are faster in 8 blocks (H100)."""
    is_long = rows.BLOCK_COLUMNS_MAX < problem.columns <= rows.CLUSTER_COLUMNS_MAX // 2
    if is_log and is_long and rows.has_full_packs_of_half(problem):
        threads, each = (128, 64) if problem.columns <= 8 * 128 * 64 else (512, 32)
        return Spread(each // problem.lanes, threads, rows.CLUSTER_BLOCKS_MAX)
    return rows.for_cluster(problem)


def _preferred(problem: Problem) -> int:
    """The version that was fastest on H100s and H200s (docs/operators/runs).

    Where version 6 has not been timed: half-precision rows are faster in a cluster if they are longer than half of a
    block's capacity (H200: 9 to 13 %), and faster without one if they are longer than half of a cluster's capacity.
    """
    if ahead.is_faster(problem):
        return 6
    if problem.element.size_bytes == 4:
        return rows.preferred_of_float32(problem, any_length=2, warp=3, block=4, cluster=5)
    if problem.columns > rows.CLUSTER_COLUMNS_MAX // 2:
        return 2
    if problem.architecture >= 90 and rows.BLOCK_COLUMNS_MAX // 2 < problem.columns <= rows.BLOCK_COLUMNS_MAX:
        return 5
    return rows.preferred(problem, any_length=2, warp=3, block=4, cluster=5)


def _ladder(name: str, formula: str, is_log: bool) -> Ladder:
    return Ladder(
        name=name,
        folder="softmax",
        formula=formula,
        arrays=("x", "out"),
        moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
        operations=lambda problem: 5 * problem.count,
        preferred=_preferred,
        versions=(
            Version(
                1,
                "three_passes",
                change="One block per row, and three passes over it: maximum, sum, quotients.",
                why="It is the formula as it stands, with the maximum subtracted so that nothing overflows.",
                limit="Every element is loaded three times, 4 bytes (2 in half precision) at a time.",
                launch=_three_passes(is_log),
            ),
            Version(
                2,
                "online",
                change="Maximum and sum in one pass; packs of 16 bytes; 512 threads per row.",
                why="Two passes instead of three: when a greater element comes, the sum so far is scaled to it.",
                limit="Long rows: the second pass loads the row again, from the L2 cache at best. Short rows: each "
                "of the 512 threads joins the results of all 16 warps, by two exponentials each. At 4,096 elements "
                f"these are 30 of the {41 if is_log else 49} exponentials of a thread, and the processors are busy, "
                f"not the memory: they issue in {83 if is_log else 85} % of their cycles (H100). Rows of 1,024 leave "
                "half of the threads or more without an element.",
                launch=_online(is_log),
                instructions=("LDG.E.128", "MUFU.EX2", "STG.E.128"),
            ),
            *rows.versions_in_registers(
                warp(is_log),
                spread(is_log, rows.for_block),
                spread(is_log, partial(for_cluster, is_log)),
                cluster_limit=(
                    "Blocks of a cluster wait for the slowest one: in float32 a warp waits as long for them as "
                    "for the memory, which is busy at 75 % of its peak (H100, rows of 131,072)."
                ),
                arithmetic=("MUFU.EX2",),
            ),
            Version(
                6,
                "ahead",
                change="Most rows come through shared memory, by asynchronous copies; one exchange per row, in which "
                "each warp sends its pair to all blocks.",
                why="Copies need no registers, so all loads of a row are in flight before the first one is used. No "
                "block waits for a barrier of its cluster, and the exponentials of half precision are three "
                "instructions instead of nine.",
                limit="Between load and store warps wait for their block or cluster, and clusters do not fill all "
                "processors.",
                launch=loaded_ahead(is_log, partial(ahead.for_softmax, is_log)),
                fits=ahead.fits,
                architecture_min=90,
                instructions=("LDGSTS.E.BYPASS.128", "MUFU.EX2", "STG.E.128"),
            ),
        ),
    )


SOFTMAX = _ladder("softmax", "out = e^(x - max of x) / sum of e^(x - max of x), for each row", False)
LOG_SOFTMAX = _ladder("log_softmax", "out = x - max of x - log of sum of e^(x - max of x), for each row", True)
