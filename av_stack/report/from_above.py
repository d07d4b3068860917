"""A picture of one moment of a drive from above: the roads, the ego, and the road users around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np

from av_core.frames import wrap_angle
from av_core.types import Float, Image
from av_stack.report.recorded import Recorded, Track

BEHIND_M, AHEAD_M = 38.0, 52.0
"""How much road the picture shows behind and ahead of the ego, which drives to the right."""

GONE_S = 0.6
"""A road user whose track has no point this close to the moment is not there then."""

EGO_CENTRE_M = 1.4
"""From the rear axle, which is recorded, to the middle of the ego's box."""

SIZES_M = {
    "ego": (4.9, 1.9), "car": (4.6, 1.9), "truck": (8.0, 2.5), "bus": (11.0, 2.5),
    "motorcycle": (2.2, 0.8), "bicycle": (1.8, 0.6), "pedestrian": (0.7, 0.7),
}  # fmt: skip
"""Length and width by kind; the recording holds positions only."""

PAPER_BGR, ROAD_BGR, EDGE_BGR, WAY_BGR = (249, 246, 244), (224, 216, 211), (255, 255, 255), (240, 180, 150)
VEHICLE_BGR = (0, 123, 224)
COLOURS_BGR = {
    "ego": (219, 86, 26), "pedestrian": (158, 23, 181), "bicycle": (237, 58, 124), "motorcycle": (237, 58, 124),
}  # fmt: skip


def from_above(recorded: Recorded, at_s: float, width_px: int, height_px: int) -> Image:
    """The drive at a time, seconds since its first step, as a BGR picture."""
    step = min(int(np.searchsorted(recorded.time_s, at_s)), len(recorded.ego) - 1)
    view = _View(recorded.ego[step], width_px, height_px)
    canvas = np.full((height_px, width_px, 3), PAPER_BGR, dtype=np.uint8)
    lanes = [] if recorded.roads is None else recorded.roads["lanes"]
    for _, left, right in lanes:
        cv2.fillPoly(canvas, [view.pixels([*left, *reversed(right)])], ROAD_BGR, cv2.LINE_AA)
    for is_junction, left, right in lanes:  # after all surfaces, which would cover them
        if not is_junction:
            cv2.polylines(canvas, [view.pixels(left), view.pixels(right)], False, EDGE_BGR, 1, cv2.LINE_AA)
    cv2.polylines(canvas, [view.pixels(recorded.ego[:, :2])], False, WAY_BGR, 2, cv2.LINE_AA)
    for kind, pose in _there(recorded, at_s):
        _draw_box(canvas, view, kind, pose)
    x_m, y_m, yaw_rad = recorded.ego[step]
    middle = np.array([x_m + EGO_CENTRE_M * np.cos(yaw_rad), y_m + EGO_CENTRE_M * np.sin(yaw_rad), yaw_rad])
    _draw_box(canvas, view, "ego", middle)
    return canvas


class _View:
    """Maps points of the map frame to pixels, such that the ego drives to the right."""

    def __init__(self, ego: Float, width_px: int, height_px: int) -> None:
        self._ego = ego
        self._scale = width_px / (BEHIND_M + AHEAD_M)
        self._origin_px = (BEHIND_M * self._scale, height_px / 2)

    def pixels(self, points: Any) -> Any:
        """Points (N, 2), m, as OpenCV takes them."""
        offset = np.asarray(points, dtype=np.float64).reshape(-1, 2) - self._ego[:2]
        cos, sin = np.cos(self._ego[2]), np.sin(self._ego[2])
        ahead, left = offset @ (cos, sin), offset @ (-sin, cos)
        u, v = self._origin_px[0] + ahead * self._scale, self._origin_px[1] - left * self._scale
        return np.round(np.column_stack((u, v))).clip(-(2**14), 2**14).astype(np.int32).reshape(-1, 1, 2)


def _there(recorded: Recorded, at_s: float) -> Iterator[tuple[str, Float]]:
    """Kind and pose (x m, y m, yaw rad) of each road user that has a place at this time."""
    for track in recorded.tracks.values():
        pose = _pose_at(track, at_s)
        if pose is not None:
            yield track.kind, pose


def _pose_at(track: Track, at_s: float) -> Float | None:
    rows = np.asarray(track.rows, dtype=np.float64)
    after = int(np.searchsorted(rows[:, 0], at_s))
    near = rows[max(after - 1, 0) : after + 1]
    if np.abs(near[:, 0] - at_s).min() > GONE_S:
        return None
    first, last = near[0], near[-1]
    gap_s = last[0] - first[0]
    if gap_s <= 0.0 or gap_s > GONE_S or not first[0] <= at_s <= last[0]:
        nearest: Float = near[int(np.abs(near[:, 0] - at_s).argmin()), 1:]
        return nearest
    share = (at_s - first[0]) / gap_s
    turned_rad = float(wrap_angle(last[3] - first[3]))
    return np.array([*(first[1:3] + share * (last[1:3] - first[1:3])), first[3] + share * turned_rad])


def _draw_box(canvas: Image, view: _View, kind: str, pose: Float) -> None:
    """A road user as a box that is pointed in front."""
    length_m, width_m = SIZES_M.get(kind, SIZES_M["car"])
    nose_m = length_m / 2 if kind == "pedestrian" else 0.28 * length_m
    tail_m, side_m = -length_m / 2, width_m / 2
    outline = np.array([(tail_m, -side_m), (nose_m, -side_m), (length_m / 2, 0.0), (nose_m, side_m), (tail_m, side_m)])
    x_m, y_m, yaw_rad = pose
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    corners = view.pixels(outline @ np.array([(cos, sin), (-sin, cos)]) + (x_m, y_m))
    cv2.fillPoly(canvas, [corners], COLOURS_BGR.get(kind, VEHICLE_BGR), cv2.LINE_AA)
    cv2.polylines(canvas, [corners], True, EDGE_BGR, 1, cv2.LINE_AA)
