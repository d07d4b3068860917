"""The ground around the ego as a picture from above: places as pixels, lanes, and boxes of road users."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np

from av_core.types import Float, Image

Bgr = tuple[int, int, int]

PIXEL_MAX = 2**14
"""Largest pixel coordinate, without its sign, that OpenCV can draw; points farther outside are moved to it."""

EGO_M = (4.9, 1.9)
"""Length and width of the ego."""

EGO_CENTRE_M = 1.4
"""Distance of the centre of the ego's box ahead of the rear axle."""

NOSE_SHARE = 0.28
"""A vehicle's box narrows to a point from this share of its length ahead of its centre."""


class GroundView:
    """Maps points of the map frame to pixels.

    `ego` is (x m, y m, yaw rad) of the vehicle frame, which lies at `origin_px`. It drives to the right, or up the
    picture with `is_up`.
    """

    def __init__(self, ego: Float, origin_px: tuple[float, float], px_per_m: float, is_up: bool = False) -> None:
        cos, sin = np.cos(ego[2]), np.sin(ego[2])
        ahead_px, left_px = ((0.0, -1.0), (-1.0, 0.0)) if is_up else ((1.0, 0.0), (0.0, -1.0))
        turn = np.array([(cos, sin), (-sin, cos)])
        self._matrix = px_per_m * (np.array([ahead_px, left_px]).T @ turn)
        self._offset_px = np.array(origin_px) - self._matrix @ ego[:2]

    def pixels(self, points: Any) -> Any:
        """Points (N, 2), m, as OpenCV takes them."""
        xy = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        uv = xy @ self._matrix.T + self._offset_px
        return np.round(uv).clip(-PIXEL_MAX, PIXEL_MAX).astype(np.int32).reshape(-1, 1, 2)

    def box(self, pose: Float, length_m: float, width_m: float, nose_m: float) -> Any:
        """Pixels of a box around `pose` (x m, y m, yaw rad) that is pointed in front.

        `nose_m` ahead of its centre it begins to narrow.
        """
        tail_m, side_m = -length_m / 2, width_m / 2
        outline = np.array(
            [(tail_m, -side_m), (nose_m, -side_m), (length_m / 2, 0.0), (nose_m, side_m), (tail_m, side_m)]
        )
        cos, sin = np.cos(pose[2]), np.sin(pose[2])
        return self.pixels(outline @ np.array([(cos, sin), (-sin, cos)]) + pose[:2])


def fill(canvas: Image, pixels: Any, colour: Bgr, edge: Bgr | None = None) -> None:
    """Fill a polygon, and draw its edge one pixel wide."""
    cv2.fillPoly(canvas, [pixels], colour, cv2.LINE_AA)
    if edge is not None:
        cv2.polylines(canvas, [pixels], True, edge, 1, cv2.LINE_AA)


def draw_lanes(canvas: Image, view: GroundView, lanes: Iterable[tuple[bool, Any, Any]], road: Bgr, edge: Bgr) -> None:
    """Draw lanes, each (is in a junction, left edge, right edge); the edges of junctions stay out."""
    sides = [(is_junction, view.pixels(left), view.pixels(right)) for is_junction, left, right in lanes]
    for _, left, right in sides:
        cv2.fillPoly(canvas, [np.concatenate([left, right[::-1]])], road, cv2.LINE_AA)
    for is_junction, left, right in sides:  # after all surfaces, which would cover them
        if not is_junction:
            cv2.polylines(canvas, [left, right], False, edge, 1, cv2.LINE_AA)
