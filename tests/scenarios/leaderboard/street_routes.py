"""Leaderboard routes along a straight street, for tests; CARLA's frame and the map's differ in the sign of y."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scenarios.leaderboard.routes import (
    LeaderboardRoute,
    ParameterValue,
    ScenarioInstance,
    Trigger,
    Waypoint,
)
from scenarios.leaderboard.weather import Weather, WeatherKeyframe

STREET_Y_M = -194.8
"""The right lane of a street of city_grid that leads to the east, in CARLA's frame."""

FROM_M, TO_M = 236.0, 520.0
"""The route's start and goal on it, x."""


def instance(name: str, kind: str, ahead_m: float, **parameters: Any) -> ScenarioInstance:
    """A scenario with its trigger `ahead_m` after the start of the route."""
    values = tuple(ParameterValue(key, value, 1) for key, value in parameters.items())
    return ScenarioInstance(name, kind, Trigger(FROM_M + ahead_m, STREET_Y_M, 0.0, 0.0, 1), values, 1)


def moved(scenario: ScenarioInstance, **trigger: Any) -> ScenarioInstance:
    """The scenario with another trigger."""
    return replace(scenario, trigger=replace(scenario.trigger, **trigger))


def street(
    *scenarios: ScenarioInstance,
    waypoints: Sequence[tuple[float, float]] = ((FROM_M, STREET_Y_M), (TO_M, STREET_Y_M)),
    weather: Sequence[tuple[float, Weather]] = (),
) -> LeaderboardRoute:
    return LeaderboardRoute(
        "7",
        "city_grid",
        tuple(WeatherKeyframe(percent, values, 1) for percent, values in weather),
        tuple(Waypoint(x, y, 0.0, number) for number, (x, y) in enumerate(waypoints, start=1)),
        scenarios,
        1,
    )
