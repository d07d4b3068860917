"""Which lanes lie at a place of the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from av_stack.types import Float, Lane, LaneGraph, LaneKey

_NEAREST = 32
_PAST_END_M = 1.5


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
        self._keys = list(graph.lanes)
        lanes = [graph.lanes[key] for key in self._keys]
        self._lane_of = np.repeat(np.arange(len(lanes)), [len(lane.points) for lane in lanes])
        self._yaw = np.concatenate([lane.yaw_rad for lane in lanes])
        self._s = np.concatenate([lane.s_m for lane in lanes])
        self._length = np.array([lane.length_m for lane in lanes])
        self._xy = np.concatenate([lane.points[:, :2] for lane in lanes])
        self._tree = cKDTree(self._xy)

    def matches(self, xy_m: Float, yaw_rad: Float, distance_m: float, heading_rad: float) -> list[list[LaneMatch]]:
        """For each of the (N, 2) places the lanes within reach and heading, best first."""
        count = min(_NEAREST, len(self._yaw))
        distance, index = self._tree.query(xy_m, k=count, distance_upper_bound=distance_m + 1.0)
        distance, index = np.reshape(distance, (-1, count)), np.reshape(index, (-1, count))
        index = np.where(np.isfinite(distance), index, 0)
        yaw = self._yaw[index]
        heading = (np.asarray(yaw_rad)[:, None] - yaw + np.pi) % (2.0 * np.pi) - np.pi
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
                if key not in best:  # nearest point of the lane first
                    best[key] = LaneMatch(key, float(s[row, i]), float(offset[row, i]), float(heading[row, i]))
            found.append(sorted(best.values(), key=lambda match: match.score))
        return found
