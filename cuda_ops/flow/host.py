"""Pyramids and the launch of the tracker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

WARPS = 4
REACH_MAX = 15


@dataclass(frozen=True, slots=True)
class Settings:
    """Windows of 2 * `reach_px` + 1; a point whose template's smaller eigenvalue of mean squared gradients is below
    `eigenvalue_min` (levels squared per px squared) is not tracked.
    """

    levels: int = 4
    reach_px: int = 10
    iterations: int = 30
    step_min_px: float = 0.01
    eigenvalue_min: float = 0.1


def level_sizes(height: int, width: int, levels: int) -> list[tuple[int, int]]:
    sizes = [(height, width)]
    for _ in range(levels - 1):
        sizes.append(((sizes[-1][0] + 1) // 2, (sizes[-1][1] + 1) // 2))
    return sizes


def build_pyramid(launcher: Launcher, pyramid: Any, sizes: list[tuple[int, int]]) -> None:
    """Fill the levels behind the first of `pyramid`, flat uint8, all levels one after the other."""
    start = 0
    for (height, width), (tall, wide) in pairwise(sizes):
        end = start + height * width
        arguments: list[Argument] = [
            Ptr(pyramid[start:end]),
            I32(width),
            I32(height),
            Ptr(pyramid[end : end + tall * wide]),
        ]
        launcher.launch("pyramid_down", (ceil_div(tall * wide, 256), 1, 1), 256, arguments)
        start = end


def run(
    launcher: Launcher,
    before: Any,
    after: Any,
    size: tuple[int, int],
    points: Any,
    out: Any,
    residual: Any,
    status: Any,
    settings: Settings,
) -> None:
    """Points (N, 2) float32 of pyramid `before` followed into `after`: (N, 2) float32, (N,) float32, (N,) uint8."""
    height, width = size
    count = int(points.shape[0])
    arguments: list[Argument] = [
        Ptr(before), Ptr(after), I32(width), I32(height), I32(settings.levels), Ptr(points), Ptr(out), Ptr(residual),
        Ptr(status), I32(count), I32(settings.reach_px), I32(settings.iterations), F32(settings.step_min_px),
        F32(settings.eigenvalue_min),
    ]  # fmt: skip
    launcher.launch("lucas_kanade", (ceil_div(count, WARPS), 1, 1), 32 * WARPS, arguments)
