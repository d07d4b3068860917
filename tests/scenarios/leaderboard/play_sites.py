"""Places on our own towns at which the types of scenarios are played without a simulator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import carla

from av_core.errors import RouteError
from av_core.frames import map_to_carla_points
from av_core.types import Lane, LaneGraph, LaneKey, SignalKind
from av_stack.server_process import embedded_town
from av_stack.world.carla.map import lane_graph
from planning import PlanningConfig, Route, find_route, pose_on_lane
from scenarios.leaderboard.plays.lane_walk import LaneSpot, turn_left_rad, walk_ahead, walk_back
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.routes import Location
from scenarios.script.places import Roads

TRIGGER_M = 5.0
BEFORE_M, AFTER_M = 50.0, 90.0
TURNED_RAD = 0.8

Turn = str
"""left, right or straight."""


@cache
def town(name: str) -> LaneGraph:
    path = embedded_town(name)
    assert path is not None
    return lane_graph(carla.Map(name, path.read_text()))


def way(graph: LaneGraph, *places: tuple[float, float]) -> Route:
    """The route through places of the map frame."""
    first, *via, last = (pose_on_lane(graph, *place) for place in places)
    return find_route(graph, first, last, via, PlanningConfig().route)


def site_on(graph: LaneGraph, route: Route, trigger_m: float = TRIGGER_M) -> Site:
    return Site(Roads(graph, route), trigger_m)


def junction_sites(name: str, turn: Turn, has_lights: bool | None = None) -> Iterator[Site]:
    """Sites before junctions at which the route turns that way, with lights on its approach or without."""
    graph = town(name)
    for entry in graph.lanes.values():
        if entry.is_junction:
            continue
        for key in entry.successors:
            inside = graph.lanes[key]
            if not inside.is_junction or _turn(inside) != turn:
                continue
            if has_lights is not None and _has_lights(graph, entry, key) != has_lights:
                continue
            start = walk_back(graph, LaneSpot(entry, entry.length_m), BEFORE_M)
            end = walk_ahead(graph, LaneSpot(inside, inside.length_m), AFTER_M)
            try:
                route = find_route(graph, start.pose, end.pose, (LaneSpot(inside, 0.5 * inside.length_m).pose,))
            except RouteError:
                continue
            if route.length_m < BEFORE_M + AFTER_M + 60.0 and route.is_junction.any():
                yield site_on(graph, route)


def _turn(lane: Lane) -> Turn:
    rad = turn_left_rad(lane)
    return "left" if rad > TURNED_RAD else "right" if rad < -TURNED_RAD else "straight"


def _has_lights(graph: LaneGraph, entry: Lane, inside: LaneKey) -> bool:
    return any(s.kind is SignalKind.TRAFFIC_LIGHT and s.lane in (entry.key, inside) for s in graph.signals)


def location(x_m: float, y_m: float) -> Location:
    """A place of the map frame as a route file gives it."""
    x, y = (float(value) for value in map_to_carla_points((x_m, y_m)))
    return Location(x, y, 0.0)
