"""The ladders of LayerNorm and RMSNorm over the last dimension, which share their kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from cuda_ops.library import ahead, rows
from cuda_ops.library.ahead import Ahead
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr, ceil_div

EACH_PACKED = 64
"""Maximum number of half-precision elements per thread."""


def _any_length(name: str, is_rms: bool) -> Launch:
    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        threads = 256 if name == "three_passes" else rows.ONE_BLOCK_THREADS
        packs = "" if name == "three_passes" else f", {problem.lanes}, {threads}"
        kernel = f"norm_{name}<{problem.element.cuda}{packs}, {rows.flag(is_rms)}>"
        values: list[Argument] = [*(Ptr(array) for array in arrays), I64(problem.columns), F32(problem.epsilon)]
        launcher.launch(kernel, (problem.rows, 1, 1), threads, values)

    return launch


def warp(is_rms: bool, warps: int = rows.WARPS) -> Launch:
    """Launch rule of version 3: `warps` rows per block."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        vectors = rows.vectors_per_lane(problem)
        kernel = f"norm_warp<{problem.element.cuda}, {problem.lanes}, {vectors}, {warps}, {rows.flag(is_rms)}>"
        numbers: list[Argument] = [I64(problem.rows), I32(problem.columns), F32(problem.epsilon)]
        values: list[Argument] = [*(Ptr(array) for array in arrays), *numbers]
        launcher.launch(kernel, (ceil_div(problem.rows, warps), 1, 1), warps * 32, values)

    return launch


def spread(is_rms: bool, rule: Any) -> Launch:
    """Launch rule of versions 4 and 5: a block or a cluster per row; `rule` returns its `Spread` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen: Spread = rule(problem)
        name, blocks = ("norm_block", "") if chosen.blocks == 1 else ("norm_cluster", f"{chosen.blocks}, ")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}"
        kernel = f"{name}<{problem.element.cuda}, {packs}, {blocks}{rows.flag(is_rms)}>"
        values: list[Argument] = [*(Ptr(array) for array in arrays), I32(problem.columns), F32(problem.epsilon)]
        grid = (problem.rows * chosen.blocks, 1, 1)
        launcher.launch(kernel, grid, chosen.threads, values, cluster=chosen.blocks)

    return launch


def loaded_ahead(is_rms: bool, rule: Callable[[Problem], Ahead]) -> Launch:
    """Launch rule of version 6; `rule` returns its `Ahead` for a problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        shape = rule(problem)
        weights = [array is not None for array in arrays[1:3]]
        flags = ", ".join(map(rows.flag, (shape.keeps_weights, *weights, is_rms)))
        kernel = f"norm_ahead<{shape.template(problem)}, {flags}>"
        numbers: list[Argument] = [I64(problem.rows), I32(problem.columns), F32(problem.epsilon)]
        values: list[Argument] = [*(Ptr(array) for array in arrays), *numbers]
        ahead.start(launcher, kernel, shape, problem, values, sum(weights) if shape.keeps_weights else 0)

    return launch


def fits_block(problem: Problem) -> bool:
    """Whether one block holds the row in its registers."""
    return problem.columns <= rows.BLOCK_COLUMNS_MAX * (2 if rows.has_full_packs_of_half(problem) else 1)


