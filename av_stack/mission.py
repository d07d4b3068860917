"""From a scenario table to what the world and the planner need."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from av_stack.errors import RouteError
from av_stack.frames import carla_to_map_points
from av_stack.server_process import embedded_town
from av_stack.types import LaneGraph, Pose2D
from av_stack.world.spec import Rig, WalkerScript, WorldSpec
from planning import PlanningConfig, Route, find_route
from scenarios.model import Place, Scenario

SNAP_M = 6.0


def world_spec(scenario: Scenario, rig: Rig, weather: str | Mapping[str, float]) -> WorldSpec:
    """The world that `scenario` asks for."""
    route = scenario.route
    walkers = [WalkerScript(w.start, w.end, w.speed_mps, w.trigger_m, w.patrol) for w in scenario.walkers]
    return WorldSpec(
        map_name=scenario.map,
        start=route.start,
        route=(route.start, *route.via, route.goal),
        rig=rig,
        blueprint=scenario.ego.blueprint,
        weather=weather,
        seed=scenario.seed,
        traffic_vehicles=scenario.traffic.vehicles,
        walkers=tuple(walkers),
        xodr=embedded_town(scenario.map),
    )


def mission_route(graph: LaneGraph, scenario: Scenario, config: PlanningConfig) -> Route:
    """The lane-level route through the scenario's places. RouteError where a place is off the road or none leads on."""
    places = (scenario.route.start, *scenario.route.via, scenario.route.goal)
    names = ("start", *(f"via {number}" for number in range(1, len(places) - 1)), "goal")
    poses = [_on_lane(graph, place, name) for place, name in zip(places, names, strict=True)]
    return find_route(graph, poses[0], poses[-1], poses[1:-1], config.route)


def _on_lane(graph: LaneGraph, place: Place, name: str) -> Pose2D:
    """The nearest lane's centre, heading its way; an ordinary lane rather than one inside a junction."""
    at = carla_to_map_points(place)
    best, best_distance = None, SNAP_M
    for lane in graph.lanes.values():
        distance = np.hypot(*(lane.points[:, :2] - at).T)
        row = int(np.argmin(distance))
        handicap = 1.0 if lane.is_junction else 0.0
        if distance[row] + handicap < best_distance:
            best, best_distance = (lane, row), float(distance[row]) + handicap
    if best is None:
        raise RouteError(f"route {name} ({place[0]:.1f}, {place[1]:.1f}) is not on a driving lane of {graph.name}")
    lane, row = best
    return Pose2D(float(lane.points[row, 0]), float(lane.points[row, 1]), float(lane.yaw_rad[row]))
