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
"""Lanes that are looked through on one side of the ego's."""

SAME_WAY_RAD = np.pi / 4
"""A lane leads the same way, or the opposite way, if the headings differ by less."""

KERB_M = 1.0
"""Distance of what stands beside the road from its edge, and of the middle of a parked car from the kerb."""

NO_PAVEMENT_M = 1.5
"""Distance of who stands beside a road without pavements from the middle of its outermost lane."""

LANE_WITHIN_M = 6.0
"""A place given by coordinates is on the lane whose centre is nearest, if it is nearer than this."""


class Site:
    """A scenario's place: its trigger lies `trigger_m` along the ego's route. `seed` decides what the script leaves
    to chance.

    The methods take distances ahead of the trigger, and raise RouteError where the route or the road has no such place.
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
        """Finds ways along the lanes of the map."""
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
        """The place on the lane that the route follows there."""
        self._check(ahead_m)
        route = self.route
        row = route.row_at(self.trigger_m + ahead_m)
        return LaneSpot(self.graph.lanes[route.lanes[int(route.lane_index[row])]], float(route.lane_s_m[row]))

    def spot_behind(self, behind_m: float) -> LaneSpot:
        """The place on the ego's lane before the trigger, which may lie before the start of the route."""
        spot = walk_back(self.graph, self.spot(0.0), behind_m, through_junctions=True)
        if spot.s_m == 0.0:
            raise RouteError(f"the road does not reach {behind_m:.0f} m back from the trigger")
        return spot

    def spot_ahead(self, spot: LaneSpot, distance_m: float) -> LaneSpot:
        """The place on a lane `distance_m` behind another, or where the road ends."""
        return walk_ahead(self.graph, spot, distance_m)

    def spot_at(self, location: Location) -> LaneSpot:
        """The place on the nearest driving lane to coordinates."""
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

        Without a pavement it is 1.5 m from the middle of the outermost lane, of whatever kind.
        """
        inner_m, last_m = self.edge_m(ahead_m, side), 2.0 * self.half_lane_m(ahead_m)
        for kind, width_m in self._strips(ahead_m, side):
            if kind is SideKind.PAVEMENT:
                return inner_m + width_m / 2.0
            inner_m, last_m = inner_m + width_m, width_m
        return inner_m - last_m / 2.0 + NO_PAVEMENT_M

    def beside_road_m(self, ahead_m: float, side: float, lane_share: float) -> float:
        """Distance from the ego's lane's centre to a place beside the driving and parking lanes on a side.

        It lies in the middle of the strip there, and `lane_share` of the last lane's width farther out.
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

        It is nearer to the traffic than the strip's middle, by a quarter of what the strip is wider than half the car,
        and at the edge of a wide strip: its door has to reach the traffic. Raises RouteError where there is no strip.
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
        """The nearest lane of the opposite direction, in its own direction."""
        return on_map(self.oncoming_spot(ahead_m).pose)

    def has_lane_beside(self, ahead_m: float, side: float) -> bool:
        """Whether a lane of the ego's direction lies next to the ego's on a side."""
        beside = self._lane_beside(ahead_m, side * (self.half_lane_m(ahead_m) + 1.0))
        if beside is None:
            return False
        return abs(float(wrap_angle(beside[0].pose.yaw_rad - self._pose(ahead_m, 0.0).yaw_rad))) < SAME_WAY_RAD

    def free_of_junctions_m(self, from_m: float, back: bool) -> float:
        """How far from a place the route goes on before a junction, ahead of it, or `back` before it."""
        route = self.route
        at = self.trigger_m + from_m
        inside = route.s_m[route.is_junction]
        if back:
            return float(at - inside[inside <= at].max(initial=0.0))
        return float(inside[inside >= at].min(initial=route.length_m) - at)

    def _strips(self, ahead_m: float, side: float) -> list[tuple[SideKind, float]]:
        """What lies beyond the driving lanes on a side, from inside outwards: kinds and widths."""
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
