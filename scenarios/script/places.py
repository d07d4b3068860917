"""Places in a script, and the poses that they mean on a map."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from pydantic import model_validator

from av_core.config import Strict
from av_core.errors import RouteError
from av_core.frames import carla_to_map_points, carla_to_map_yaw
from av_core.lane_points import LanePoints
from av_core.types import LaneGraph, LaneKey, Pose2D
from planning import Route
from planning.lanes.lane_snap import pose_on_lane
from scenarios.script.keys import given
from scenarios.script.ways import Ways

_FORMS = {
    "x": ({"x", "y"}, {"yaw_deg"}),
    "road": ({"road", "lane", "s_m"}, {"section", "offset_m", "turn_deg"}),
    "route_m": ({"route_m"}, {"offset_m", "turn_deg"}),
}
"""The forms of a place by the key that marks each: the keys that it needs, and those that it may have."""

_FARTHEST_M = 100.0
"""Farther than this from all lanes, a place is a mistake."""


class PlaceTable(Strict):
    """A pose in one of three forms.

    * `x`, `y` in CARLA coordinates (m) with `yaw_deg` in CARLA's sense; without `yaw_deg` the nearest lane's direction;
    * `road`, `lane` and `s_m`: metres along a lane in its direction of travel (`section` counts from 0);
    * `route_m`: metres along the ego's route.

    In the last two forms `offset_m` moves it to the left (to the right where negative), and `turn_deg` turns it to the
    left of the lane's direction.
    """

    x: float | None = None
    y: float | None = None
    yaw_deg: float | None = None
    road: int | None = None
    lane: int | None = None
    section: int | None = None
    s_m: float | None = None
    route_m: float | None = None
    offset_m: float | None = None
    turn_deg: float | None = None

    @model_validator(mode="after")
    def _check_form(self) -> PlaceTable:
        keys = set(given(self))
        form = next((form for mark, form in _FORMS.items() if mark in keys), None)
        if form is None or not form[0] <= keys <= form[0] | form[1]:
            forms = "; or ".join(", ".join(sorted(needed)) for needed, _ in _FORMS.values())
            raise ValueError(f"a place needs the keys {forms}")
        return self


class Roads:
    """The map and the ego's route, on which places lie."""

    def __init__(self, graph: LaneGraph, route: Route) -> None:
        self.graph, self.route = graph, route

    @cached_property
    def points(self) -> LanePoints:
        """The points of all lanes of the map."""
        return LanePoints(self.graph)

    @cached_property
    def ways(self) -> Ways:
        """Finds ways along the driving lanes."""
        return Ways(self.graph, self.points)

    def pose(self, place: PlaceTable, what: str) -> Pose2D:
        """The pose that a place means. Raises RouteError that names `what` where there is no such place."""
        if place.x is not None and place.y is not None:
            return self._on_map(place.x, place.y, place.yaw_deg, what)
        if place.route_m is not None:
            length_m = self.route.length_m
            if not 0.0 <= place.route_m <= length_m:
                raise RouteError(f"{what}: route_m {place.route_m:g} is not on the route, which has {length_m:.0f} m")
            return self._beside(self.route.curve.pose_at(place.route_m, place.offset_m or 0.0), place)
        return self._on_lane(place, what)

    def _on_lane(self, place: PlaceTable, what: str) -> Pose2D:
        assert place.road is not None
        assert place.lane is not None
        assert place.s_m is not None
        key = LaneKey(place.road, place.section or 0, place.lane)
        lane = self.graph.lanes.get(key)
        if lane is None:
            raise RouteError(f"{what}: {self.graph.name} has no driving lane {key}")
        if not 0.0 <= place.s_m <= lane.length_m:
            raise RouteError(f"{what}: s_m {place.s_m:g} is not on {key}, which has {lane.length_m:.0f} m")
        return self._beside(lane.curve.pose_at(place.s_m, place.offset_m or 0.0), place)

    def _on_map(self, x: float, y: float, yaw_deg: float | None, what: str) -> Pose2D:
        at_x, at_y = (float(value) for value in carla_to_map_points((x, y)))
        far_m = float(self.points.nearest(np.array([[at_x, at_y]]), 1)[0][0, 0])
        if far_m > _FARTHEST_M:
            raise RouteError(f"{what}: ({x:.1f}, {y:.1f}) is {far_m:.0f} m from the nearest lane")
        if yaw_deg is not None:
            return Pose2D(at_x, at_y, float(carla_to_map_yaw(yaw_deg)))
        try:
            return Pose2D(at_x, at_y, pose_on_lane(self.graph, at_x, at_y).yaw_rad)
        except RouteError:
            raise RouteError(f"{what}: ({x:.1f}, {y:.1f}) is not on a driving lane: add yaw_deg") from None

    @staticmethod
    def _beside(pose: tuple[object, object, object], place: PlaceTable) -> Pose2D:
        x, y, yaw = (float(value) for value in pose)  # type: ignore[arg-type]
        return Pose2D(x, y, yaw + math.radians(place.turn_deg or 0.0))
