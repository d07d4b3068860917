"""The ego's progress on its route and its position at stop lines, from the truth alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.types import Float, LaneGraph, Pose2D, SignalKind
from planning import Route

BACK_M, AHEAD_M = 5.0, 12.0
"""Search window of `RouteMeter`, before and behind the last position."""


class RouteMeter:
    """Measures how far the ego has come along the route.

    It searches only near the last position, because routes may cross themselves.
    """

    def __init__(self, route: Route) -> None:
        self._route = route
        self.s_m = 0.0
        self.best_s_m = 0.0
        self.deviation_m = 0.0

    def update(self, ego: Pose2D) -> None:
        route = self._route
        low = int(np.searchsorted(route.s_m, self.s_m - BACK_M))
        high = max(low + 1, int(np.searchsorted(route.s_m, self.s_m + AHEAD_M)))
        distance = np.hypot(route.x_m[low:high] - ego.x_m, route.y_m[low:high] - ego.y_m)
        nearest = int(np.argmin(distance))
        self.s_m = float(route.s_m[low + nearest])
        self.deviation_m = float(distance[nearest])
        self.best_s_m = max(self.best_s_m, self.s_m)

    @property
    def row(self) -> int:
        """Index of the route's point at the current position."""
        return min(int(np.searchsorted(self._route.s_m, self.s_m)), len(self._route.s_m) - 1)


@dataclass(frozen=True, slots=True)
class StopLines:
    """Stop lines of one kind of signal as arrays: `xy` (N, 2), `yaw_rad` (N,) of the lane, `half_width_m` (N,)."""

    signal_ids: tuple[str, ...]
    xy: Float
    yaw_rad: Float
    half_width_m: Float

    def crossed(self, before: Float, after: Float) -> list[int]:
        """Rows of the lines that the motion from `before` to `after` (2,) crosses in the lane's direction."""
        if not self.signal_ids:
            return []
        cos, sin = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        start, end = before - self.xy, after - self.xy
        along_start = start[:, 0] * cos + start[:, 1] * sin
        along_end = end[:, 0] * cos + end[:, 1] * sin
        across = -end[:, 0] * sin + end[:, 1] * cos
        hit = (along_start < 0.0) & (along_end >= 0.0) & (np.abs(across) <= self.half_width_m)
        moved = np.hypot(*(after - before))
        ahead = (after - before) @ np.stack([cos, sin]) > 0.5 * moved
        return [int(row) for row in np.flatnonzero(hit & ahead)]

    def distance_before_m(self, front: Float, yaw_rad: float) -> Float:
        """(N,) m from `front` (2,) ahead to each line; inf for lines beside, behind, or for another direction."""
        cos, sin = np.cos(self.yaw_rad), np.sin(self.yaw_rad)
        gap = front - self.xy
        along = -(gap[:, 0] * cos + gap[:, 1] * sin)
        across = -gap[:, 0] * sin + gap[:, 1] * cos
        same = np.cos(self.yaw_rad - yaw_rad) > 0.7
        return np.where(same & (np.abs(across) <= self.half_width_m) & (along >= -0.5), along, np.inf)


def stop_lines(graph: LaneGraph, kind: SignalKind) -> StopLines:
    """All stop lines of `kind`."""
    ids, xy, yaw, half = [], [], [], []
    for signal in graph.signals:
        if signal.kind is kind:
            lane = graph.lanes[signal.lane]
            row = min(int(np.searchsorted(lane.s_m, signal.stop_s_m)), len(lane.s_m) - 1)
            ids.append(signal.signal_id)
            xy.append([np.interp(signal.stop_s_m, lane.s_m, lane.points[:, axis]) for axis in (0, 1)])
            yaw.append(lane.yaw_rad[row])
            half.append(lane.width_m[row] / 2)
    return StopLines(tuple(ids), np.array(xy).reshape(-1, 2), np.array(yaw), np.array(half))
