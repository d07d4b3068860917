"""The paths ("ways") of a script's actors: along lanes, from one lane to the next, and straight between places."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve
from av_core.errors import RouteError
from av_core.frames import wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Lane, LaneGraph, LaneKey, Pose2D

STEP_M = 1.0
"""Distance between the points of a way."""

LANE_WITHIN_M = 2.0
"""An actor drives on a lane whose centre is nearer than this."""

ALONG_MAX_RAD = np.pi / 3
"""A lane is an actor's own only if their headings differ by less."""


BETWEEN_MAX_M = 5000.0
"""Longest path along lanes that is searched between two places."""


@dataclass(frozen=True, slots=True)
class LaneWay:
    """A path along lanes; `is_junction` (N,) bool says which of the N points of `curve` lie in junctions."""

    curve: Curve
    is_junction: NDArray[np.bool_]


class Ways:
    """Finds ways on one map."""

    def __init__(self, graph: LaneGraph, points: LanePoints | None = None) -> None:
        self._graph = graph
        self._points = points or LanePoints(graph)

    def between(self, start: Pose2D, end: Pose2D, what: str) -> LaneWay:
        """The shortest way along lanes, without a lane change, from the lane at one pose to the lane at another.

        Raises RouteError that names `what` where there is none.
        """
        starts, ends = self._lanes_at(start, what), self._lanes_at(end, what)
        for (first, from_m), (last, to_m) in product(starts, ends):
            if first.key == last.key and to_m > from_m:
                return self._lane_way([first], from_m, to_m - from_m)
            lanes = self._lanes_between(first, last)
            if lanes is not None:
                length_m = sum(lane.length_m for lane in lanes[:-1]) - from_m + to_m
                return self._lane_way(lanes, from_m, length_m)
        raise RouteError(f"{what}: no lanes lead from {starts[0][0].key} to {ends[0][0].key} without a lane change")

    def _lane_way(self, lanes: list[Lane], from_m: float, length_m: float) -> LaneWay:
        whole = Curve.joined([lane.curve for lane in lanes])
        inside = np.concatenate([np.full(len(lane.s_m), lane.is_junction) for lane in lanes])
        curve = _from(whole, from_m, length_m)
        return LaneWay(curve, inside[np.minimum(whole.s_m.searchsorted(curve.s_m + from_m), len(inside) - 1)])

    def _lanes_between(self, first: Lane, last: Lane) -> list[Lane] | None:
        """The lanes of the shortest way that enters `last` at its start (Dijkstra, 1959); None where there is none."""
        queue: list[tuple[float, int, Lane, tuple[Lane, ...]]] = [(0.0, 0, first, (first,))]
        done: set[LaneKey] = set()
        number = 0
        while queue:
            length_m, _, lane, way = heapq.heappop(queue)
            if lane.key == last.key and len(way) > 1:
                return list(way)
            if (lane.key in done and len(way) > 1) or length_m > BETWEEN_MAX_M:
                continue
            done.add(lane.key)
            for key in lane.successors:
                if key in self._graph.lanes and (key not in done or key == last.key):
                    number += 1
                    following = self._graph.lanes[key]
                    heapq.heappush(queue, (length_m + following.length_m, number, following, (*way, following)))
        return None

    def along_lane(self, pose: Pose2D, distance_m: float, what: str) -> Curve:
        """The way along the lane at `pose`, straight on at junctions, for `distance_m` or to the end of the road.

        Raises RouteError that names `what` where no lane leads in the direction of the pose.
        """
        lane, s_m = self._lane_at(pose, what)
        return _from(Curve.joined([one.curve for one in self._lanes_ahead(lane, s_m + distance_m)]), s_m, distance_m)

    def to_neighbour(self, pose: Pose2D, side: str, over_m: float, distance_m: float, what: str) -> Curve:
        """The way from the lane at `pose` to the next lane on a side ("left" or "right"), reached after `over_m`.

        Raises RouteError that names `what` where there is no such lane in the same direction.
        """
        lane, s_m = self._lane_at(pose, what)
        sign = 1.0 if side == "left" else -1.0
        width_m = float(lane.curve.interpolate(s_m, lane.width_m))
        x, y, yaw = lane.curve.pose_at(s_m, sign * width_m)
        beside = Pose2D(float(x), float(y), float(yaw))
        try:
            self._lane_at(beside, what, width_m / 2.0)
        except RouteError:
            raise RouteError(f"{what}: there is no lane in this direction to the {side} of {lane.key}") from None
        old, new = self.along_lane(pose, distance_m, what), self.along_lane(beside, distance_m, what)
        s = np.arange(0.0, min(old.length_m, new.length_m), STEP_M, dtype=np.float64)
        share = np.clip(s / max(over_m, STEP_M), 0.0, 1.0)
        share = share**2 * (3.0 - 2.0 * share)
        old_x, old_y, _ = old.pose_at(s)
        new_x, new_y, _ = new.pose_at(s)
        return Curve.through((1.0 - share) * old_x + share * new_x, (1.0 - share) * old_y + share * new_y)

    def _lane_at(self, pose: Pose2D, what: str, within_m: float = LANE_WITHIN_M) -> tuple[Lane, float]:
        return self._lanes_at(pose, what, within_m)[0]

    def _lanes_at(self, pose: Pose2D, what: str, within_m: float = LANE_WITHIN_M) -> list[tuple[Lane, float]]:
        """The lanes at a pose, nearest first, with the arc lengths there."""
        rows = self._points.within(pose.x_m, pose.y_m, within_m)
        nearest = self._points.nearest_of_each_lane(pose.x_m, pose.y_m, rows)
        turn_rad = np.abs(wrap_angle(self._points.yaw_rad[nearest] - pose.yaw_rad))
        found = [self._points.lane_and_row(int(row)) for row in nearest[turn_rad < ALONG_MAX_RAD]]
        if found:
            return [(lane, float(lane.s_m[at])) for lane, at in found]
        raise RouteError(f"{what}: there is no driving lane at ({pose.x_m:.1f}, {pose.y_m:.1f}) of the map frame")

    def _lanes_ahead(self, lane: Lane, distance_m: float) -> list[Lane]:
        lanes, length_m, seen = [lane], lane.length_m, {lane.key}
        while length_m < distance_m:
            following = [key for key in lanes[-1].successors if key in self._graph.lanes and key not in seen]
            if not following:
                break
            lanes.append(self._graph.lanes[min(following, key=lambda key: self._turn_rad(lanes[-1], key))])
            seen.add(lanes[-1].key)
            length_m += lanes[-1].length_m
        return lanes

    def _turn_rad(self, lane: Lane, key: LaneKey) -> float:
        return abs(float(wrap_angle(self._graph.lanes[key].yaw_rad[-1] - lane.yaw_rad[-1])))


def straight(poses: list[Pose2D]) -> Curve:
    """The way from pose to pose in straight lines."""
    corners = np.array([(pose.x_m, pose.y_m) for pose in poses])
    s = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.unique(np.concatenate([np.arange(0.0, s[-1], STEP_M), s]))
    return Curve.through(np.interp(at, s, corners[:, 0]), np.interp(at, s, corners[:, 1]))


def ahead(pose: Pose2D, distance_m: float, turn_rad: float) -> Curve:
    """The straight way of `distance_m` from a pose, turned to the left of its heading."""
    yaw = pose.yaw_rad + turn_rad
    end = Pose2D(pose.x_m + distance_m * np.cos(yaw), pose.y_m + distance_m * np.sin(yaw), yaw)
    return straight([pose, end])


def _from(curve: Curve, s_m: float, distance_m: float) -> Curve:
    """The part of a curve that begins at `s_m`, at most `distance_m` long, with at least two points."""
    end_m = min(s_m + max(distance_m, STEP_M), max(curve.length_m, s_m + STEP_M))
    x, y, _ = curve.pose_at(np.append(np.arange(s_m, end_m, STEP_M), end_m))
    return Curve.through(x, y)
