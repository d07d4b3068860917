"""The place on a route where a scenario starts: distances along the route, sides of the road, lanes beside."""

from __future__ import annotations

from typing import Any

import numpy as np

from av_core.errors import RouteError
from av_core.frames import map_to_carla_points, map_to_carla_yaw, wrap_angle
from av_core.lane_points import LanePoints
from av_core.types import Pose2D
from scenarios.script.places import Roads

Place = dict[str, Any]
"""A place as a script writes it."""

LANES_MAX = 6
"""Lanes that are looked through on one side of the ego's."""

SAME_WAY_RAD = np.pi / 4
"""A lane leads the same way, or the opposite way, if the headings differ by less."""


class Site:
    """A scenario's place: its trigger lies `trigger_m` along the ego's route.

    The methods take distances ahead of the trigger, and raise RouteError where the route or the road has no such place.
    """

    def __init__(self, roads: Roads, trigger_m: float) -> None:
        self._roads, self.trigger_m = roads, trigger_m
        self._points = LanePoints(roads.graph)

    def place(self, ahead_m: float, offset_m: float = 0.0, turn_deg: float = 0.0) -> Place:
        """The place on the route, `offset_m` to the left of the ego's lane."""
        self._check(ahead_m)
        return {"route_m": self.trigger_m + ahead_m, "offset_m": offset_m, "turn_deg": turn_deg}

    def half_lane_m(self, ahead_m: float) -> float:
        """Half the width of the ego's lane."""
        route = self._roads.route
        return float(route.width_m[route.row_at(self.trigger_m + ahead_m)]) / 2.0

    def edge_m(self, ahead_m: float, side: float) -> float:
        """Distance from the ego's lane's centre to the edge of the road on a side: 1.0 is left, -1.0 right."""
        offset_m = self.half_lane_m(ahead_m)
        for _ in range(LANES_MAX):
            beside = self._lane_beside(ahead_m, side * (offset_m + 1.0))
            if beside is None:
                break
            offset_m += beside[1]
        return offset_m

    def oncoming(self, ahead_m: float) -> Place:
        """The nearest lane of the opposite direction, in its own direction."""
        offset_m = self.half_lane_m(ahead_m)
        for _ in range(LANES_MAX):
            beside = self._lane_beside(ahead_m, offset_m + 1.0)
            if beside is None:
                break
            pose, width_m = beside
            if abs(abs(float(wrap_angle(pose.yaw_rad - self._pose(ahead_m, 0.0).yaw_rad))) - np.pi) < SAME_WAY_RAD:
                return on_map(pose)
            offset_m += width_m
        raise RouteError(f"there is no lane of the opposite direction {ahead_m:.0f} m after the trigger")

    def has_lane_beside(self, ahead_m: float, side: float) -> bool:
        """Whether a lane of the ego's direction lies next to the ego's on a side."""
        beside = self._lane_beside(ahead_m, side * (self.half_lane_m(ahead_m) + 1.0))
        if beside is None:
            return False
        return abs(float(wrap_angle(beside[0].yaw_rad - self._pose(ahead_m, 0.0).yaw_rad))) < SAME_WAY_RAD

    def free_of_junctions_m(self, from_m: float, back: bool) -> float:
        """How far from a place the route goes on before a junction, ahead of it, or `back` before it."""
        route = self._roads.route
        at = self.trigger_m + from_m
        inside = route.s_m[route.is_junction]
        if back:
            return float(at - inside[inside <= at].max(initial=0.0))
        return float(inside[inside >= at].min(initial=route.length_m) - at)

    def _check(self, ahead_m: float) -> None:
        if not 0.0 <= self.trigger_m + ahead_m <= self._roads.route.length_m:
            raise RouteError(f"the route ends before {ahead_m:.0f} m after the trigger")

    def _pose(self, ahead_m: float, offset_m: float) -> Pose2D:
        self._check(ahead_m)
        x, y, yaw = self._roads.route.curve.pose_at(self.trigger_m + ahead_m, offset_m)
        return Pose2D(float(x), float(y), float(yaw))

    def _lane_beside(self, ahead_m: float, offset_m: float) -> tuple[Pose2D, float] | None:
        """The lane at an offset from the route: the pose on its centre in its own direction, and its width."""
        at = self._pose(ahead_m, offset_m)
        rows = self._points.within(at.x_m, at.y_m, 4.0)
        for row in self._points.nearest_of_each_lane(at.x_m, at.y_m, rows):
            lane, number = self._points.lane_and_row(int(row))
            here = lane.curve.project(at.x_m, at.y_m)
            width_m = float(lane.width_m[number])
            if abs(float(here.d_m)) <= width_m / 2.0 and not lane.is_junction:
                x, y, yaw = lane.curve.pose_at(float(here.s_m))
                return Pose2D(float(x), float(y), float(yaw)), width_m
        return None


def on_map(pose: Pose2D) -> Place:
    """A pose as a place in CARLA coordinates."""
    x, y = (float(value) for value in map_to_carla_points((pose.x_m, pose.y_m)))
    return {"x": x, "y": y, "yaw_deg": float(map_to_carla_yaw(pose.yaw_rad))}
