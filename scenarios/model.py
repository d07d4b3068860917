"""What a scenario is: a drive from a start to a goal through a town with traffic, read from a YAML table."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from av_stack.config import Strict, load, named

FOLDER = Path(__file__).parent
Place = tuple[float, float]


class RouteTable(Strict):
    """Places in CARLA coordinates (x, y), metres; the ego drives from `start` through `via` to `goal`."""

    start: Place
    via: tuple[Place, ...] = ()
    goal: Place


class EgoTable(Strict):
    """Without `rig` the car has the one that suits where perception runs."""

    blueprint: str = "vehicle.lincoln.mkz_2020"
    rig: str | None = None
    stack: str = "default"


class TrafficTable(Strict):
    vehicles: int = Field(0, ge=0, le=200)


class WalkerTable(Strict):
    """Walks from `start` to `end` once the ego is within `trigger_m`; with `patrol` back and forth for ever."""

    start: Place
    end: Place
    speed_mps: float = Field(1.4, gt=0.0, le=5.0)
    trigger_m: float | None = Field(None, gt=0.0)
    patrol: bool = False


class Scenario(Strict):
    """One drive. `timeout_s` is simulated time.

    `handling` is how the embedded server's vehicles respond: as CARLA's do ("carla", whatever the weather), or with the
    tyres of real vehicles, whose grip falls on a wet road ("tyres"). A CARLA server has only its own.
    """

    name: str
    map: str
    weather: str = "ClearNoon"
    seed: int = Field(0, ge=0)
    handling: Literal["carla", "tyres"] = "carla"
    ego: EgoTable = EgoTable()
    route: RouteTable
    traffic: TrafficTable = TrafficTable(vehicles=0)
    walkers: tuple[WalkerTable, ...] = ()
    timeout_s: float = Field(900.0, gt=0.0)


def load_scenario(name: str) -> Scenario:
    """The scenario `scenarios/NAME.yaml` or a YAML file; ConfigError where it is unknown or wrong."""
    return load(named(FOLDER, name, "scenario"), Scenario)
