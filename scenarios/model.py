"""The scenario model: a drive from a start to a goal through a town with traffic, read from a YAML table."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from av_core.config import Strict, load, named
from av_core.suggest import did_you_mean
from scenarios.expectations import Expectations
from scenarios.limits import SEED_MAX
from scenarios.script.model import Script
from scenarios.weather_course import KeyframeTable

FOLDER = Path(__file__).parent
REACH_M = 100_000.0
"""Largest coordinate of a place; CARLA's own towns lie within 2 km of the origin."""
APART_M = 0.1
"""Smallest distance between the two ends of a walk."""

Coordinate = Annotated[float, Field(ge=-REACH_M, le=REACH_M)]
Place = tuple[Coordinate, Coordinate]
Name = Annotated[str, Field(min_length=1, max_length=100)]


class RouteTable(Strict):
    """The route: the ego drives from `start` through `via` to `goal`, in CARLA coordinates (x, y), metres."""

    start: Place
    via: Annotated[tuple[Place, ...], Field(max_length=2000)] = ()
    goal: Place


class EgoTable(Strict):
    """The ego: its vehicle, sensor rig and stack configuration.

    Without `rig` it has the rig that suits the device perception runs on.
    """

    blueprint: Name = "vehicle.lincoln.mkz_2020"
    rig: Name | None = None
    stack: Name = "default"


class TrafficTable(Strict):
    """The other vehicles: `vehicles` anywhere near the route, and with `background` some always around the ego."""

    vehicles: int = Field(0, ge=0, le=200)
    background: bool = False


class WalkerTable(Strict):
    """A walker that goes from `start` to `end` once the ego is within `trigger_m`.

    With `patrol` it goes back and forth for ever.
    """

    start: Place
    end: Place
    speed_mps: float = Field(1.4, gt=0.0, le=5.0)
    trigger_m: float | None = Field(None, gt=0.0)
    patrol: bool = False

    @field_validator("end")
    @classmethod
    def _check_apart(cls, end: Place, info: ValidationInfo) -> Place:
        start = info.data.get("start")
        if start is not None and math.dist(start, end) < APART_M:
            raise ValueError(f"a walk needs an end at least {APART_M} m away from its start")
        return end


class Scenario(Script):
    """One drive, the script of what happens during it, and the verdict that is expected. `timeout_s` is simulated time.

    `handling` selects the dynamics of the embedded server's vehicles: as in CARLA ("carla", whatever the weather), or
    with the tyres of real vehicles, whose grip falls on a wet road ("tyres"). A CARLA server always has its own.

    The weather is the named one; with `weather_keyframes` it is interpolated linearly between these along the route.
    `route_id` is the id of the Leaderboard route from which the scenario was made, and `warnings` name what that route
    asked for but the scenario lacks.
    """

    name: Name
    map: Name
    weather: Name = "ClearNoon"
    weather_keyframes: Annotated[tuple[KeyframeTable, ...], Field(max_length=100)] = ()
    seed: int = Field(0, ge=0, le=SEED_MAX)
    handling: Literal["carla", "tyres"] = "carla"
    ego: EgoTable = EgoTable()
    route: RouteTable
    traffic: TrafficTable = TrafficTable(vehicles=0)
    walkers: Annotated[tuple[WalkerTable, ...], Field(max_length=200)] = ()
    timeout_s: float = Field(900.0, gt=0.0)
    expect: Expectations = Expectations()
    route_id: Name | None = None
    warnings: Annotated[tuple[str, ...], Field(max_length=2000)] = ()

    @property
    def weather_label(self) -> str:
        """The weather in one word: its name, or "keyframes"."""
        return "keyframes" if self.weather_keyframes else self.weather

    @model_validator(mode="after")
    def _check_keyframes(self) -> Scenario:
        if self.weather_keyframes and "weather" in self.model_fields_set:
            raise ValueError("either weather or weather_keyframes can be given")
        percents = [keyframe.route_percent for keyframe in self.weather_keyframes]
        if any(later <= earlier for earlier, later in pairwise(percents)):
            raise ValueError("weather_keyframes: each needs a larger route_percent than the one before")
        return self

    @model_validator(mode="after")
    def _check_expected_events(self) -> Scenario:
        names = [event.name for event in self.events]
        for name in self.expect.events:
            if name not in names:
                raise ValueError(f"expect: no event {name}{did_you_mean(name, names)}")
        return self


def load_scenario(name: str) -> Scenario:
    """Load a scenario of this folder by its name, or a YAML file. Raises ConfigError where it is unknown or wrong."""
    return load(named(FOLDER, name, "scenario"), Scenario)
