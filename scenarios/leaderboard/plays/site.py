"""The place on a route where a scenario starts: distances along the route, sides of the road, lanes beside."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from av_core.errors import RouteError
from av_core.frames import carla_to_map_points, map_to_carla_points, map_to_carla_yaw, wrap_angle
from av_core.types import LaneGraph, Pose2D, SideKind
from planning import Route
from scenarios.leaderboard.plays.junction import Junction
from scenarios.leaderboard.plays.lane_walk import LaneSpot, strips_beyond, walk_ahead, walk_back
from scenarios.leaderboard.routes import Location
from scenarios.script.places import Roads
from scenarios.script.ways import Ways

Place = dict[str, Any]
"""A place as a script writes it."""

LANES_MAX = 6
"""Largest number of lanes that are searched on one side of the ego's lane."""

SAME_WAY_RAD = np.pi / 4
"""Two lanes have the same direction if their headings differ by less than this; likewise for opposite directions."""

KERB_M = 1.0
"""Distance of an object beside the road from the road's edge, and of the middle of a parked car from the kerb."""

NO_PAVEMENT_M = 1.5
"""On a road without pavements, distance of a walker from the middle of the outermost lane."""

LANE_WITHIN_M = 6.0
"""A place given by coordinates is on the lane whose centre is nearest, if it is nearer than this."""


