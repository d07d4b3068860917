"""How much a line looks like paint on a road: even in width, with the same road on both of its sides.

What is no paint is seldom even: reflections on a wet road, the edge of a hill, a kerb's light face, clouds and joints
of a wall have ragged widths, widths that do not shrink with distance as paint's do, or something else on each side.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from perception.lanes.lines import StripePoints

Float = NDArray[np.float64]

SCALE_MAX_M = 0.06
"""Where a pixel is wider on the ground than this, a run's width tells nothing."""

POINTS_MIN = 6
CONTRAST_MIN = 5.0
PAINT_WIDTH_MIN_M, PAINT_WIDTH_MAX_M = 0.10, 0.20


@dataclass(frozen=True, slots=True)
class Appearance:
    """Of a line's points: the spread of their widths as a share of it, how the width grows with distance (0: not, 1:
    in proportion, as what is as wide in the picture everywhere), by how much it is out of paint's usual width
    (logarithm of the ratio), the difference between the two sides as a share of the contrast, and the road's tint."""

    spread: float
    trend: float
    off_width: float
    side_gap: float
    inner_gap: float
    tint: float


def median(values: Float) -> float:
    """Of at least one value; of few it is quicker than numpy's own."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2.0)


def appearance(points: StripePoints, member: NDArray[np.bool_]) -> Appearance | None:
    """Of the points `member` (N,) bool that are near enough to tell; None where they are too few."""
    near = np.flatnonzero(member & (points.sigma_m < SCALE_MAX_M))
    if len(near) < POINTS_MIN:
        return None
    width, x = points.width_m[near], np.log(np.maximum(points.x_m[near], 1.0))
    middle = median(width)
    spread = 1.4826 * median(np.abs(width - middle)) / middle
    contrast = max(median(points.contrast[near]), CONTRAST_MIN)
    away = x - x.mean()
    trend = 0.0 if np.ptp(x) < 0.15 else float(away @ np.log(width) / (away @ away))
    return Appearance(
        min(spread, 1.0),
        min(abs(trend), 2.0),
        min(max(float(np.log(PAINT_WIDTH_MIN_M / middle)), float(np.log(middle / PAINT_WIDTH_MAX_M)), 0.0), 1.5),
        min(median(points.side_gap[near]) / contrast, 1.0),
        min(median(points.inner_gap[near]) / contrast, 1.0),
        min(median(points.road_tint[near]), 0.5),
    )


WEIGHTS = np.array([4.2, -9.0, -1.8, -8.0, -3.3, -1.9, -4.4])
"""Bias, then one for each of `Appearance`: logistic regression on 1500 fits along lines of five maps and of real
dashcam pictures, and 1100 beside them (reflections, kerbs, walls, skies, hills), all weathers."""


def paint_likeness(seen: Appearance) -> float:
    """In [0, 1]."""
    return float(1.0 / (1.0 + np.exp(-(WEIGHTS @ (1.0, *astuple(seen))))))
