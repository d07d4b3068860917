"""One entry for each infraction that is counted: what, when and where, for people who look into a drive."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class InfractionKind(str, Enum):
    """What an entry of the log is about; the last four end the drive."""

    COLLISION_WALKER = "collision_walker"
    COLLISION_VEHICLE = "collision_vehicle"
    COLLISION_STATIC = "collision_static"
    RED_LIGHT = "red_light"
    STOP_SIGN = "stop_sign"
    SCENARIO_TIMEOUT = "scenario_timeout"
    FAILED_YIELD = "failed_yield"
    MINIMUM_SPEED = "minimum_speed"
    OUTSIDE_LANES = "outside_lanes"
    DEVIATION = "deviation"
    BLOCKED = "blocked"
    ROUTE_TIMEOUT = "route_timeout"
    AGENT_ERROR = "agent_error"


@dataclass(frozen=True, slots=True)
class LoggedInfraction:
    """An infraction: `time_s` since the first tick, the ego's centre in the map frame, and a sentence."""

    kind: InfractionKind
    time_s: float
    x_m: float
    y_m: float
    what: str
