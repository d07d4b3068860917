"""Extracts lane marking points from paint: Canny edges, probabilistic Hough segments, and stripe centres along them."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Image
from perception.lanes.road_view import RoadView
from perception.lanes.segmentation import PaintMask

Float = NDArray[np.float64]

STRIPE_WIDTH_MIN_M = 0.05
STRIPE_WIDTH_MAX_M = 0.34
"""Maximum stripe width, m. Lane markings are 0.10 to 0.30 m wide; stop lines and zebra bars are wider."""

CROSSING_BARS = 3
"""Minimum number of bars side by side in a row of a zebra crossing."""

CROSSING_MARGIN_PX = 2
"""Number of rows next to such a row that are left out too."""

DOUBLE_GAP_MAX_M = 0.45
"""Maximum distance between the two stripes of a double line, m."""

CANNY_LOW, CANNY_HIGH = 20, 60
"""Hysteresis thresholds of the Canny edge detector."""

HOUGH_VOTES, HOUGH_LENGTH_PX, HOUGH_GAP_PX = 10, 9, 4
"""Minimum votes, minimum length and maximum gap of a Hough segment."""

SEGMENTS_MAX = 60
"""Maximum number of segments; the longest are kept."""

HEADING_MAX_RAD = np.radians(55.0)
"""Maximum angle of a segment to the vehicle's axis, on the ground."""

ATTACH_PX = 3.5
"""Maximum distance of a stripe's edge from its segment, px."""

LIGHT_MIN = 20.0
"""Minimum L of Lab (0-255) by which colour is divided; darker pixels have no reliable colour."""


@dataclass(frozen=True, slots=True)
class StripePoints:
    """Centres of paint runs, one per run and row, sorted by row.

    `x_m`, `y_m` (N,) are on the ground in the vehicle frame; `sigma_m` (N,) is the effect of one pixel of error there.
    `is_yellow` and `is_double` (N,) are bool. `segment` (N,) is the index of the Hough segment along which the point
    lies, -1 for none (far dashes are too short for a segment). `width_m` (N,) is the run's width. `contrast` (N,) is
    how much lighter or yellower it is than the road on both sides (L or b of Lab). `side_gap` (N,) is the difference of
    the two sides in L, `inner_gap` (N,) that of the side towards the car and the road right ahead of the car, and
    `road_tint` (N,) the sides' distance from grey relative to their L.
    """

    x_m: Float
    y_m: Float
    sigma_m: Float
    is_yellow: NDArray[np.bool_]
    is_double: NDArray[np.bool_]
    segment: NDArray[np.int64]
    width_m: Float
    contrast: Float
    side_gap: Float
    inner_gap: Float
    road_tint: Float


def find_segments(contrast: Image) -> Float:
    """Segments (M, 4) px (u0, v0, u1, v1) of the edges of `contrast`, longest first, at most `SEGMENTS_MAX`."""
    return segments_of(np.asarray(cv2.Canny(contrast, CANNY_LOW, CANNY_HIGH), dtype=np.uint8))


def segments_of(edges: Image) -> Float:
    """The segments that `find_segments` finds, from a Canny edge picture."""
    found = cv2.HoughLinesP(
        edges, 1.0, np.pi / 180.0, HOUGH_VOTES, minLineLength=HOUGH_LENGTH_PX, maxLineGap=HOUGH_GAP_PX
    )
    if found is None:
        return np.zeros((0, 4))
    segments = np.asarray(found, dtype=np.float64).reshape(-1, 4)
    length = np.hypot(segments[:, 2] - segments[:, 0], segments[:, 3] - segments[:, 1])
    return np.asarray(segments[np.argsort(-length, kind="stable")[:SEGMENTS_MAX]])


def along_the_road(segments: Float, view: RoadView) -> Float:
    """The segments within `HEADING_MAX_RAD` of the vehicle's axis on the ground; this excludes stop lines."""
    if len(segments) == 0:
        return segments
    start = view.to_ground(segments[:, 0], segments[:, 1])
    end = view.to_ground(segments[:, 2], segments[:, 3])
    run = np.abs(end - start)
    return np.asarray(segments[np.arctan2(run[:, 1], run[:, 0]) < HEADING_MAX_RAD])


