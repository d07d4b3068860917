"""Segments lane paint: road pixels that are brighter (white) or yellower than the asphalt on both sides.

A stripe is detected by its contrast to the road beside it in the same row, not by absolute colour. So sun, shadow edges
and light asphalt need no other threshold (the "dark-light-dark" transition of Broggi and Berte, "Vision-based road
detection in automotive systems", JAIR 3, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.frames import intrinsics
from av_core.types import Image
from perception.lanes.road_view import RoadView
from perception.lanes.side_kernel import at_both_sides

SIDE_STEP_M = 0.5
"""Lateral distance, m, at which asphalt beside a stripe is sampled: beyond the other stripe of a double line, and in
the gap beside a zebra bar, so that a bar shows its full width, which tells it from a line."""

NEAR_STEP_M = 0.25
"""Second sampling distance for white paint, m: beside a kerb the ground half a metre away may be as bright as paint."""

LANE_HALF_M, LANE_SAMPLES = 0.8, 9
"""Half width of the sampled road right ahead of the car, m, and samples per row."""

WHITE_CONTRAST_MIN = 12
YELLOW_CONTRAST_MIN = 9
"""Minimum contrasts of white (L) and yellow (b) paint in daylight (Lab, 0-255)."""

NOISE_FACTOR, NOISE_CONTRAST_MAX = 4.0, 28.0
"""Multiple of the road's texture that contrast must exceed, and the maximum of that threshold."""

DAYLIGHT, DIM_MIN = 60.0, 0.4
"""Median lightness (L of Lab) below which contrast thresholds shrink with the light, and their smallest factor, by
night."""

SPECK_PX = 4
"""Minimum number of paint pixels in a 3x3 neighbourhood."""

YELLOW_SHADE = 25
"""Maximum amount by which a yellow stripe may be darker than the asphalt (L of Lab, 0-255)."""


@dataclass(frozen=True, slots=True)
class PaintMask:
    """Paint of one picture's road rows.

    `white`, `yellow` (rows, width) bool; `contrast` (rows, width) uint8 is the stronger of both contrasts, 0 off paint.
    `lab` (rows, width, 3) is the picture in OpenCV's Lab; `left`, `right` (rows, width) are flat indices of the pixels
    beside each pixel, from `side_columns`. `lane_light` (rows,) is the L of the road right ahead of the car.
    """

    white: NDArray[np.bool_]
    yellow: NDArray[np.bool_]
    contrast: Image
    lab: Image
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    lane_light: NDArray[np.float64]


def side_steps(view: RoadView, step_m: float = SIDE_STEP_M) -> NDArray[np.int64]:
    """`step_m` in px, for each row: at least 2, and less than the picture's width."""
    return np.clip(np.rint(step_m / view.metres_per_px), 2, view.camera.width_px - 1).astype(np.int64)


def side_columns(view: RoadView, step_m: float = SIDE_STEP_M) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Flat indices of the pixels `step_m` to the left and right of each pixel, clamped at the picture's edge."""
    rows, width = len(view.metres_per_px), view.camera.width_px
    step = side_steps(view, step_m)[:, None]
    column = np.arange(width, dtype=np.intp)[None, :]
    row = np.arange(rows, dtype=np.intp)[:, None] * width
    return row + np.maximum(column - step, 0), row + np.minimum(column + step, width - 1)


def lane_columns(view: RoadView) -> NDArray[np.intp]:
    """Flat indices (rows, LANE_SAMPLES) of road pixels right ahead of the car, within `LANE_HALF_M` to each side."""
    rows, width = len(view.metres_per_px), view.camera.width_px
    k = intrinsics(view.camera)
    ahead = view.to_ground(np.full(rows, k[0, 2]), np.arange(rows, dtype=np.float64))
    middle = k[0, 2] + ahead[:, 1] / view.metres_per_px  # where y is 0
    half = LANE_HALF_M / view.metres_per_px
    column = middle[:, None] + half[:, None] * np.linspace(-1.0, 1.0, LANE_SAMPLES)
    inside = np.clip(np.rint(column), 0, width - 1).astype(np.intp)
    return np.asarray(np.arange(rows, dtype=np.intp)[:, None] * width + inside)


