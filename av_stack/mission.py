"""Turns a scenario into the inputs of the world (`WorldSpec`) and of the planner (a lane-level route)."""

from __future__ import annotations

from collections.abc import Mapping

from av_core.types import LaneGraph, Rig
from av_stack.server_process import embedded_town
from av_stack.world.spec import WalkerScript, WorldSpec
from planning import PlanningConfig, Route
from scenarios.ego_route import ego_route
from scenarios.model import Scenario
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
        traffic_comes_later=scenario.traffic.background or bool(scenario.events),
        walkers=tuple(walkers),
        xodr=embedded_town(scenario.map),
    )


def mission_route(graph: LaneGraph, scenario: Scenario, config: PlanningConfig) -> Route:
    """The lane-level route through the scenario's places. Raises RouteError as `ego_route` does."""
    return ego_route(graph, scenario.route, config)
