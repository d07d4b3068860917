"""Locates a true pose in its lane, for scoring: from the map and the truth alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from av_core.frames import wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Lane, LaneGraph, SideKind

REACH_M = 8.0
"""Lanes with a point within this distance are examined."""

PAST_END_M = 1.5
"""Largest distance of a pose before a lane's start or past its end at which it still counts as on the lane."""


POINT_GAP_M = 1.5
"""More than the distance between two points of a lane."""


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


@dataclass(frozen=True, slots=True)
class LanePoint:
    """A point of a lane's centre line, as CARLA's waypoints are: arc length `s_m` on `lane`, and the pose there."""

    lane: Lane
    s_m: float
    x_m: float
    y_m: float
    yaw_rad: float
    width_m: float

    @property
    def road_and_lane(self) -> tuple[int, int]:
        """OpenDRIVE's road and lane: the same for all sections of the road."""
        return self.lane.key.road_id, self.lane.key.lane_id

    def distance_m(self, x_m: float, y_m: float) -> float:
        return float(np.hypot(self.x_m - x_m, self.y_m - y_m))


def lane_point(lane: Lane, s_m: float) -> LanePoint:
    """The point of the lane's centre line at an arc length."""
    x, y, yaw = lane.curve.pose_at(s_m)
    width = lane.curve.interpolate(s_m, lane.width_m)
    return LanePoint(lane, s_m, float(x), float(y), float(yaw), float(width))


class LaneLocator:
    """Finds the lanes at a pose."""

    def __init__(self, graph: LaneGraph) -> None:
        self._graph = graph
        self._points = LanePoints(graph)
        self._width = np.concatenate([lane.width_m for lane in self._points.lanes])
        self._tree = cKDTree(np.concatenate([lane.points for lane in self._points.lanes]))
        parking = [lane for lane in graph.side_lanes.values() if lane.kind is SideKind.PARKING and len(lane.s_m) > 1]
        self._parking_rows = [(lane, row) for lane in parking for row in range(len(lane.s_m))]
        self._parking_tree = cKDTree(np.concatenate([lane.points[:, :2] for lane in parking])) if parking else None

    def nearest(self, x_m: float, y_m: float, z_m: float) -> LanePoint:
        """The point of a driving lane's centre line that is nearest to a position, as CARLA's `Map.get_waypoint`.

        The height decides between roads that lie above one another.
        """
        gap, _ = self._tree.query((x_m, y_m, z_m))
        rows = self._tree.query_ball_point((x_m, y_m, z_m), gap + POINT_GAP_M)
        found = []
        for row in self._points.nearest_of_each_lane(x_m, y_m, np.asarray(rows, dtype=np.int64)).tolist():
            lane, near = self._points.lane_and_row(row)
            found.append(lane_point(lane, float(lane.curve.project_on_piece(x_m, y_m, near).s_m)))
        return min(found, key=lambda point: point.distance_m(x_m, y_m))

    def parking(self, x_m: float, y_m: float) -> tuple[float, float] | None:
        """(distance from the centre line of the nearest parking lane, its width there); None where the map has none."""
        if self._parking_tree is None:
            return None
        _, row = self._parking_tree.query((x_m, y_m))
        lane, near = self._parking_rows[int(row)]
        s_m = lane.curve.project_on_piece(x_m, y_m, near).s_m
        x, y, _ = lane.curve.pose_at(s_m)
        width_m = float(lane.curve.interpolate(s_m, lane.width_m))
        return float(np.hypot(float(x) - x_m, float(y) - y_m)), width_m

    def ahead(self, point: LanePoint, step_m: float, count: int) -> list[LanePoint]:
        """Up to `count` points at steps of `step_m` along the lane and the first of its successors."""
        points: list[LanePoint] = []
        lane, s_m = point.lane, point.s_m
        for _ in range(count):
            s_m += step_m
            while s_m > lane.length_m:
                if not lane.successors:
                    return points
                s_m -= lane.length_m
                lane = self._graph.lanes[lane.successors[0]]
            points.append(lane_point(lane, s_m))
        return points

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