@dataclass(frozen=True, slots=True)
class Columns:
    """Sampling positions beside each pixel, as flat indices.

    `left`, `right` are at `SIDE_STEP_M`, `near_left`, `near_right` at `NEAR_STEP_M`, all (rows, width); `lane` (rows,
    LANE_SAMPLES) is right ahead of the car. `step_px`, `near_px` (rows,) are these two distances.
    """

    left: NDArray[np.intp]
    right: NDArray[np.intp]
    near_left: NDArray[np.intp]
    near_right: NDArray[np.intp]
    lane: NDArray[np.intp]
    step_px: NDArray[np.int64]
    near_px: NDArray[np.int64]


def columns_of(view: RoadView) -> Columns:
    """Compute the sampling positions for the pixels of `view`."""
    return Columns(
        *side_columns(view), *side_columns(view, NEAR_STEP_M), lane_columns(view),
        side_steps(view), side_steps(view, NEAR_STEP_M),
    )  # fmt: skip


def segment_paint(road_bgr: Image, columns: Columns) -> PaintMask:
    """Segment the paint in the road rows `road_bgr` (rows, width, 3) uint8."""
    lab = np.asarray(cv2.cvtColor(road_bgr, cv2.COLOR_BGR2LAB), dtype=np.uint8)
    channels = [np.asarray(channel, dtype=np.uint8) for channel in cv2.split(lab)]
    light, yellowness = channels[0], channels[2]
    light_left, light_right = at_both_sides(light, columns.step_px)
    white = cv2.subtract(light, cv2.max(light_left, light_right))  # saturating: 0 where not brighter
    yellow_left, yellow_right = at_both_sides(yellowness, columns.step_px)
    yellow = cv2.subtract(yellowness, cv2.max(yellow_left, yellow_right))
    white = cv2.max(white, cv2.subtract(light, cv2.max(*at_both_sides(light, columns.near_px))))
    dim = float(np.clip(np.median(light[::4, ::4]) / DAYLIGHT, DIM_MIN, 1.0))
    white_min = _threshold(light, light_right, WHITE_CONTRAST_MIN * dim)
    yellow_min = _threshold(yellowness, yellow_right, YELLOW_CONTRAST_MIN * dim)
    is_yellow = (yellow >= yellow_min) & (cv2.subtract(cv2.min(light_left, light_right), light) < YELLOW_SHADE)
    is_white = (white >= white_min) & ~is_yellow
    paint = _without_specks(is_white | is_yellow)
    contrast = np.asarray(cv2.max(white, yellow) * paint, dtype=np.uint8)
    lane_light = np.median(light.take(columns.lane), axis=1)
    return PaintMask(is_white & paint, is_yellow & paint, contrast, lab, columns.left, columns.right, lane_light)


def _without_specks(paint: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Drop pixels with fewer than `SPECK_PX` paint pixels in their 3x3 neighbourhood: grain of the asphalt."""
    count = cv2.boxFilter(paint.view(np.uint8), -1, (3, 3), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(paint & (np.asarray(count) >= SPECK_PX), dtype=np.bool_)


def _threshold(channel: Image, beside: Image, least: float) -> np.uint8:
    """Contrast threshold above the road's own texture: a multiple of its spread, from the median difference.

    An integer, so that the comparison with uint8 pixels needs no conversion to floating point.
    """
    difference = np.asarray(cv2.absdiff(channel[::4, ::4], beside[::4, ::4]), dtype=np.uint8)
    spread = 1.4826 * float(np.median(difference)) / 2.0**0.5
    return np.uint8(np.ceil(max(least, min(NOISE_FACTOR * spread, NOISE_CONTRAST_MAX))))
