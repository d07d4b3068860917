"""Which lanes lie at a place of the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from av_stack.types import Float, Lane, LaneGraph, LaneKey

_NEAREST = 32


@dataclass(frozen=True, slots=True)
class LaneMatch:
    """A place on a lane: arc length, signed offset (left positive) and heading relative to the lane."""

    lane: LaneKey
    s_m: float
    offset_m: float
    heading_rad: float

    @property
    def score(self) -> float:
        """Smaller is better: a metre aside weighs as much as half a radian of heading."""
        return abs(self.offset_m) + 2.0 * abs(self.heading_rad)


def wrap_angle(angle_rad: float) -> float:
    return (angle_rad + np.pi) % (2.0 * np.pi) - np.pi


def project_on_lane(lane: Lane, x_m: float, y_m: float) -> tuple[float, float, float]:
    """(s, signed offset, overshoot) of the nearest place of `lane`; overshoot is the distance past one of its ends."""
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
    """A k-d tree over all lane points of a graph."""

    def __init__(self, graph: LaneGraph) -> None:
        self._graph = graph
        self._keys = list(graph.lanes)
        lanes = [graph.lanes[key] for key in self._keys]
        self._lane_of = np.repeat(np.arange(len(lanes)), [len(lane.points) for lane in lanes])
        self._yaw = np.concatenate([lane.yaw_rad for lane in lanes])
        self._tree = cKDTree(np.concatenate([lane.points[:, :2] for lane in lanes]))

    def matches(self, xy_m: Float, yaw_rad: Float, distance_m: float, heading_rad: float) -> list[list[LaneMatch]]:
        """For each of the (N, 2) places the lanes within reach and heading, best first."""
        count = min(_NEAREST, len(self._yaw))
        distance, index = self._tree.query(xy_m, k=count, distance_upper_bound=distance_m + 1.0)
        distance, index = np.reshape(distance, (-1, count)), np.reshape(index, (-1, count))
        return [
            self._matches_of(
                xy_m[row], float(yaw_rad[row]), index[row][np.isfinite(distance[row])], distance_m, heading_rad
            )
            for row in range(len(xy_m))
        ]

    def _matches_of(
        self, xy_m: Float, yaw_rad: float, points: NDArray[np.int64], distance_m: float, heading_rad: float
    ) -> list[LaneMatch]:
        aligned = np.abs((self._yaw[points] - yaw_rad + np.pi) % (2.0 * np.pi) - np.pi) <= heading_rad
        found: list[LaneMatch] = []
        for number in dict.fromkeys(self._lane_of[points[aligned]].tolist()):
            lane = self._graph.lanes[self._keys[number]]
            s, offset, past = project_on_lane(lane, float(xy_m[0]), float(xy_m[1]))
            heading = wrap_angle(yaw_rad - float(np.interp(s, lane.s_m, np.unwrap(lane.yaw_rad))))
            if abs(offset) <= distance_m and past <= 1.0 and abs(heading) <= heading_rad:
                found.append(LaneMatch(lane.key, s, offset, heading))
        found.sort(key=lambda match: match.score)
        return found
