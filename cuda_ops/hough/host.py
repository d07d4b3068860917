"""Tables and sizes of the Hough transform, and the launch of its kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, fabs, floor, pi, sin
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS = 512
BINS = 9216
SEGMENTS = 4
SIZE_MAX = 32767


@dataclass(frozen=True, slots=True)
class Grid:
    """The bins of the accumulator: `angles` from 0 in steps of `theta_step` rad, `rhos` in steps of `rho_step` px."""

    width: int
    height: int
    rho_step: float
    theta_step: float

    @property
    def angles(self) -> int:
        """Number of angles from 0 to pi; an angle within half a step of pi is left out, because it equals angle 0."""
        count = floor(pi / self.theta_step) + 1
        return count - 1 if count > 1 and fabs(pi - (count - 1) * self.theta_step) < self.theta_step / 2 else count

    @property
    def rhos(self) -> int:
        return round((2 * (self.width + self.height) + 1) / self.rho_step)

    @property
    def pitch(self) -> int:
        """Distance between the rows of votes of two angles, in counters; rows begin at multiples of 16 bytes."""
        return ceil_div(self.rhos, 4) * 4


@dataclass(frozen=True, slots=True)
class Scratch:
    """Scratch arrays, uint32, int32 and uint64, with the sizes of `scratch_sizes`; their content does not matter."""

    points: Any
    votes: Any
    peaks: Any


@dataclass(frozen=True, slots=True)
class Results:
    """Output arrays: `lines` (N, 4) float32, `count` (2,) int32, `segments` (N, 4, 4) int32, or None for none."""

    lines: Any
    count: Any
    segments: Any = None


@dataclass(frozen=True, slots=True)
class SegmentRule:
    """The segments to find: their minimum length, and the largest gap that is bridged."""

    length_min_px: float = 0.0
    gap_max_px: int = 0


ANY_SEGMENT = SegmentRule()
"""Every segment, without bridged gaps."""


def scratch_sizes(grid: Grid) -> tuple[int, int, int]:
    """Sizes of the `Scratch` arrays in elements: points, votes (angles * pitch), and the most possible local maxima."""
    bins = grid.angles * grid.pitch
    return grid.width * grid.height + 4, bins, bins // 2 + grid.rhos + 1


def directions(grid: Grid) -> NDArray[np.float32]:
    """Cosine and sine of each angle, divided by `rho_step` and rounded like OpenCV's tables, (angles, 2) float32."""
    table = np.empty((grid.angles, 2), np.float32)
    angle = np.float32(0.0)
    for row in table:
        row[:] = cos(float(angle)) / grid.rho_step, sin(float(angle)) / grid.rho_step
        angle = np.float32(angle + np.float32(grid.theta_step))
    return table


def run(
    launcher: Launcher,
    edges: Any,
    grid: Grid,
    table: Any,
    votes_min: int,
    scratch: Scratch,
    results: Results,
    rule: SegmentRule = ANY_SEGMENT,
) -> None:
    """Find the lines of `edges` (H, W) uint8 with more than `votes_min` pixels; `table` is that of `directions`."""
    shared = 4 * min(grid.pitch, BINS)
    blocks = min(launcher.resident_blocks("hough_lines", THREADS, shared), grid.angles)
    arguments: list[Argument] = [
        Ptr(edges), I32(grid.width), I32(grid.height), Ptr(table), I32(grid.angles), I32(grid.rhos), I32(votes_min),
        F32(grid.rho_step), F32(grid.theta_step), F32(0.0), F32(rule.length_min_px), I32(rule.gap_max_px),
        Ptr(scratch.points),
        Ptr(scratch.votes), Ptr(scratch.peaks), Ptr(launcher.control_words()), Ptr(results.lines),
        Ptr(results.segments), Ptr(results.count), I32(int(results.lines.shape[0])),
    ]  # fmt: skip
    launcher.launch("hough_lines", (blocks, 1, 1), THREADS, arguments, shared_bytes=shared, cooperative=True)
