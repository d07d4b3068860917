"""A picture of one moment of a drive from above: the roads, the ego, and the road users around it."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from av_core.frames import wrap_angle
from av_core.types import Float, Image
from av_stack.recording.ground_view import EGO_CENTRE_M, EGO_M, NOSE_SHARE, GroundView, draw_lanes, fill
from av_stack.report.recorded import Recorded, Track

BEHIND_M, AHEAD_M = 38.0, 52.0
"""Length of road that the picture shows behind and ahead of the ego; ahead is to the right in the picture."""

GONE_S = 0.6
"""A road user is drawn only if its track has a point within this time of the moment."""

SIZES_M = {
    "ego": EGO_M, "car": (4.6, 1.9), "truck": (8.0, 2.5), "bus": (11.0, 2.5),
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
    px_per_m = width_px / (BEHIND_M + AHEAD_M)
    view = GroundView(recorded.ego[step], (BEHIND_M * px_per_m, height_px / 2), px_per_m)
    canvas = np.full((height_px, width_px, 3), PAPER_BGR, dtype=np.uint8)
    lanes = [] if recorded.roads is None else recorded.roads["lanes"]
    draw_lanes(canvas, view, lanes, ROAD_BGR, EDGE_BGR)
    cv2.polylines(canvas, [view.pixels(recorded.ego[:, :2])], False, WAY_BGR, 2, cv2.LINE_AA)
    for kind, pose in _there(recorded, at_s):
        _draw_box(canvas, view, kind, pose)
    x_m, y_m, yaw_rad = recorded.ego[step]
    middle = np.array([x_m + EGO_CENTRE_M * np.cos(yaw_rad), y_m + EGO_CENTRE_M * np.sin(yaw_rad), yaw_rad])
    _draw_box(canvas, view, "ego", middle)
    return canvas


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


def _draw_box(canvas: Image, view: GroundView, kind: str, pose: Float) -> None:
    """A road user as a box that is pointed in front."""
    length_m, width_m = SIZES_M.get(kind, SIZES_M["car"])
    nose_m = length_m / 2 if kind == "pedestrian" else NOSE_SHARE * length_m
    fill(canvas, view.box(pose, length_m, width_m, nose_m), COLOURS_BGR.get(kind, VEHICLE_BGR), EDGE_BGR)
