"""The ego's progress on its route and its position at stop lines, from the truth alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.curve import ahead_and_left
from av_core.types import Float, LaneGraph, Pose2D, SignalKind
from planning import Route

BACK_M, AHEAD_M = 5.0, 12.0
"""Search window of `RouteMeter`, before and behind the last position."""


class RouteMeter:
    """Measures the ego's arc length `s_m` along the route; `row` is the index of the nearest point of the route.

    It searches only near the last position, because routes may cross themselves.
    """

    def __init__(self, route: Route) -> None:
        self._curve = route.curve
        self.s_m = 0.0
        self.best_s_m = 0.0
        self.row = 0

    def update(self, ego: Pose2D) -> None:
        curve = self._curve
        self.row = int(curve.nearest(ego.x_m, ego.y_m, curve.rows_between(self.s_m - BACK_M, self.s_m + AHEAD_M)))
        self.s_m = float(curve.s_m[self.row])
        self.best_s_m = max(self.best_s_m, self.s_m)


@dataclass(frozen=True, slots=True)
class StopLines:
    """Stop lines of one kind of signal as arrays: `xy` (N, 2), `yaw_rad` (N,) of the lane, `half_width_m` (N,)."""

    signal_ids: tuple[str, ...]
    xy: Float
    yaw_rad: Float
    half_width_m: Float

    def crossed(self, before: Float, after: Float) -> list[int]:
        """Indices of the lines that the motion from `before` (2,) to `after` (2,) crosses in the lane's direction."""
        if not self.signal_ids:
            return []
        along_start, _ = self._beyond(before)
        along_end, across = self._beyond(after)
        hit = (along_start < 0.0) & (along_end >= 0.0) & (np.abs(across) <= self.half_width_m)
        step = after - before
        ahead, _ = ahead_and_left(step[0], step[1], self.yaw_rad)
        return [int(row) for row in np.flatnonzero(hit & (ahead > 0.5 * np.hypot(*step)))]

    def distance_before_m(self, front: Float, yaw_rad: float) -> Float:
        """(N,) m from `front` (2,) ahead to each line; inf for lines beside, behind, or for another direction."""
        beyond, across = self._beyond(front)
        same = np.cos(self.yaw_rad - yaw_rad) > 0.7
        return np.where(same & (np.abs(across) <= self.half_width_m) & (beyond <= 0.5), -beyond, np.inf)

    def _beyond(self, at: Float) -> tuple[Float, Float]:
        """Distances of a position (2,) beyond each line, and to the left of the line's middle; (N,) m each."""
        return ahead_and_left(at[0] - self.xy[:, 0], at[1] - self.xy[:, 1], self.yaw_rad)


def stop_lines(graph: LaneGraph, kind: SignalKind) -> StopLines:
    """All stop lines of `kind`."""
    ids, xy, yaw, half = [], [], [], []
    for signal in graph.signals:
        if signal.kind is kind:
            lane = graph.lanes[signal.lane]
            x, y, heading = lane.curve.pose_at(signal.stop_s_m)
            ids.append(signal.signal_id)
            xy.append((x, y))
            yaw.append(heading)
            half.append(lane.width_m[lane.curve.row_at(signal.stop_s_m)] / 2)
    return StopLines(tuple(ids), np.array(xy).reshape(-1, 2), np.array(yaw), np.array(half))
