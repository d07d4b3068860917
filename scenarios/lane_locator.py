"""Locates a true pose in its lane, for scoring; independent of the stack's own map index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from av_core.frames import wrap_angle
from av_core.types import Lane, LaneGraph

REACH_M = 8.0
"""Lanes with a point within this distance are examined."""


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
    """Finds lanes with a k-d tree over all their points."""

    def __init__(self, graph: LaneGraph) -> None:
        self._lanes = tuple(graph.lanes.values())
        self._xy = np.concatenate([lane.points[:, :2] for lane in self._lanes])
        self._yaw = np.concatenate([lane.yaw_rad for lane in self._lanes])
        self._width = np.concatenate([lane.width_m for lane in self._lanes])
        self._owner = np.repeat(np.arange(len(self._lanes)), [len(lane.s_m) for lane in self._lanes])
        self._tree = cKDTree(self._xy)

    def places(self, x_m: float, y_m: float, yaw_rad: float) -> list[LanePlace]:
        """The nearest place on each lane within reach, nearest centre first."""
        rows = np.array(self._tree.query_ball_point((x_m, y_m), REACH_M), dtype=np.int64)
        if len(rows) == 0:
            return []
        gap = np.array((x_m, y_m)) - self._xy[rows]
        distance = np.hypot(gap[:, 0], gap[:, 1])
        found = []
        for owner in np.unique(self._owner[rows]):
            mine = np.flatnonzero(self._owner[rows] == owner)
            best = mine[np.argmin(distance[mine])]
            yaw = self._yaw[rows[best]]
            along = gap[best, 0] * np.cos(yaw) + gap[best, 1] * np.sin(yaw)
            if abs(along) > 1.5:  # beyond the lane's end
                continue
            offset = float(-gap[best, 0] * np.sin(yaw) + gap[best, 1] * np.cos(yaw))
            turn = float(wrap_angle(yaw_rad - yaw))
            found.append(LanePlace(self._lanes[int(owner)], offset, turn, float(self._width[rows[best]])))
        return sorted(found, key=lambda place: abs(place.offset_m))
