"""The ladders of LayerNorm and RMSNorm over the last dimension, which share their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library import rows
from cuda_ops.library.ladder import Ladder, Launch, Problem, Version
from cuda_ops.library.rows import Spread
from cuda_ops.runtime.launcher import F32, I32, I64, Argument, Launcher, Ptr, ceil_div


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
    """Launch rule of versions 4 and 5: a block or a cluster per row, as `rule` gives it for the problem."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        chosen: Spread = rule(problem)
        name, blocks = ("norm_block", "") if chosen.blocks == 1 else ("norm_cluster", f"{chosen.blocks}, ")
        packs = f"{problem.lanes}, {chosen.vectors}, {chosen.threads}"
        kernel = f"{name}<{problem.element.cuda}, {packs}, {blocks}{rows.flag(is_rms)}>"
        values: list[Argument] = [*(Ptr(array) for array in arrays), I32(problem.columns), F32(problem.epsilon)]
        grid = (problem.rows * chosen.blocks, 1, 1)
        launcher.launch(kernel, grid, chosen.threads, values, cluster=chosen.blocks)

    return launch


def _ladder(name: str, formula: str, is_rms: bool, operations: int) -> Ladder:
    return Ladder(
        name=name,
        folder="norm",
        formula=formula,
        arrays=("x", "weight", "bias", "out"),
        moved_bytes=lambda problem: 2 * problem.count * problem.element.size_bytes,
        operations=lambda problem: operations * problem.count,
        preferred=lambda problem: rows.preferred(problem, any_length=2, warp=3, block=4, cluster=5),
        versions=(
            Version(
                1,
                "three_passes",
                change="One block per row, and up to three passes over it: mean, variance, result.",
                why="It is the formula as it stands.",
                limit="Every element is loaded up to three times, 4 bytes at a time.",
                launch=_any_length("three_passes", is_rms),
            ),
            Version(
                2,
                "welford",
                change="Mean and variance in one pass; packs of 16 bytes.",
                why="Two passes instead of three: Welford's update finds the variance around a moving mean.",
                limit="The second pass loads the row again: from the L2 cache at best.",
                launch=_any_length("welford", is_rms),
                instructions=("LDG.E.128", "STG.E.128"),
            ),
            *rows.versions_in_registers(
                warp(is_rms),
                spread(is_rms, rows.for_block),
                spread(is_rms, rows.for_cluster),
                cluster_limit="Weights and biases come from the L2 cache again for every row, and nothing is loaded "
                "while a block waits for its cluster.",
            ),
        ),
    )


LAYER_NORM = _ladder(
    "layer_norm", "out = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row", False, 8
)
RMS_NORM = _ladder("rms_norm", "out = x / sqrt(mean of x^2 + epsilon) * weight, for each row", True, 5)
