"""Finds the lanes near positions on the map, and how well the heading of a road user fits each of them.

`LaneIndex.matches` takes many positions and headings at once. For each it returns `LaneMatch`es (arc length, lateral
offset, relative heading), best first. The route search and the prediction use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from av_core.frames import wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Float, LaneGraph, LaneKey

_NEAREST = 32
"""Number of lane points that are examined for each position."""

_PAST_END_M = 1.5
"""How far before the start or past the end of a lane a position still matches it."""


@dataclass(frozen=True, slots=True)
class LaneMatch:
    """A position on a lane: arc length, lateral offset (left positive) and heading relative to the lane."""

    lane: LaneKey
    s_m: float
    offset_m: float
    heading_rad: float

    @property
    def score(self) -> float:
        """Cost of the match, smaller is better: 1 m of offset weighs as much as 0.5 rad of heading."""
        return abs(self.offset_m) + 2.0 * abs(self.heading_rad)


class LaneIndex:
    """Finds the lanes at many positions at once."""

    def __init__(self, graph: LaneGraph) -> None:
        self._points = LanePoints(graph)
        self._length = np.array([lane.length_m for lane in self._points.lanes])

    def matches(self, xy_m: Float, yaw_rad: Float, distance_m: float, heading_rad: float) -> list[list[LaneMatch]]:
        """For each of the (N, 2) positions, the lanes within `distance_m` and `heading_rad`, best first."""
        points = self._points
        distance, rows = points.nearest(xy_m, _NEAREST, distance_m + 1.0)
        heading = wrap_angle(np.asarray(yaw_rad)[:, None] - points.yaw_rad[rows])
        along, offset = points.ahead_and_left(xy_m[:, 0, None], xy_m[:, 1, None], rows)
        s = np.clip(points.s_m[rows] + along, 0.0, self._length[points.lane_of[rows]])
        fits = np.isfinite(distance) & (np.abs(heading) <= heading_rad) & (np.abs(offset) <= distance_m)
        fits &= np.abs(along) <= _PAST_END_M
        numbers = points.lane_of[rows]
        found: list[list[LaneMatch]] = []
        for row in range(len(xy_m)):
            best: dict[int, LaneMatch] = {}
            for i in np.flatnonzero(fits[row]).tolist():
                number = int(numbers[row, i])
                if number not in best:  # the nearest point of the lane comes first
                    key = points.lanes[number].key
                    best[number] = LaneMatch(key, float(s[row, i]), float(offset[row, i]), float(heading[row, i]))
            found.append(sorted(best.values(), key=lambda match: match.score))
        return found
