"""Turns a candidate into a route with one scenario, and checks it as a drive would."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from av_core.errors import AvStackError, RouteError
from av_core.frames import carla_to_map_points, map_to_carla_yaw
from av_core.types import LaneGraph
from planning import Route, find_route, pose_on_lane
from scenarios.leaderboard.lint_placement import placement_problems
from scenarios.leaderboard.lint_road import road_problems
from scenarios.leaderboard.lint_scenarios import scenario_problems
from scenarios.leaderboard.parameters import Parameter
from scenarios.leaderboard.placing.needs import Candidate
from scenarios.leaderboard.placing.places import location
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import PLAYS, build
from scenarios.leaderboard.routes import (
    Interval,
    LeaderboardRoute,
    ParameterValue,
    ScenarioInstance,
    Trigger,
    Waypoint,
)
from scenarios.leaderboard.types import TYPES
from scenarios.script.places import Roads

LENGTH_TOLERANCE_M = 25.0
"""The planner's route may be so much longer or shorter than the way that was found."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A route with one scenario; `route_m` is its length and `trigger_m` the trigger's distance along it."""

    route: LeaderboardRoute
    planned: Route
    trigger_m: float


def route_of(view: RoadView, type_name: str, candidate: Candidate, number: int) -> LeaderboardRoute:
    """The route of a candidate; `number` counts the places of the type."""
    waypoints = []
    for key, s_m in candidate.way.waypoints(view):
        place = location(view.lanes[key].curve, view.lanes[key].points, s_m)
        waypoints.append(Waypoint(place.x_m, place.y_m, place.z_m, 0))
    key, s_m = candidate.way.at(candidate.trigger_m)
    at = location(view.lanes[key].curve, view.lanes[key].points, s_m)
    yaw_deg = round(float(map_to_carla_yaw(view.pose(key, s_m).yaw_rad)), 2)
    known = TYPES[type_name]
    values = tuple(ParameterValue(name, value, 0) for name, value in candidate.values if known.parameter(name))
    trigger = Trigger(at.x_m, at.y_m, at.z_m, yaw_deg, 0)
    scenario = ScenarioInstance(f"{type_name}_{number}", type_name, trigger, values, 0)
    return LeaderboardRoute(str(number - 1), view.graph.name, (), tuple(waypoints), (scenario,), 0)


def verified(graph: LaneGraph, route: LeaderboardRoute, length_m: float) -> Placed | str:
    """The route as the planner finds it, or what is wrong with it.

    It is wrong where the lint would report something, the planner goes another way, or the type's script does not fit.
    """
    (scenario,) = route.scenarios
    for problem in (*placement_problems(route), *scenario_problems(scenario), *road_problems(route, graph)):
        return problem.message
    planned = planned_route(graph, route)
    if abs(planned.length_m - length_m) > LENGTH_TOLERANCE_M:
        return f"the planner's route has {planned.length_m:.0f} m instead of {length_m:.0f} m"
    x, y = (float(value) for value in carla_to_map_points((scenario.trigger.x_m, scenario.trigger.y_m)))
    trigger_m = float(planned.curve.project(x, y).s_m)
    if scenario.type in PLAYS:
        try:
            build(scenario.type, Site(Roads(graph, planned), trigger_m), values_of(scenario))
        except (RouteError, AvStackError) as error:
            return str(error)
    return Placed(route, planned, trigger_m)


def planned_route(graph: LaneGraph, route: LeaderboardRoute) -> Route:
    """The planner's route through the waypoints. Raises RouteError where there is none."""
    places = [carla_to_map_points((waypoint.x_m, waypoint.y_m)) for waypoint in route.waypoints]
    poses = [pose_on_lane(graph, *map(float, place)) for place in places]
    return find_route(graph, poses[0], poses[-1], poses[1:-1])


def values_of(scenario: ScenarioInstance) -> dict[str, Any]:
    """The values of all parameters of a scenario by name, with the defaults; intervals as pairs of numbers."""
    found: dict[str, Any] = {}
    for parameter in TYPES[scenario.type].parameters:
        given = scenario.parameter(parameter.name)
        found[parameter.name] = _plain(parameter, given)
    return found


def _plain(parameter: Parameter, given: ParameterValue | None) -> object:
    if given is None:
        return parameter.default
    return (given.value.low, given.value.high) if isinstance(given.value, Interval) else given.value
