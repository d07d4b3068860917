"""Locates a true pose in its lane, for scoring: from the map and the truth alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.frames import wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Lane, LaneGraph

REACH_M = 8.0
"""Lanes with a point within this distance are examined."""

PAST_END_M = 1.5
"""A pose farther than this before a lane's start or past its end is not on the lane."""


@dataclass(frozen=True, slots=True)
class LanePlace:
    """A pose relative to a lane.

    `offset_m` is positive left of the lane's centre; `heading_error_rad` is in [-pi, pi).
    """

    lane: Lane
    offset_m: float
    heading_error_rad: float
    width_m: float

    @property
    def is_inside(self) -> bool:
        return abs(self.offset_m) <= self.width_m / 2


class LaneLocator:
    """Finds the lanes at a pose."""

    def __init__(self, graph: LaneGraph) -> None:
        self._points = LanePoints(graph)
        self._width = np.concatenate([lane.width_m for lane in self._points.lanes])

    def places(self, x_m: float, y_m: float, yaw_rad: float) -> list[LanePlace]:
        """The nearest place on each lane within reach, nearest centre first."""
        points = self._points
        rows = np.sort(points.nearest_of_each_lane(x_m, y_m, points.within(x_m, y_m, REACH_M)))
        along, offset = points.ahead_and_left(x_m, y_m, rows)
        turn = wrap_angle(yaw_rad - points.yaw_rad[rows])
        found = [
            LanePlace(points.lane_and_row(row)[0], float(offset[i]), float(turn[i]), float(self._width[row]))
            for i, row in enumerate(rows.tolist())
            if abs(along[i]) <= PAST_END_M
        ]
        return sorted(found, key=lambda place: abs(place.offset_m))
