"""Finds the lanes at a position on the map: a k-d tree over the points of all lanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from av_core.frames import wrap_angle
from av_core.types import Float, Lane, LaneGraph, LaneKey

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


def project_on_lane(lane: Lane, x_m: float, y_m: float) -> tuple[float, float, float]:
    """(arc length, lateral offset, overshoot) of a position on `lane`; overshoot is the distance past an end."""
    points = lane.points
    nearest = int(np.argmin((points[:, 0] - x_m) ** 2 + (points[:, 1] - y_m) ** 2))
    yaw = float(lane.yaw_rad[nearest])
    dx, dy = x_m - float(points[nearest, 0]), y_m - float(points[nearest, 1])
    along = dx * np.cos(yaw) + dy * np.sin(yaw)
    offset = -dx * np.sin(yaw) + dy * np.cos(yaw)
    raw = float(lane.s_m[nearest]) + float(along)
    s = min(max(raw, 0.0), lane.length_m)
    return s, float(offset), abs(raw - s)


class LaneIndex:
    """Spatial index (k-d tree) over all lane points of a graph."""

    def __init__(self, graph: LaneGraph) -> None:
        self._keys = list(graph.lanes)
        lanes = [graph.lanes[key] for key in self._keys]
        self._lane_of = np.repeat(np.arange(len(lanes)), [len(lane.points) for lane in lanes])
        self._yaw = np.concatenate([lane.yaw_rad for lane in lanes])
        self._s = np.concatenate([lane.s_m for lane in lanes])
        self._length = np.array([lane.length_m for lane in lanes])
        self._xy = np.concatenate([lane.points[:, :2] for lane in lanes])
        self._tree = cKDTree(self._xy)

    def matches(self, xy_m: Float, yaw_rad: Float, distance_m: float, heading_rad: float) -> list[list[LaneMatch]]:
        """For each of the (N, 2) positions, the lanes within `distance_m` and `heading_rad`, best first."""
        count = min(_NEAREST, len(self._yaw))
        distance, index = self._tree.query(xy_m, k=count, distance_upper_bound=distance_m + 1.0)
        distance, index = np.reshape(distance, (-1, count)), np.reshape(index, (-1, count))
        index = np.where(np.isfinite(distance), index, 0)
        yaw = self._yaw[index]
        heading = wrap_angle(np.asarray(yaw_rad)[:, None] - yaw)
        dx, dy = (xy_m[:, i, None] - self._xy[index, i] for i in range(2))
        along = dx * np.cos(yaw) + dy * np.sin(yaw)
        offset = -dx * np.sin(yaw) + dy * np.cos(yaw)
        s = np.clip(self._s[index] + along, 0.0, self._length[self._lane_of[index]])
        fits = np.isfinite(distance) & (np.abs(heading) <= heading_rad) & (np.abs(offset) <= distance_m)
        fits &= np.abs(along) <= _PAST_END_M
        found: list[list[LaneMatch]] = []
        for row in range(len(xy_m)):
            best: dict[LaneKey, LaneMatch] = {}
            for i in np.flatnonzero(fits[row]).tolist():
                key = self._keys[self._lane_of[index[row, i]]]
                if key not in best:  # the nearest point of the lane comes first
                    best[key] = LaneMatch(key, float(s[row, i]), float(offset[row, i]), float(heading[row, i]))
            found.append(sorted(best.values(), key=lambda match: match.score))
        return found
