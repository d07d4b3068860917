"""What the stack decides: plan, control command, the result of a step; and the vehicle that it drives.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from av_core.constraint import Constraint, ConstraintKind
from av_core.perception_types import Scene
from av_core.prediction_types import Prediction
from av_core.sensor_types import Float, Stamp
from av_core.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Pose2D:
    """A pose in the map frame."""

    x_m: float
    y_m: float
    yaw_rad: float


class Indicator(str, Enum):
    """State of the turn indicators."""

    OFF = "off"
    LEFT = "left"
    RIGHT = "right"


class Manoeuvre(str, Enum):
    """What the planned path does in the next metres."""

    FOLLOW_LANE = "follow lane"
    PASS_IN_LANE = "pass in lane"
    PASS_THROUGH_NEXT_LANE = "pass through next lane"
    PASS_THROUGH_ONCOMING_LANE = "pass through oncoming lane"
    PULL_OUT = "pull out"
    """Drive from the side of the road into the lane."""
    BACK_UP = "back up"
    """Drive backwards along the path that the ego came, because it is stuck."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned motion of the vehicle frame's origin.

    * `constraint`: what limits the speed; None in a plan that does not come from the planner.
    * `is_accelerating`: the ego is still below the speed that `constraint` allows, because its acceleration is limited.
    * `route_s_m`: the ego's arc length along the route.
    * `indicator`: announces a turn or a lane change.
    * `reverses`: the ego drives backwards along the trajectory. Its heading is that of the poses, and its speed over
      ground is minus the trajectory's `speed_mps`.
    * `alternatives`: paths that the planner found in this step but did not choose, each (N, 2) m in the map frame.
    """

    stamp: Stamp
    trajectory: Trajectory
    constraint: Constraint | None
    route_s_m: float = 0.0
    is_accelerating: bool = False
    indicator: Indicator = Indicator.OFF
    manoeuvre: Manoeuvre = Manoeuvre.FOLLOW_LANE
    reverses: bool = False
    alternatives: tuple[Float, ...] = ()

    @property
    def limited_by(self) -> Constraint | None:
        """What limits the speed now, as statistics count it."""
        if self.constraint is None:
            return None
        return Constraint(ConstraintKind.ACCELERATION) if self.is_accelerating else self.constraint.counted


@dataclass(frozen=True, slots=True)
class VehicleLights:
    """Which lights of the ego are on. An indicator or `hazard` (both indicators) blinks by itself."""

    position: bool = False
    low_beam: bool = False
    brake: bool = False
    left_indicator: bool = False
    right_indicator: bool = False
    hazard: bool = False


@dataclass(frozen=True, slots=True)
class ControlCommand:
    """Actuation: throttle and brake in [0, 1]; steer in [-1, 1], positive to the left (ISO 8855); and the lights.

    `reverse` engages the reverse gear.
    """

    throttle: float
    brake: float
    steer: float
    lights: VehicleLights = VehicleLights()
    reverse: bool = False


class DriveState(str, Enum):
    """How the stack drives in view of the health of its sensors, the least restricted first."""

    NORMAL = "normal"
    CAUTIOUS = "cautious"
    SLOW = "slow"
    STOP = "safe stop"


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of one `Pipeline.step`.

    `stage_ms` is the wall time of each stage by its name. `reason` says why the stack is in this `state`.
    """

    stamp: Stamp
    scene: Scene
    prediction: Prediction
    plan: Plan
    command: ControlCommand
    stage_ms: Mapping[str, float] = field(default_factory=dict)
    state: DriveState = DriveState.NORMAL
    reason: str = ""


@dataclass(frozen=True, slots=True)
class VehicleParameters:
    """The ego's geometry and limits, read once from the world.

    `steer_max_rad` is the angle of the front wheels at steer = 1 and standstill; `steer_curve` lists (speed_mps, factor
    on that angle), linear in between. `rear_axle_to_centre_m` is the distance from the vehicle frame's origin forward
    to the centre of the bounding box.
    """

    length_m: float
    width_m: float
    height_m: float
    wheelbase_m: float
    rear_axle_to_centre_m: float
    steer_max_rad: float
    mass_kg: float
    steer_curve: tuple[tuple[float, float], ...] = ((0.0, 1.0),)
