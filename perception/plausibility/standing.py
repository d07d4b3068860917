"""Does an object of a kind's size, seen in this box, stand on the road?

The box's height and width limit the object's distance, and the lower edge of the box gives the height of its foot at
each distance. A wheel or shoe touches the road, so at one of these distances that height must be zero. The road's
slope, the camera's pitch and the box's edges are uncertain, and the answer is in their standard deviations. The idea
is that of Hoiem, Efros and Hebert, "Putting objects in perspective", IJCV 80 (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import Float, ObjectKind
from perception.depth.ranging_kernel import AHEAD_MIN, BOX_SIGMA_PX, ROAD_STEP_M
from perception.depth.view import EDGE_PX, Box, View

FOOT_SIGMA_M = 0.12
"""Standard deviation of the height at which an object stands near the camera, m: kerbs, pavements, load."""

SLOPE_SIGMA, MAPPED_SLOPE_SIGMA = 0.015, 0.01
"""Growth of that standard deviation per metre of distance, without and with the road heights of a map.

Roads bend by up to a degree between the camera and an object. A map gives the road ahead, but not the fields and car
parks beside it.
"""

BOX_SLACK_PX = 0.5
"""Error of a box's height and width that is always allowed, px."""

DEPTH_MIN_M, DEPTH_MAX_M = 0.5, 200.0
DEPTHS = 24
"""Number of distances tried between the limits."""

LOWER_MIN_PX, COVERED_MIN = 1.0, 0.3
"""A nearer box hides the foot of another if it ends at least `LOWER_MIN_PX` lower and covers at least `COVERED_MIN`
of the width of its lower edge."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Limits of a kind's height and of its apparent width from any side, m."""

    low_m: float
    high_m: float
    narrow_m: float
    broad_m: float


EXTENTS = {
    ObjectKind.CAR: Extent(1.2, 2.3, 0.95, 5.6),
    ObjectKind.TRUCK: Extent(1.5, 4.2, 1.6, 9.5),
    ObjectKind.BUS: Extent(2.2, 4.5, 1.9, 13.5),
    ObjectKind.MOTORCYCLE: Extent(1.0, 2.1, 0.4, 2.7),
    ObjectKind.BICYCLE: Extent(1.1, 2.2, 0.35, 2.4),
    ObjectKind.PEDESTRIAN: Extent(1.0, 2.0, 0.2, 1.5),
}
"""Sizes of CARLA's blueprints, widened by common confusions: a van or a pickup is often detected as a car, a large car
as a truck. Cycles carry a rider or none; the smallest people are children of 1.0 m."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The road as a camera sees it: `view` with its present attitude, the standard deviation of its pitch.

    `rises_m` (K,) are the map's road heights ahead, as for `range_objects`; `slope_sigma` is one of the constants
    above.
    """

    view: View
    pitch_sigma_rad: float
    rises_m: Float
    slope_sigma: float


def standing_error(box: Box, kind: ObjectKind, ground: Ground) -> float | None:
    """By how many standard deviations an object of `kind` in `box` is off the road: positive if it floats above it.

    0 where it stands on the road at a distance that fits the box's size. None where the picture's lower edge cuts the
    box. Sides and top that the picture cuts do not limit the size from below.
    """
    if not box[3] < ground.view.height_px - 1.0 - EDGE_PX:
        return None
    depths = _depths(box, EXTENTS[kind], ground.view)
    height, sigma = _foot_height(box, depths, ground)
    if height.min() <= 0.0 <= height.max():
        return 0.0
    errors = height / sigma
    return float(errors[np.argmin(np.abs(errors))])


def _depths(box: Box, extent: Extent, view: View) -> Float:
    """Depths along the camera's axis, m, at which the box has a size that the kind may have.

    One depth between the limits where height and width contradict each other.
    """
    wide, high = box[2] - box[0], box[3] - box[1]
    nearest, furthest = DEPTH_MIN_M, DEPTH_MAX_M
    if box[1] > EDGE_PX:
        nearest = max(nearest, view.focal_px * extent.low_m / (high + BOX_SLACK_PX))
    if box[0] > EDGE_PX and box[2] < view.width_px - 1.0 - EDGE_PX:
        nearest = max(nearest, view.focal_px * extent.narrow_m / (wide + BOX_SLACK_PX))
    furthest = min(furthest, view.focal_px * extent.high_m / max(high - BOX_SLACK_PX, 1.0))
    furthest = min(furthest, view.focal_px * extent.broad_m / max(wide - BOX_SLACK_PX, 1.0))
    if nearest >= furthest:
        return np.array([np.sqrt(nearest * furthest)])
    return np.geomspace(nearest, furthest, DEPTHS, dtype=np.float64)


def _foot_height(box: Box, depths: Float, ground: Ground) -> tuple[Float, Float]:
    """Height of the box's lower edge above the road at each of `depths` (N,), and its standard deviation, m."""
    view = ground.view
    right = ((box[0] + box[2]) / 2.0 - (view.width_px - 1) / 2.0) / view.focal_px
    down = (box[3] - (view.height_px - 1) / 2.0) / view.focal_px
    ray = right * np.array(view.right) + down * np.array(view.down) + np.array(view.forward)
    height = view.z_m + ray[2] * depths
    range_m = np.hypot(ray[0], ray[1]) * depths
    slope_sigma = ground.slope_sigma
    if len(ground.rises_m) and ray[0] > AHEAD_MIN * np.hypot(ray[0], ray[1]):
        height = height - _rise(view.x_m + ray[0] * depths, ground.rises_m)
    elif len(ground.rises_m):
        slope_sigma = max(slope_sigma, SLOPE_SIGMA)
    variance = (FOOT_SIGMA_M + slope_sigma * range_m) ** 2 + (depths * BOX_SIGMA_PX / view.focal_px) ** 2
    return height, np.sqrt(variance + (range_m * ground.pitch_sigma_rad) ** 2)


def _rise(ahead_m: Float, rises_m: Float) -> Float:
    """The road's height at `ahead_m` from the ego's origin; beyond the last sample it stays the same."""
    return np.asarray(np.interp(ahead_m, ROAD_STEP_M * np.arange(len(rises_m)), rises_m))


def is_foot_covered(box: Box, others: Float) -> bool:
    """Whether a nearer one of `others` (N, 4), boxes that end lower, hides part of the box's lower edge."""
    if not len(others):
        return False
    lower = (others[:, 3] > box[3] + LOWER_MIN_PX) & (others[:, 1] < box[3])
    shared = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0])
    return bool((lower & (shared >= COVERED_MIN * (box[2] - box[0]))).any())
