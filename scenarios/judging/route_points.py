"""The route as points about 1 m apart, as in the CARLA Leaderboard, and the last point that the ego has passed."""

from __future__ import annotations

import numpy as np

from av_core.types import Float, Pose2D
from planning import Route

SPACING_M = 1.0
"""Distance between the points; the Leaderboard's criteria look ahead a number of points."""


class RoutePoints:
    """N points along the route: `xy` (N, 2), `ahead` (N, 2) unit vectors along it, `s_m` (N,)."""

    def __init__(self, route: Route) -> None:
        count = max(2, round(route.length_m / SPACING_M) + 1)
        self.s_m: Float = np.linspace(0.0, route.length_m, count, dtype=np.float64)
        x, y, yaw = route.curve.pose_at(self.s_m)
        self.xy: Float = np.column_stack([x, y])
        self.ahead: Float = np.column_stack([np.cos(yaw), np.sin(yaw)])

    @property
    def length_m(self) -> float:
        return float(self.s_m[-1])

    def distance_m(self, at: Pose2D, rows: slice) -> Float:
        """Distances (M,) from a position to the points `rows`."""
        gap = self.xy[rows] - (at.x_m, at.y_m)
        return np.hypot(gap[:, 0], gap[:, 1])


class RouteProgress:
    """Follows the last route point that the ego has passed; each step looks at most `window` points ahead of it.

    The ego has passed a point when it is beyond the line across the route through this point.
    """

    def __init__(self, points: RoutePoints, window: int) -> None:
        self._points, self._window = points, window
        self.row = 0

    @property
    def s_m(self) -> float:
        return float(self._points.s_m[self.row])

    def advance(self, at: Pose2D) -> float:
        """Move on to the last point that the ego at `at` has passed; returns the progress along the route, m."""
        before = self.s_m
        rows = slice(self.row, self.row + self._window + 1)
        beyond = ((at.x_m, at.y_m) - self._points.xy[rows]) * self._points.ahead[rows]
        passed = np.flatnonzero(beyond.sum(axis=1) > 0.0)
        if len(passed):
            self.row += int(passed[-1])
        return self.s_m - before
