"""Tracks the ego's progress on the route: arc length, cross-track error and heading error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import EgoState
from planning.reference_path import Route

_FIRST_M2_PM = 0.05
"""Squared distance that counts as much as one metre of arc length in the first search. With it, the end of a route of
500 m is taken only by an ego that is 5 m farther from the beginning."""


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

    The first update searches the whole route by position and heading, and prefers its beginning: a route may end where
    it begins. Each later one searches only from a little behind
    the last result to a little farther than the car can have driven, so that the result does not jump where the route
    crosses or meets itself.
    """

    def __init__(self, route: Route, back_m: float = 3.0, ahead_m: float = 8.0) -> None:
        self._curve = route.curve
        self._back_m = back_m
        self._ahead_m = ahead_m
        self._s_m: float | None = None

    def update(self, ego: EgoState) -> RouteProgress:
        """Arc length, cross-track error and heading error of the ego."""
        curve = self._curve
        if self._s_m is None:
            turned = 100.0 * (1.0 - np.cos(curve.yaw_rad - ego.yaw_rad))
            row = curve.nearest(ego.x_m, ego.y_m, penalty_m2=turned + _FIRST_M2_PM * curve.s_m)
        else:
            reach = self._ahead_m + 0.3 * max(ego.speed_mps, 0.0)
            row = curve.nearest(ego.x_m, ego.y_m, curve.rows_between(self._s_m - self._back_m, self._s_m + reach))
        at = curve.project(ego.x_m, ego.y_m, row)
        self._s_m = float(np.clip(at.s_m, 0.0, curve.length_m))
        return RouteProgress(self._s_m, float(at.d_m), float(wrap_angle(ego.yaw_rad - at.yaw_rad)))
