"""Turns a Leaderboard route into a scenario that can be driven: `scenario_of`.

Pure: map in, scenario out. The scenario's `warnings` name all that the route asks for but the scenario cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from av_core.config import shortened, validate
from av_core.errors import AvStackError, RouteError
from av_core.types import LaneGraph
from scenarios.leaderboard.building.merge import Prepared, merged
from scenarios.leaderboard.building.triggers import Triggers
from scenarios.leaderboard.building.values import values_of
from scenarios.leaderboard.building.waypoints import plan
from scenarios.leaderboard.plays.site import Site
from scenarios.leaderboard.plays.table import PLAYS, build
from scenarios.leaderboard.routes import LeaderboardRoute, ScenarioInstance
from scenarios.leaderboard.weather import WeatherKeyframe
from scenarios.model import Scenario
from scenarios.script.apart import Standing, check_apart, standing_actors
from scenarios.script.engine import Engine
from scenarios.script.places import Roads

NEAR_M = 500.0
"""The actors of a scenario are spawned when the ego is within this straight distance of its trigger."""

TIMEOUT_S = 3600.0
"""Longest simulated time of a drive. The judge usually ends it earlier, after 300 s plus the time that the route takes
at a tenth of the speed limit."""


ID_MAX = 80
"""Largest number of characters of the route's id in the scenario's name."""


def scenario_of(route: LeaderboardRoute, graph: LaneGraph, seed: int) -> Scenario:
    """The drive through the route's waypoints, with its scenarios, its weather and background traffic.

    Raises RouteError where no way leads through the waypoints, ConfigError for weather that CARLA does not have.
    """
    table, planned = plan(route, graph)
    prepared, warnings = _prepare(route.scenarios, Roads(graph, planned), Triggers(planned, graph), seed)
    values = {
        "name": f"route_{route.route_id[:ID_MAX]}",
        "route_id": route.route_id[:ID_MAX],
        "map": route.town,
        "seed": seed,
        "route": table,
        "traffic": {"background": True},
        "timeout_s": TIMEOUT_S,
        "weather_keyframes": _keyframes(route.weather),
        "warnings": warnings,
        **merged(prepared),
    }
    return validate(values, Scenario, f"route {shortened(route.route_id)}")


def _prepare(
    instances: Sequence[ScenarioInstance], roads: Roads, triggers: Triggers, seed: int
) -> tuple[list[Prepared], list[str]]:
    """(the scripts of the scenarios that can be played, one warning for each of the other scenarios)."""
    prepared: list[Prepared] = []
    warnings: list[str] = []
    standing: dict[str, Standing] = {}
    places_ego = ""
    for instance in instances:
        try:
            one = _script(instance, roads, triggers, seed)
            Engine(one.script, roads, seed)  # raises if the map lacks a place or a path of the script
            if places_ego and one.script.ego_place is not None:
                raise RouteError(f"it puts the ego at another place than {shortened(places_ego)}")
            actors = {f"{instance.name}: {name}": there for name, there in standing_actors(one.script, roads).items()}
            check_apart({**standing, **actors})
        except AvStackError as error:
            warnings.append(f"{shortened(instance.name)} ({shortened(instance.type)}) is left out: {error}")
        else:
            prepared.append(one)
            standing |= actors
            places_ego = instance.name if one.script.ego_place is not None else places_ego
    return prepared, warnings


def _script(instance: ScenarioInstance, roads: Roads, triggers: Triggers, seed: int) -> Prepared:
    """The script of a scenario. Raises AvStackError where it has none on this route."""
    wrong = triggers.off_route(instance.trigger)
    if wrong:
        raise RouteError(wrong)
    values = values_of(instance)
    if instance.type not in PLAYS:
        raise RouteError("this type cannot be played yet")
    trigger_m = triggers.place_m(instance.trigger)
    script = build(instance.type, Site(roads, trigger_m, seed), values)
    start_x, start_y, _ = roads.route.curve.pose_at(0.0)
    x, y, _ = roads.route.curve.pose_at(trigger_m)
    is_near = np.hypot(float(x) - float(start_x), float(y) - float(start_y)) < NEAR_M
    near = None if is_near else {"distance": {"place": {"route_m": trigger_m}, "below_m": NEAR_M}}
    return Prepared(instance.name, script, near)


def _keyframes(weather: Sequence[WeatherKeyframe]) -> list[dict[str, Any]]:
    """The keyframes in their order; a route without any has the default weather."""
    ordered = sorted(weather, key=lambda keyframe: keyframe.route_percentage)
    return [{"route_percent": keyframe.route_percentage, **asdict(keyframe.weather)} for keyframe in ordered] or [
        {"route_percent": 0.0}
    ]
