"""Turns a scenario into the inputs of the world (`WorldSpec`) and of the planner (a lane-level route)."""

from __future__ import annotations

from collections.abc import Mapping

from av_core.errors import RouteError
from av_core.frames import carla_to_map_points
from av_core.types import LaneGraph, Pose2D, Rig
from av_stack.server_process import embedded_town
from av_stack.world.spec import WalkerScript, WorldSpec
from planning import PlanningConfig, Route, find_route, pose_on_lane
from scenarios.model import Place, Scenario
from scenarios.weather_course import kinds_of_weather


def world_spec(scenario: Scenario, rig: Rig, weather: str | Mapping[str, float]) -> WorldSpec:
    """The world that `scenario` requires."""
    route = scenario.route
    walkers = [WalkerScript(w.start, w.end, w.speed_mps, w.trigger_m, w.patrol) for w in scenario.walkers]
    return WorldSpec(
        map_name=scenario.map,
        start=route.start,
        route=(route.start, *route.via, route.goal),
        rig=rig,
        blueprint=scenario.ego.blueprint,
        weather=weather,
        weathers_to_come=kinds_of_weather(scenario.weather_keyframes) if rig.cameras else (),
        seed=scenario.seed,
        traffic_vehicles=scenario.traffic.vehicles,
        walkers=tuple(walkers),
        xodr=embedded_town(scenario.map),
    )


def mission_route(graph: LaneGraph, scenario: Scenario, config: PlanningConfig) -> Route:
    """The lane-level route through the scenario's places.

    Raises RouteError where a place is not on a lane, or no route leads from one place to the next.
    """
    places = (scenario.route.start, *scenario.route.via, scenario.route.goal)
    names = ("start", *(f"via {number}" for number in range(1, len(places) - 1)), "goal")
    poses = [_on_lane(graph, place, name) for place, name in zip(places, names, strict=True)]
    return find_route(graph, poses[0], poses[-1], poses[1:-1], config.route)


def _on_lane(graph: LaneGraph, place: Place, name: str) -> Pose2D:
    """The pose on the lane nearest to a place of the scenario. Places, also in error messages, are in CARLA's frame."""
    try:
        return pose_on_lane(graph, *(float(value) for value in carla_to_map_points(place)))
    except RouteError:
        raise RouteError(
            f"route {name} ({place[0]:.1f}, {place[1]:.1f}) is not on a driving lane of {graph.name}"
        ) from None
