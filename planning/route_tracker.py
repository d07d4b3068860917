"""Tracks the ego's progress on the route: arc length, cross-track error and heading error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import EgoState
from planning.reference_path import Route


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The ego's position on the route.

    `cross_track_m` is positive left of the route, `heading_error_rad` is positive when the ego points left of it.
    """

    s_m: float
    cross_track_m: float
    heading_error_rad: float


class RouteTracker:
    """Projects the ego on one route, step by step.

    The first update searches the whole route by position and heading. Each later one searches only from a little behind
    the last result to a little farther than the car can have driven, so that the result does not jump where the route
    crosses or meets itself.
    """

    def __init__(self, route: Route, back_m: float = 3.0, ahead_m: float = 8.0) -> None:
        self._route = route
        self._back_m = back_m
        self._ahead_m = ahead_m
        self._s_m: float | None = None

    def update(self, ego: EgoState) -> RouteProgress:
        """Arc length, cross-track error and heading error of the ego."""
        route = self._route
        if self._s_m is None:
            low, high = 0, len(route.s_m)
        else:
            reach = self._ahead_m + 0.3 * max(ego.speed_mps, 0.0)
            low = int(np.searchsorted(route.s_m, self._s_m - self._back_m))
            high = max(low + 2, int(np.searchsorted(route.s_m, self._s_m + reach, side="right")))
            low, high = min(low, len(route.s_m) - 2), min(high, len(route.s_m))
        window = slice(low, high)
        squared = (route.x_m[window] - ego.x_m) ** 2 + (route.y_m[window] - ego.y_m) ** 2
        if self._s_m is None:
            heading = np.cos(route.yaw_rad - ego.yaw_rad)
            squared = squared + 100.0 * (1.0 - heading)
        nearest = low + int(np.argmin(squared))
        yaw = float(route.yaw_rad[nearest])
        dx, dy = ego.x_m - float(route.x_m[nearest]), ego.y_m - float(route.y_m[nearest])
        along = float(dx * np.cos(yaw) + dy * np.sin(yaw))
        s = float(np.clip(float(route.s_m[nearest]) + along, 0.0, route.length_m))
        ds = s - float(route.s_m[nearest])
        curvature = float(route.curvature_1pm[nearest])
        cross = float(-dx * np.sin(yaw) + dy * np.cos(yaw)) - 0.5 * curvature * ds * ds
        self._s_m = s
        return RouteProgress(s, cross, float(wrap_angle(ego.yaw_rad - yaw - curvature * ds)))
