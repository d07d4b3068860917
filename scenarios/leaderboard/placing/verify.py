"""Turns a candidate into a route with one scenario, and checks it as a drive would."""

from __future__ import annotations

from dataclasses import dataclass

from av_core.errors import AvStackError
from av_core.frames import map_to_carla_yaw
from av_core.types import LaneGraph
from scenarios.leaderboard.building.waypoints import plan
from scenarios.leaderboard.drive import scenario_of
from scenarios.leaderboard.lint_placement import placement_problems
from scenarios.leaderboard.lint_road import road_problems
from scenarios.leaderboard.lint_scenarios import scenario_problems
from scenarios.leaderboard.placing.needs import Candidate
from scenarios.leaderboard.placing.places import location
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.routes import LeaderboardRoute, ParameterValue, ScenarioInstance, Trigger, Waypoint
from scenarios.leaderboard.types import TYPES

LENGTH_TOLERANCE_M = 25.0
"""Largest difference between the length of the planned route and that of the path that was found."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A route with one scenario, and the length of the planned route."""

    route: LeaderboardRoute
    length_m: float


def route_of(view: RoadView, type_name: str, candidate: Candidate, number: int) -> LeaderboardRoute:
    """The route of a candidate; `number` counts the places of the type from 1."""
    waypoints = []
    for key, s_m in candidate.way.waypoints(view, candidate.trigger_m):
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
    """The route with its planned length, or a sentence that says what is wrong with it.

    It is wrong if the lint reports a problem, if the planned route differs from the path that was found (`length_m`
    long), or if the drive would leave the scenario out.
    """
    (scenario,) = route.scenarios
    for problem in (*placement_problems(route), *scenario_problems(scenario), *road_problems(route, graph)):
        return problem.message
    try:
        planned = plan(route, graph)[1]
        if abs(planned.length_m - length_m) > LENGTH_TOLERANCE_M:
            return f"the planned way has {planned.length_m:.0f} m instead of {length_m:.0f} m"
        warnings = scenario_of(route, graph, seed=0).warnings
    except AvStackError as error:
        return str(error)
    return warnings[0] if warnings else Placed(route, planned.length_m)