def for_block(problem: Problem) -> Spread:
    """The `Spread` of a row over one block; half-precision rows of more than 16,384 have 64 elements per thread."""
    if problem.columns <= 512 * rows.EACH_MAX or not rows.has_full_packs_of_half(problem):
        return rows.for_block(problem)
    return Spread(EACH_PACKED // problem.lanes, ceil_div(ceil_div(problem.columns, EACH_PACKED), 32) * 32)


def for_cluster(is_rms: bool, problem: Problem) -> Spread:
    """The `Spread` of a row over a cluster.

    If no block holds the row: the fewest blocks of 1,024 threads; for LayerNorm in float32, 8 blocks of 512.
    """
    is_packed = rows.has_full_packs_of_half(problem)
    if fits_block(problem) or not (is_rms or is_packed):
        return rows.for_cluster(problem)
    return rows.fewest_blocks(problem, EACH_PACKED if is_packed else rows.EACH_MAX, 1024)


def _preferred(is_rms: bool, problem: Problem) -> int:
    """The fastest version on H100s and H200s (docs/operators/runs).

    Version 6 is no faster for half-precision LayerNorm of 4,096 (H200: 139.30 us, version 4 139.25). Where it has not
    been timed, a block is faster than a cluster whenever it can hold the row.
    """
    is_half = problem.element.size_bytes == 2
    is_equal = not is_rms and is_half and problem.columns == 4096
    if ahead.is_faster(problem) and not is_equal:
        return 6
    if not is_half:
        return rows.preferred_of_float32(problem, any_length=2, warp=3, block=4, cluster=5)
    if problem.columns > rows.WARP_COLUMNS_MAX and fits_block(problem):
        return 4
    return rows.preferred(problem, any_length=2, warp=3, block=4, cluster=5)


def _in_registers(is_rms: bool) -> Iterator[Version]:
    for version in rows.versions_in_registers(
        warp(is_rms),
        spread(is_rms, for_block),
        spread(is_rms, partial(for_cluster, is_rms)),
        cluster_limit="Weights and biases come from the L2 cache again for every row, and nothing is loaded while a "
        "block waits for its cluster.",
    ):
        if version.name == "block":
            why = (
                f"Rows of up to {rows.BLOCK_COLUMNS_MAX:,} elements are loaded once; of half precision, twice as long."
            )
            yield replace(version, fits=fits_block, why=why)
        else:
            yield version


def _ladder(name: str, formula: str, is_rms: bool, operations: int) -> Ladder:
    return Ladder(
        name=name,
        folder="norm",
        formula=formula,
        arrays=("x", "weight", "bias", "out"),
        moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=partial(_preferred, is_rms),
        versions=(
            Version(
                1,
                "three_passes",
                change="One block per row, and up to three passes over it: mean, variance, result.",
                why="It is the formula as it stands.",
                limit="Every element is loaded up to three times, 4 bytes (2 in half precision) at a time.",
                launch=_any_length("three_passes", is_rms),
            ),
            Version(
                2,
                "welford",
                change="Mean and variance in one pass; packs of 16 bytes.",
                why="Two passes instead of three: Welford's update finds the variance around a moving mean.",
                limit="Long rows: the second pass loads the row again, from the L2 cache at best. Short rows: each "
                "of the 512 threads joins the results of all 16 warps, with a division each. At rows of 4,096 "
                "float32 the processors issue in 85 % of their cycles, and the memory is busy at 58 % (H100).",
                launch=_any_length("welford", is_rms),
                instructions=("LDG.E.128", "STG.E.128"),
            ),
            *_in_registers(is_rms),
            Version(
                6,
                "ahead",
                change="Rows, weights or both come through shared memory, by asynchronous copies; one exchange per "
                "row, in which each warp sends its pair to all blocks.",
                why="Copies need no registers, so all loads are in flight before the first one is used, and no block "
                "waits for a barrier of its cluster.",
                limit="Between load and store warps wait for their block or cluster, and clusters do not fill all "
                "processors.",
                launch=loaded_ahead(is_rms, partial(ahead.for_norm, is_rms)),
                fits=ahead.fits,
                architecture_min=90,
                instructions=("LDGSTS.E.BYPASS.128", "SHFL.BFLY", "STG.E.128"),
            ),
        ),
    )


LAYER_NORM = _ladder(
    "layer_norm", "out = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row", False, 8
)
RMS_NORM = _ladder("rms_norm", "out = x / sqrt(mean of x^2 + epsilon) * weight, for each row", True, 5)
