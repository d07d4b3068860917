"""Builds the image pyramids and launches the Lucas-Kanade tracker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS = 128
REACH_MAX = 15

Pair = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the Lucas-Kanade tracker.

    * `levels`: number of levels of the pyramid.
    * `reach_px`: the side of the window is 2 * `reach_px` + 1.
    * `iterations`, `step_min_px`: a search ends after this number of steps, or at a shorter step.
    * `eigenvalue_min`: minimum of the smaller eigenvalue of the template's mean gradient matrix, grey levels squared
      per px squared; points below it are not tracked.
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


def build_pyramids(launcher: Launcher, images: Pair, halves: Pair, sizes: list[tuple[int, int]]) -> None:
    """Write the pyramid levels after the first of both `images` (H, W) to `halves`, flat uint8, one after the other."""
    source, start = images, 0
    for (height, width), (tall, wide) in pairwise(sizes):
        end = start + tall * wide
        target = (halves[0][start:end], halves[1][start:end])
        arguments: list[Argument] = [
            Ptr(source[0]), Ptr(source[1]), I32(width), I32(height), Ptr(target[0]), Ptr(target[1])
        ]  # fmt: skip
        launcher.launch(
            "pyramid_down", (ceil_div(tall * ceil_div(wide, 4), THREADS), 2, 1), THREADS, arguments, early=True
        )
        source, start = target, end


def run(
    launcher: Launcher,
    images: Pair,
    halves: Pair,
    size: tuple[int, int],
    points: Any,
    out: Any,
    residual: Any,
    status: Any,
    settings: Settings,
) -> None:
    """Track `points` (N, 2) float32 from the first image into the second.

    Writes positions to `out` (N, 2) float32, `residual` (N,) float32 and `status` (N,) uint8.
    """
    height, width = size
    arguments: list[Argument] = [
        *(Ptr(part) for part in (*images, *halves)), I32(width), I32(height), I32(settings.levels), Ptr(points),
        Ptr(out), Ptr(residual), Ptr(status), I32(settings.reach_px), I32(settings.iterations),
        F32(settings.step_min_px), F32(settings.eigenvalue_min),
    ]  # fmt: skip
    # Without `early`: blocks that start during the last pyramid level are distributed unevenly, and some must wait.
    launcher.launch("lucas_kanade", (int(points.shape[0]), 1, 1), THREADS, arguments)