def stripe_points(paint: PaintMask, segments: Float, view: RoadView) -> StripePoints:
    """Centres of runs as wide as a lane marking, each with its segment; the two runs of a double line become one."""
    row, start, end = _runs(paint.white | paint.yellow)
    scale = view.metres_per_px[row]
    width = (end - start) * scale
    in_crossing = _crossing_rows(row[width > STRIPE_WIDTH_MAX_M], len(view.metres_per_px))
    fits = ~in_crossing[row] & (width >= STRIPE_WIDTH_MIN_M) & (width <= np.maximum(STRIPE_WIDTH_MAX_M, 2.0 * scale))
    row, start, end, scale, width = row[fits], start[fits], end[fits], scale[fits], width[fits]
    centre = (start + end - 1) / 2.0
    segment, distance = _nearest_segment(centre, row.astype(np.float64), segments, (end - start) / 2.0)
    segment = np.where(distance <= ATTACH_PX, segment, -1)
    is_double, keep = _doubles(row, centre, scale)
    middle = np.where(is_double, (centre + np.append(centre[1:], 0.0)) / 2.0, centre) if len(row) else centre
    pixel = row * paint.white.shape[1] + np.rint(centre).astype(np.intp)
    is_yellow = paint.yellow.ravel()[pixel]
    row, middle, scale, pixel = row[keep], middle[keep], scale[keep], pixel[keep]
    ground = view.to_ground(middle, row.astype(np.float64))
    return StripePoints(
        ground[:, 0], ground[:, 1], scale, is_yellow[keep], is_double[keep], segment[keep], width[keep],
        *_beside(paint, pixel, row, ground[:, 1] > 0.0),
    )  # fmt: skip


def _beside(
    paint: PaintMask, pixel: NDArray[np.intp], row: NDArray[np.int64], is_left: NDArray[np.bool_]
) -> tuple[Float, Float, Float, Float]:
    """`contrast`, `side_gap`, `inner_gap` and `road_tint` of `StripePoints`, for flat indices `pixel` in `row`."""
    lab = paint.lab.reshape(-1, 3)
    left, right = (lab[side.ravel()[pixel]].astype(np.float64) for side in (paint.left, paint.right))
    road = (left + right) / 2.0
    contrast = paint.contrast.ravel()[pixel].astype(np.float64)
    inner = np.where(is_left, right[:, 0], left[:, 0])
    tint = np.hypot(road[:, 1] - 128.0, road[:, 2] - 128.0) / np.maximum(road[:, 0], LIGHT_MIN)
    return contrast, np.abs(left[:, 0] - right[:, 0]), np.abs(inner - paint.lane_light[row]), tint


def _crossing_rows(rows_of_bars: NDArray[np.int64], rows: int) -> NDArray[np.bool_]:
    """Mark rows of a zebra crossing, bool (rows,): those with several bars side by side, and their neighbours.

    At the kerb a crossing's last bar may be cut as narrow as a line, so the whole row is left out.
    """
    is_crossing = np.bincount(rows_of_bars, minlength=rows) >= CROSSING_BARS
    margin = np.ones(2 * CROSSING_MARGIN_PX + 1, dtype=np.int64)
    return np.asarray(np.convolve(is_crossing.astype(np.int64), margin, mode="same") > 0)


def _runs(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Row, first column and end column (exclusive) of every horizontal run of True."""
    padded = np.zeros((mask.shape[0], mask.shape[1] + 2), dtype=np.int8)
    padded[:, 1:-1] = mask
    flat = np.flatnonzero(padded.ravel()[1:] != padded.ravel()[:-1])
    row, column = np.divmod(flat, padded.shape[1])
    return row[::2], column[::2], column[1::2]


def _nearest_segment(u: Float, v: Float, segments: Float, half_width: Float) -> tuple[NDArray[np.int64], Float]:
    """Index of the segment nearest to each run's edges and the distance, px; infinite where there is none.

    Hough segments follow a stripe's edges, so the distance is along the row, minus half the run's width.
    """
    if len(segments) == 0 or len(u) == 0:
        return np.zeros(len(u), dtype=np.int64), np.full(len(u), np.inf)
    u0, v0, u1, v1 = segments.T
    run = np.where(np.abs(v1 - v0) < 0.5, 0.5, v1 - v0)
    low, high = np.minimum(v0, v1), np.maximum(v0, v1)
    at = u0 + (v[:, None] - v0) * (u1 - u0) / run
    outside = np.maximum(low - v[:, None], 0.0) + np.maximum(v[:, None] - high, 0.0)
    distance = np.maximum(np.abs(u[:, None] - at) - half_width[:, None], 0.0) + np.where(outside > 1.5, np.inf, 0.0)
    best = np.argmin(distance, axis=1)
    return best.astype(np.int64), distance[np.arange(len(u)), best]


def _doubles(row: NDArray[np.int64], centre: Float, scale: Float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which runs (N,) are the first of two in a row closer than `DOUBLE_GAP_MAX_M`, and which are not the second."""
    near = np.zeros(len(row), dtype=bool)
    if len(row) > 1:
        near[:-1] = (np.diff(row) == 0) & (np.diff(centre) * scale[:-1] < DOUBLE_GAP_MAX_M)
    # Of three runs side by side, the second would also be a first: keep every second one only.
    near[1:] &= ~near[:-1]
    second = np.concatenate([[False], near[:-1]]) if len(row) else near
    return near, ~second
