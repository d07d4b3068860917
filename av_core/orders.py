"""What a scenario tells the world to do: spawn an actor, move it, show its lights, set a signal or the weather.

The event engine of `scenarios` decides, a world carries out (`World.direct`). Poses and velocities are in the map
frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from av_core.perception_types import LightState
from av_core.plan_types import Pose2D, VehicleLights


@dataclass(frozen=True, slots=True)
class Spawn:
    """Put an actor on the ground at `pose`, which is that of its middle.

    The world raises WorldError where the place is taken and `is_needed` holds; else there is no such actor then.
    """

    actor: str
    blueprint: str
    pose: Pose2D
    is_needed: bool = True
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Destroy:
    """Remove an actor; one that is gone already is ignored."""

    actor: str


@dataclass(frozen=True, slots=True)
class Move:
    """Move a vehicle or a walker at this velocity over ground, and turn it at `yaw_rate_radps`, for one tick."""

    actor: str
    velocity_mps: tuple[float, float]
    yaw_rate_radps: float = 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep a vehicle or a walker where it stands, with its brakes on, until it gets another order."""

    actor: str


@dataclass(frozen=True, slots=True)
class DriveItself:
    """Let the simulator's own traffic drive a vehicle from now on."""

    actor: str


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """Open one door of a vehicle: "front_left", "front_right", "rear_left" or "rear_right"."""

    actor: str
    door: str


@dataclass(frozen=True, slots=True)
class ShowLights:
    """Switch the lights of a vehicle; `is_emergency` lights the beacons of those that have them."""

    actor: str
    lights: VehicleLights
    is_emergency: bool = False


@dataclass(frozen=True, slots=True)
class SetSignal:
    """Show a state at the traffic light with this OpenDRIVE id and keep it; None lets it change by itself again."""

    signal_id: str
    state: LightState | None


@dataclass(frozen=True, slots=True)
class SetWeather:
    """Change the weather to these values of CARLA's parameters, by name."""

    values: Mapping[str, float]


Order = Spawn | Destroy | Move | Hold | DriveItself | OpenDoor | ShowLights | SetSignal | SetWeather