class Site:
    """The place of a scenario, whose trigger lies `trigger_m` along the ego's route.

    Distances `ahead_m` and `from_m` count from the trigger along the route. The methods raise RouteError where the
    route or the road has no such place. All random choices of the script come from `seed`.
    """

    def __init__(self, roads: Roads, trigger_m: float, seed: int = 0) -> None:
        self.roads, self.trigger_m = roads, trigger_m
        self._points = roads.points
        self._seed = seed

    @property
    def graph(self) -> LaneGraph:
        return self.roads.graph

    @property
    def route(self) -> Route:
        return self.roads.route

    @property
    def ways(self) -> Ways:
        """Search for paths along the lanes of the map."""
        return self.roads.ways

    @property
    def rng(self) -> np.random.Generator:
        """A new generator, the same for equal places and seeds."""
        return np.random.default_rng((self._seed, round(1000.0 * max(self.trigger_m, 0.0))))

    @cached_property
    def junction(self) -> Junction:
        """The first junction after the trigger."""
        return Junction(self.graph, self.route, self.trigger_m)

    def place(self, ahead_m: float, offset_m: float = 0.0, turn_deg: float = 0.0) -> Place:
        """The place on the route, `offset_m` to the left of the ego's lane."""
        self._check(ahead_m)
        return {"route_m": self.trigger_m + ahead_m, "offset_m": offset_m, "turn_deg": turn_deg}

    def spot(self, ahead_m: float) -> LaneSpot:
        """The place on the route's lane, `ahead_m` after the trigger."""
        self._check(ahead_m)
        route = self.route
        row = route.row_at(self.trigger_m + ahead_m)
        return LaneSpot(self.graph.lanes[route.lanes[int(route.lane_index[row])]], float(route.lane_s_m[row]))

    def spot_behind(self, behind_m: float) -> LaneSpot:
        """The place on the ego's lane `behind_m` before the trigger; it may lie before the start of the route."""
        spot = walk_back(self.graph, self.spot(0.0), behind_m, through_junctions=True)
        if spot.s_m == 0.0:
            raise RouteError(f"the road does not reach {behind_m:.0f} m back from the trigger")
        return spot

    def spot_ahead(self, spot: LaneSpot, distance_m: float) -> LaneSpot:
        """The place `distance_m` ahead of `spot` along the lanes, or where the road ends if that is nearer."""
        return walk_ahead(self.graph, spot, distance_m)

    def spot_at(self, location: Location) -> LaneSpot:
        """The place on the driving lane that is nearest to `location`."""
        x, y = (float(value) for value in carla_to_map_points((location.x_m, location.y_m)))
        distance_m, row = self._points.nearest(np.array([[x, y]]), 1, LANE_WITHIN_M)
        if not np.isfinite(distance_m[0, 0]):
            raise RouteError(f"({location.x_m:.1f}, {location.y_m:.1f}) is not on a driving lane of {self.graph.name}")
        lane, number = self._points.lane_and_row(int(row[0, 0]))
        return LaneSpot(lane, float(lane.s_m[number]))

    def limit_mps(self, ahead_m: float = 0.0) -> float:
        """The speed limit on the route."""
        return float(self.route.speed_limit_mps[self.route.row_at(self.trigger_m + ahead_m)])

    def half_lane_m(self, ahead_m: float) -> float:
        """Half the width of the ego's lane."""
        return float(self.route.width_m[self.route.row_at(self.trigger_m + ahead_m)]) / 2.0

    def edge_m(self, ahead_m: float, side: float) -> float:
        """Distance from the ego's lane's centre to the edge of the road on a side: 1.0 is left, -1.0 right."""
        offset_m = self.half_lane_m(ahead_m)
        for _ in range(LANES_MAX):
            beside = self._lane_beside(ahead_m, side * (offset_m + 1.0))
            if beside is None:
                break
            offset_m += beside[1]
        return offset_m

    def pavement_m(self, ahead_m: float, side: float) -> float:
        """Distance from the ego's lane's centre to the middle of the pavement on a side.

        Without a pavement, the distance is to a place 1.5 m outside the middle of the outermost lane of any kind.
        """
        inner_m, last_m = self.edge_m(ahead_m, side), 2.0 * self.half_lane_m(ahead_m)
        for kind, width_m in self._strips(ahead_m, side):
            if kind is SideKind.PAVEMENT:
                return inner_m + width_m / 2.0
            inner_m, last_m = inner_m + width_m, width_m
        return inner_m - last_m / 2.0 + NO_PAVEMENT_M

    def beside_road_m(self, ahead_m: float, side: float, lane_share: float) -> float:
        """Distance from the ego's lane's centre to a place beside the driving and parking lanes on a side.

        The place lies outside the middle of the strip there, by `lane_share` of the last lane's width.
        """
        inner_m, last_m = self.edge_m(ahead_m, side), 2.0 * self.half_lane_m(ahead_m)
        for kind, width_m in self._strips(ahead_m, side):
            if kind is not SideKind.PARKING:
                return inner_m + width_m / 2.0 + lane_share * last_m
            inner_m, last_m = inner_m + width_m, width_m
        return inner_m + KERB_M

    def parking_m(self, ahead_m: float, side: float) -> float:
        """Distance from the ego's lane's centre to a car that is parked on a side, near the kerb."""
        inner_m = self.edge_m(ahead_m, side)
        for kind, width_m in self._strips(ahead_m, side):
            if kind in (SideKind.PARKING, SideKind.SHOULDER):
                return inner_m + max(width_m / 2.0, width_m - KERB_M, KERB_M)
            if kind is SideKind.PAVEMENT:
                break
            inner_m += width_m
        return self.edge_m(ahead_m, side) + KERB_M

    def beside_traffic_m(self, ahead_m: float, side: float, half_width_m: float) -> float:
        """Distance from the ego's lane's centre to a car that is parked on a side, on the strip beside the road.

        The car stands nearer to the traffic than the middle of the strip, because its door has to reach the traffic: by
        a quarter of the difference between the strip's width and half the car's width. In a wide strip its side is at
        the strip's edge. Raises RouteError where there is no strip.
        """
        strips = self._strips(ahead_m, side)
        if not strips:
            raise RouteError(f"there is no strip for a parked car beside the road {ahead_m:.0f} m after the trigger")
        width_m = strips[0][1]
        beyond_m = width_m / 2.0 - (width_m - half_width_m) / 4.0
        return self.edge_m(ahead_m, side) + min(beyond_m, half_width_m)

    def oncoming_spot(self, ahead_m: float) -> LaneSpot:
        """The place on the nearest lane of the opposite direction."""
        offset_m = self.half_lane_m(ahead_m)
        for _ in range(LANES_MAX):
            beside = self._lane_beside(ahead_m, offset_m + 1.0)
            if beside is None:
                break
            spot, width_m = beside
            if abs(abs(float(wrap_angle(spot.pose.yaw_rad - self._pose(ahead_m, 0.0).yaw_rad))) - np.pi) < SAME_WAY_RAD:
                return spot
            offset_m += width_m
        raise RouteError(f"there is no lane of the opposite direction {ahead_m:.0f} m after the trigger")

    def oncoming(self, ahead_m: float) -> Place:
        """The place on the nearest lane of the opposite direction, with that lane's heading."""
        return on_map(self.oncoming_spot(ahead_m).pose)

    def has_lane_beside(self, ahead_m: float, side: float) -> bool:
        """Whether a lane of the ego's direction lies next to the ego's on a side."""
        beside = self._lane_beside(ahead_m, side * (self.half_lane_m(ahead_m) + 1.0))
        if beside is None:
            return False
        return abs(float(wrap_angle(beside[0].pose.yaw_rad - self._pose(ahead_m, 0.0).yaw_rad))) < SAME_WAY_RAD

    def free_of_junctions_m(self, from_m: float, back: bool) -> float:
        """Distance along the route from `from_m` to the next junction; with `back`, to the last one before it."""
        route = self.route
        at = self.trigger_m + from_m
        inside = route.s_m[route.is_junction]
        if back:
            return float(at - inside[inside <= at].max(initial=0.0))
        return float(inside[inside >= at].min(initial=route.length_m) - at)

    def _strips(self, ahead_m: float, side: float) -> list[tuple[SideKind, float]]:
        """The side lanes beyond the driving lanes on a side, from inside outwards: (kind, width in m) of each."""
        spot = self.spot(ahead_m)
        at = spot.pose
        strips = strips_beyond(self.graph, spot.lane.key, side)
        return [(strip.kind, float(strip.width_m[strip.curve.nearest(at.x_m, at.y_m)])) for strip in strips]

    def _check(self, ahead_m: float) -> None:
        if self.trigger_m + ahead_m > self.route.length_m:
            raise RouteError(f"the route ends before {ahead_m:.0f} m after the trigger")
        if self.trigger_m + ahead_m < 0.0:
            raise RouteError(f"the route begins after {-ahead_m:.0f} m before the trigger")

    def _pose(self, ahead_m: float, offset_m: float) -> Pose2D:
        self._check(ahead_m)
        x, y, yaw = self.route.curve.pose_at(self.trigger_m + ahead_m, offset_m)
        return Pose2D(float(x), float(y), float(yaw))

    def _lane_beside(self, ahead_m: float, offset_m: float) -> tuple[LaneSpot, float] | None:
        """The lane at an offset from the route: the place on it, and its width."""
        at = self._pose(ahead_m, offset_m)
        rows = self._points.within(at.x_m, at.y_m, 4.0)
        for row in self._points.nearest_of_each_lane(at.x_m, at.y_m, rows):
            lane, number = self._points.lane_and_row(int(row))
            here = lane.curve.project(at.x_m, at.y_m)
            width_m = float(lane.width_m[number])
            if abs(float(here.d_m)) <= width_m / 2.0 and not lane.is_junction:
                return LaneSpot(lane, float(here.s_m)), width_m
        return None


def on_map(pose: Pose2D) -> Place:
    """A pose as a place in CARLA coordinates."""
    x, y = (float(value) for value in map_to_carla_points((pose.x_m, pose.y_m)))
    return {"x": x, "y": y, "yaw_deg": float(map_to_carla_yaw(pose.yaw_rad))}


def pose_of(location: Location) -> Pose2D:
    """A place of a route file in the map frame; its heading, where it has one, is not used."""
    x, y = (float(value) for value in carla_to_map_points((location.x_m, location.y_m)))
    return Pose2D(x, y, 0.0)
