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


class Behaviour(str, Enum):
    """What the ego does: the states of `planning.behaviour`, which says how they follow one another."""

    FOLLOW_LANE = "follow lane"
    MERGE = "merge"
    YIELD = "yield"
    STOP = "stop"
    CREEP = "creep"
    PASS_IN_LANE = "pass in lane"
    CHANGE_LANE = "change lane"
    OVERTAKE = "overtake through oncoming lane"
    LEAVE_PARKING_SPACE = "leave parking space"
    GIVE_WAY_TO_EMERGENCY_VEHICLE = "give way to emergency vehicle"
    BACK_UP = "back up"
    SAFE_STOP = "safe stop"


class CauseKind(str, Enum):
    """Facts that decide what the ego does."""

    LANE_IS_FREE = "lane is free"
    STANDS_IN_LANE = "stands in lane"
    IS_SLOW = "is slow"
    BESIDE_LANE_CHANGE = "beside lane change"
    STANDS_BESIDE = "stands beside"
    ONCOMING_COMES_CLOSE = "oncoming comes close"
    COMES_MUCH_TOO_FAST = "comes much too fast"
    BESIDE_ROAD = "beside road"
    GAP_BEFORE = "gap before"
    GAP_BEHIND = "gap behind"
    GAP_COMES = "gap comes"
    GAP_IN_TRAFFIC = "gap in traffic"
    NO_GAP = "no gap"
    LANE_HAS_ROOM = "lane has room"
    NEXT_LANE_IS_FREE = "next lane is free"
    ONCOMING_LANE_IS_FREE = "oncoming lane is free"
    PATH_IS_HELD = "path is held"
    NOT_FREE_YET = "not free yet"
    NO_PATH = "no path"
    ONCOMING_LANE_IS_CLOSED = "oncoming lane is closed"
    CANNOT_RETURN_YET = "cannot return yet"
    NO_WAY_OUT = "no way out"
    STUCK = "stuck"
    GOES_FIRST = "goes first"
    COMES_ONTO_LANE = "comes onto lane"
    STOPS_FOR = "stops for"
    VIEW_IS_NOT_CLEAR = "view is not clear"
    FAULT = "fault"


_CAUSE_TEXTS = {
    CauseKind.LANE_IS_FREE: "the lane is free",
    CauseKind.STANDS_IN_LANE: "vehicle {object_id} stands in the lane",
    CauseKind.IS_SLOW: "vehicle {object_id} is slow",
    CauseKind.BESIDE_LANE_CHANGE: "vehicle {object_id} is beside the lane change",
    CauseKind.STANDS_BESIDE: "vehicle {object_id} stands close beside the lane",
    CauseKind.ONCOMING_COMES_CLOSE: "an oncoming vehicle comes close",
    CauseKind.COMES_MUCH_TOO_FAST: "vehicle {object_id} comes from behind much too fast",
    CauseKind.BESIDE_ROAD: "the ego is beside the road",
    CauseKind.GAP_BEFORE: "gap before vehicle {object_id}",
    CauseKind.GAP_BEHIND: "gap behind vehicle {object_id}",
    CauseKind.GAP_COMES: "a gap comes soon",
    CauseKind.GAP_IN_TRAFFIC: "there is a gap in the traffic",
    CauseKind.NO_GAP: "there is no gap yet",
    CauseKind.LANE_HAS_ROOM: "the lane has room beside it",
    CauseKind.NEXT_LANE_IS_FREE: "the next lane is free",
    CauseKind.ONCOMING_LANE_IS_FREE: "the oncoming lane is free",
    CauseKind.PATH_IS_HELD: "the path is kept for a moment",
    CauseKind.NOT_FREE_YET: "the path past it is not free yet",
    CauseKind.NO_PATH: "no path leads past it",
    CauseKind.ONCOMING_LANE_IS_CLOSED: "the oncoming lane is no longer free",
    CauseKind.CANNOT_RETURN_YET: "the ego cannot return to its lane yet",
    CauseKind.NO_WAY_OUT: "no path leads on or back",
    CauseKind.STUCK: "the ego is stuck",
    CauseKind.GOES_FIRST: "vehicle {object_id} goes first",
    CauseKind.COMES_ONTO_LANE: "vehicle {object_id} comes onto the lane",
    CauseKind.STOPS_FOR: "{name} {object_id}",
    CauseKind.VIEW_IS_NOT_CLEAR: "{name} {object_id}: the view is not clear",
    CauseKind.FAULT: "{name}",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """One fact that decides what the ego does, as text a part of a sentence: "vehicle 12 stands in the lane".

    `object_id` is the track or signal id, `name` the kind of signal or the fault; empty if there is none.
    """

    kind: CauseKind
    object_id: str = ""
    name: str = ""

    def __str__(self) -> str:
        text = _CAUSE_TEXTS[self.kind]
        if not self.object_id:
            text = text.replace("vehicle {object_id}", "a vehicle").replace(" {object_id}", "")
        return text.format(object_id=self.object_id, name=self.name)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the ego does, and the facts that decide it."""

    behaviour: Behaviour
    causes: tuple[Cause, ...]

    @property
    def reason(self) -> str:
        """The causes as text: "vehicle 12 stands in the lane; gap before vehicle 31"."""
        return "; ".join(map(str, self.causes))

    def __str__(self) -> str:
        return f"{self.behaviour.value}: {self.reason}"


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
    * `decision`: what the ego does, and why; None in a plan that does not come from the planner, and in recordings of
      earlier versions.
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
    decision: Decision | None = None

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
