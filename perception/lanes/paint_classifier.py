"""Scores how much a line looks like paint on a road: even in width, with the same road surface on both sides.

Other structures are seldom even. Reflections on a wet road, the edge of a hill, a kerb's light face, clouds and joints
of a wall have ragged widths, widths that do not shrink with distance as paint's do, or different surfaces on each side.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from perception.lanes.lines import StripePoints

Float = NDArray[np.float64]

SCALE_MAX_M = 0.06
"""Maximum ground width of a pixel, m, at which a run's width can still be measured."""

POINTS_MIN = 6
"""Minimum number of measurable points."""

CONTRAST_MIN = 5.0
"""Minimum contrast by which side differences are divided, 0-255."""

PAINT_WIDTH_MIN_M, PAINT_WIDTH_MAX_M = 0.10, 0.20
"""Usual width of lane paint, m."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """Appearance features of a line's points, the inputs of `paint_probability`.

    `spread` is the relative spread of their widths; `trend` is how the width in metres grows with distance (0: not, as
    paint; 1: in proportion, as something of constant width in the picture); `off_width` is the log ratio by which the
    width is outside paint's usual range; `side_gap` and `inner_gap` are lightness differences between the two sides,
    and between the inner side and the ego's road, relative to the contrast; `tint` is the road's colour saturation.
    """

    spread: float
    trend: float
    off_width: float
    side_gap: float
    inner_gap: float
    tint: float


def median(values: Float) -> float:
    """Median of at least one value; faster than numpy's for few values."""
    ordered, half = np.sort(values), len(values) // 2
    return float(ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2.0)


def appearance(points: StripePoints, member: NDArray[np.bool_]) -> Appearance | None:
    """Features of the points `member` (N,) bool that are near enough to measure; None where they are too few."""
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
"""Bias, then one weight for each field of `Appearance`: logistic regression on 1500 fits along lines of five maps and
of real dashcam pictures, and 1100 fits beside lines (reflections, kerbs, walls, skies, hills), in all weathers."""


def paint_probability(seen: Appearance) -> float:
    """Probability in [0, 1] that the line is paint."""
    return float(1.0 / (1.0 + np.exp(-(WEIGHTS @ (1.0, *astuple(seen))))))
