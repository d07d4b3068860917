"""Orders of a scenario to the world: move actors, set signals and the weather, hold traffic, disturb the ego.

The event engine of `scenarios` gives them, and a world carries them out (`World.direct`). Poses and velocities are in
the map frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from av_core.perception_types import LightState
from av_core.plan_types import Pose2D, VehicleLights


@dataclass(frozen=True, slots=True)
class Spawn:
    """Put an actor on the ground with its middle at `pose`.

    If the place is taken, the world raises ConfigError where `is_needed` is true. Where it is false, the world leaves
    the actor out.
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
class DriveInTraffic:
    """Let the simulator's own traffic drive a vehicle of the background at `speed_mps`, without lane changes.

    Orders to the background traffic as a whole, such as `StopTraffic`, come before it.
    """

    actor: str
    speed_mps: float
    ignores_signals: bool = False


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


@dataclass(frozen=True, slots=True)
class StopTraffic:
    """Brake the background traffic ahead of or behind the ego, on its road and within `within_m`, to a standstill."""

    within_m: float
    is_behind: bool = False


@dataclass(frozen=True, slots=True)
class StartTraffic:
    """Let the background traffic that `StopTraffic` has stopped drive on."""


@dataclass(frozen=True, slots=True)
class CapTraffic:
    """Keep all background traffic at or below a speed, until another order; None lifts the limit."""

    speed_mps: float | None


@dataclass(frozen=True, slots=True)
class ClearTraffic:
    """Remove the background traffic whose middle is nearer than `within_m` to one of the places."""

    places: tuple[Pose2D, ...]
    within_m: float


@dataclass(frozen=True, slots=True)
class LeaveSpace:
    """Remove the background traffic ahead of the ego, on its lane and within `within_m`."""

    within_m: float


@dataclass(frozen=True, slots=True)
class QuietJunction:
    """Keep background traffic out of the next junction on the ego's route until the ego has passed it.

    * Background cars between the ego and the junction are removed, and no new ones come.
    * Background cars behind the ego do not overtake it.
    * With `others_wait`, cars on the other roads stop before the junction.
    * The cars that wait on the ego's exit from the junction stand `exit_space_m` farther from it than usual.
    """

    others_wait: bool
    exit_space_m: float = 0.0


@dataclass(frozen=True, slots=True)
class OncomingTraffic:
    """Whether oncoming background cars are spawned from now on; those that exist already drive on."""

    comes: bool


@dataclass(frozen=True, slots=True)
class FollowingTraffic:
    """Whether background cars are spawned behind the ego from now on; those that exist already drive on."""

    comes: bool


@dataclass(frozen=True, slots=True)
class LaneTraffic:
    """Whether there is background traffic from now on in the lane that is `left` lanes to the left of the route.

    Where `comes` is false, the cars in this lane are removed. Where it is true again, cars come at once, ahead of the
    ego and behind it.
    """

    comes: bool
    left: int


@dataclass(frozen=True, slots=True)
class TrafficAhead:
    """Let the background traffic ahead of the ego keep `space_m` more distance from it than usual."""

    space_m: float


@dataclass(frozen=True, slots=True)
class CrossingSpace:
    """Make room for somebody who crosses the road at `place`.

    Oncoming background traffic near the place is removed, and that a little farther away is stopped.
    """

    place: Pose2D


@dataclass(frozen=True, slots=True)
class PlaceEgo:
    """Put the ego, which must stand, on the ground with its middle at `pose`."""

    pose: Pose2D


@dataclass(frozen=True, slots=True)
class Disturb:
    """Add these values to the throttle and the steering of each command to the ego, until the next `Disturb`.

    The signs are those of `ControlCommand`: steering to the left is positive. Each sum is clipped to the range of a
    command.
    """

    throttle: float
    steer: float


ActorOrder = Destroy | Move | Hold | DriveItself | DriveInTraffic | OpenDoor | ShowLights
"""Orders to one actor that exists."""

TrafficOrder = StopTraffic | StartTraffic | CapTraffic | ClearTraffic | LeaveSpace
"""Orders to the background traffic."""

EgoOrder = PlaceEgo | Disturb

Order = Spawn | ActorOrder | SetSignal | SetWeather | TrafficOrder | EgoOrder

BackgroundOrder = QuietJunction | OncomingTraffic | FollowingTraffic | LaneTraffic | TrafficAhead | CrossingSpace
"""Orders to `scenarios.background`, which decides where background traffic comes and goes."""

ScriptOrder = Order | BackgroundOrder
"""All orders of a script: those to the world, and those to `scenarios.background`."""
