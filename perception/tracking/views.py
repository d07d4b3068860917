"""Finds the tracks that the cameras must see now if they are real: those in a camera's view with nothing in front
of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import CameraModel, EgoState, Float
from perception.tracking.track_rows import Rows

BORDER_RAD = math.radians(2.0)
"""Margin inside the picture's border, rad: an object that reaches into it may be missed."""


@dataclass(frozen=True, slots=True)
class View:
    """Where a camera looks: its place in the map, m, its direction, rad, and half its horizontal opening angle, rad."""

    x_m: float
    y_m: float
    yaw_rad: float
    half_rad: float


def view_of(camera: CameraModel, ego: EgoState) -> View:
    """The view of `camera` on a vehicle at `ego`."""
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    x, y = ego.x_m + c * camera.x_m - s * camera.y_m, ego.y_m + s * camera.x_m + c * camera.y_m
    return View(x, y, ego.yaw_rad + camera.yaw_rad, camera.fov_x_rad / 2.0)


def in_clear_view(tracks: Rows, views: Iterable[View]) -> NDArray[np.bool_]:
    """For each track (T,), whether a view shows all of its box, and no other box hides the middle of it."""
    clear = np.zeros(len(tracks), np.bool_)
    for view in views:
        bearing, low, high, range_m = _angles(tracks, view)
        shown = (low >= -view.half_rad + BORDER_RAD) & (high <= view.half_rad - BORDER_RAD)
        is_before = range_m[:, None] < range_m[None, :]  # [hiding, hidden]
        hides = is_before & (low[:, None] <= bearing[None, :]) & (bearing[None, :] <= high[:, None])
        clear |= shown & ~hides.any(axis=0)
    return clear


def _angles(tracks: Rows, view: View) -> tuple[Float, Float, Float, Float]:
    """Bearings in a view of each box's middle, right and left end (T,), rad to the left, and distances (T,), m."""
    half = tracks["size_m"][:, :2] / 2.0
    c, s = np.cos(tracks["yaw_rad"]), np.sin(tracks["yaw_rad"])
    along, across = half[:, :1] * np.stack([c, s], axis=1), half[:, 1:] * np.stack([-s, c], axis=1)
    middle = tracks["state"][:, :2] - (view.x_m, view.y_m)
    bearing = _wrapped(np.arctan2(middle[:, 1], middle[:, 0]) - view.yaw_rad)
    corners = [middle + a * along + b * across for a in (1, -1) for b in (1, -1)]
    # from the middle, so that a box straight behind has no end on the other side
    ends = np.array([bearing + _wrapped(np.arctan2(at[:, 1], at[:, 0]) - view.yaw_rad - bearing) for at in corners])
    return bearing, ends.min(axis=0), ends.max(axis=0), np.hypot(*middle.T)


def _wrapped(angle_rad: Float) -> Float:
    """Angles in [-pi, pi)."""
    return np.asarray((angle_rad + math.pi) % (2.0 * math.pi) - math.pi)
