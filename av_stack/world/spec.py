"""Specification of a world before the first tick, in plain values: `CarlaWorld` is built from a `WorldSpec`.

The places of a scenario are CARLA coordinates (left-handed, metres, degrees), because CARLA's tools show these to
people. The stack itself never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from av_core.types import Rig

DEFAULT_STEP_S = 0.05
"""Simulated time of a tick: 20 Hz."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a CARLA server listens; it also uses port + 1."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class WalkerScript:
    """A walker that goes from `start` to `end` (CARLA x, y) once the ego is within `trigger_m`, or at once if None.

    A patrolling walker turns back at each end and never stops.
    """

    start: tuple[float, float]
    end: tuple[float, float]
    speed_mps: float
    trigger_m: float | None = None
    is_patrol: bool = False


@dataclass(frozen=True, slots=True)
class LateWeather:
    """A weather, as in `WorldSpec`, that replaces the world's own from this frame on."""

    frame: int
    weather: str | Mapping[str, float]


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """What the world contains.

    `route` is the rough route of the ego in CARLA coordinates (x, y); traffic is spawned near it.

    The vehicles of the traffic are drawn from the blueprints of `traffic_kinds` (CARLA's `base_type`, lower case); a
    kind named twice is drawn twice as often. `weather` is the name of a CARLA preset, or CARLA's parameters by name.
    `traffic_comes_later` says that vehicles which come during the drive are handed to the TrafficManager.
    `weathers_to_come` are shown once each before the first tick, so that the server has its shaders ready;
    `late_weather` is so too, but takes no tick of its own, so that the world is the same without it until its frame.
    `xodr` is the map's OpenDRIVE file, for a server that does not have the map.
    """

    map_name: str
    start: tuple[float, float]
    route: tuple[tuple[float, float], ...]
    rig: Rig
    blueprint: str = "vehicle.lincoln.mkz_2020"
    weather: str | Mapping[str, float] = "ClearNoon"
    weathers_to_come: tuple[Mapping[str, float], ...] = ()
    late_weather: LateWeather | None = None
    seed: int = 0
    traffic_vehicles: int = 0
    traffic_kinds: tuple[str, ...] = ("car",)
    traffic_comes_later: bool = False
    walkers: tuple[WalkerScript, ...] = field(default=())
    xodr: Path | None = None
    step_s: float = DEFAULT_STEP_S
