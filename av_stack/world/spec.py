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
    """The contents of a world.

    * `start`, `route`: start and rough route of the ego, CARLA coordinates (x, y); traffic is spawned near the route.
    * `weather`: the name of a CARLA preset, or CARLA's parameters by name.
    * `weathers_to_come`: shown once each before the first tick, so that the server compiles its shaders then.
    * `late_weather`: shown before the first tick, too, but without a tick of its own. So until its frame the world is
      the same as without it.
    * `traffic_kinds`: the traffic is drawn from the blueprints of these kinds (CARLA's `base_type`, lower case); a kind
      named twice is drawn twice as often.
    * `traffic_comes_later`: vehicles that are spawned during the drive are handed to the TrafficManager.
    * `xodr`: the map's OpenDRIVE file, for a server that does not have the map.
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
