"""The values that flow through the stack, one frozen dataclass each.

Frames (ISO 8855, right-handed, SI, radians):

* **map**: the OpenDRIVE frame of the town, x east, y north, z up. CARLA's world has y mirrored;
  `av_stack.frames` converts, and only `av_stack.world` calls it.
* **vehicle**: origin on the ground below the centre of the rear axle, x forward, y left, z up.
* **image**: u right, v down, px, origin at the centre of the top-left pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from av_stack.map_types import GeoReference as GeoReference
from av_stack.map_types import Lane as Lane
from av_stack.map_types import LaneGraph as LaneGraph
from av_stack.map_types import LaneKey as LaneKey
from av_stack.map_types import MarkingColour as MarkingColour
from av_stack.map_types import MarkingKind as MarkingKind
from av_stack.map_types import Signal as Signal
from av_stack.map_types import SignalKind as SignalKind

Float = NDArray[np.float64]
Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """When a value was true: the simulator's frame number and its time."""

    frame: int
    time_s: float


# ---------------------------------------------------------------- sensors


@dataclass(frozen=True, slots=True)
class CameraModel:
    """A pinhole camera mounted on the vehicle; `av_stack.frames` projects with it.

    `x_m, y_m, z_m` is the optical centre in the vehicle frame; pitch is positive nose-down (ISO 8855), yaw
    positive to the left.
    """

    name: str
    width_px: int
    height_px: int
    fov_x_rad: float
    x_m: float
    y_m: float
    z_m: float
    pitch_rad: float = 0.0
    yaw_rad: float = 0.0
    roll_rad: float = 0.0


@dataclass(frozen=True, slots=True)
class CameraImage:
    """`bgr` is (height, width, 3) uint8, taken at `stamp` through `camera`."""

    stamp: Stamp
    camera: CameraModel
    bgr: Image


@dataclass(frozen=True, slots=True)
class GnssFix:
    stamp: Stamp
    latitude_deg: float
    longitude_deg: float
    altitude_m: float


@dataclass(frozen=True, slots=True)
class ImuSample:
    """Specific force and turn rate in the vehicle frame; `yaw_rad` is the compass turned into the map frame."""

    stamp: Stamp
    accel_mps2: tuple[float, float, float]
    gyro_radps: tuple[float, float, float]
    yaw_rad: float


@dataclass(frozen=True, slots=True)
class SensorFrame:
    """All that the car measured in one tick; every part carries the same frame number.

    `is_raining` is the answer of the rain sensor behind the windscreen.
    """

    stamp: Stamp
    cameras: Mapping[str, CameraImage]
    gnss: GnssFix
    imu: ImuSample
    wheel_speed_mps: float
    is_raining: bool = False


# ---------------------------------------------------------------- perception


@dataclass(frozen=True, slots=True)
class LaneLine:
    """One line of the ego lane: y = sum(coefficients[i] * x**i) in the vehicle frame, for x_min_m <= x <= x_max_m.

    `confidence` in [0, 1] is the estimated probability that the line lies within 0.2 m of the truth at 15 m.
    """

    coefficients: tuple[float, ...]
    x_min_m: float
    x_max_m: float
    kind: MarkingKind
    colour: MarkingColour
    confidence: float

    def y_at(self, x_m: float | Float) -> Float:
        return np.asarray(np.polynomial.polynomial.polyval(x_m, self.coefficients), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LaneEstimate:
    """The two lines beside the ego, and the next ones beyond them, which border the neighbours; None where none is
    seen."""

    stamp: Stamp
    left: LaneLine | None
    right: LaneLine | None
    left_neighbour: LaneLine | None = None
    right_neighbour: LaneLine | None = None


@dataclass(frozen=True, slots=True)
class EgoState:
    """Estimated pose of the vehicle frame in the map frame.

    `covariance` is (4, 4) over (x_m, y_m, yaw_rad, speed_mps). `z_m` and `pitch_rad` (positive uphill) come from the
    map's elevation where the estimate lies.
    """

    stamp: Stamp
    x_m: float
    y_m: float
    yaw_rad: float
    speed_mps: float
    accel_mps2: float
    yaw_rate_radps: float
    covariance: Float
    z_m: float = 0.0
    pitch_rad: float = 0.0


class ObjectKind(str, Enum):
    CAR = "car"
    TRUCK = "truck"
    BUS = "bus"
    MOTORCYCLE = "motorcycle"
    BICYCLE = "bicycle"
    PEDESTRIAN = "pedestrian"


@dataclass(frozen=True, slots=True)
class Distance:
    """Along the ground from below the camera, with standard deviation, and the part of it that is new each picture."""

    range_m: float
    sigma_m: float
    jitter_m: float = 0.0


@dataclass(frozen=True, slots=True)
class SeenMotion:
    """How an object moved against a point of the ego that does not turn: (2,) m/s in the axes of the vehicle frame.

    It is the mean over the last `span_s` seconds. `covariance` (2, 2) leaves out that all of it scales with the
    distance that was believed, `depth_m`.
    """

    velocity_mps: Float
    covariance: Float
    span_s: float
    depth_m: float


@dataclass(frozen=True, slots=True)
class RangedObject:
    """A detected road user in the vehicle frame: the centre of its footprint with covariance (2, 2) m2.

    `jitter` (2, 2) m2 is the part of the covariance that is new in every picture; the rest (pitch, the true size) stays
    the same for a while. `near_m` is the distance along the ground from below the camera to its nearest side.
    `by_foot` and `by_size` tell the distance to where it stands on the road; None where the box does not show that.
    `yaw_rad` is a guess from the box's shape in the vehicle frame, None where the box does not tell. `motion` is what
    the texture inside the box tells, None where it tells nothing.
    """

    kind: ObjectKind
    confidence: float
    box_px: tuple[float, float, float, float]
    x_m: float
    y_m: float
    covariance: Float
    length_m: float
    width_m: float
    height_m: float
    near_m: float
    yaw_rad: float | None = None
    jitter: Float | None = None
    by_foot: Distance | None = None
    by_size: Distance | None = None
    motion: SeenMotion | None = None


@dataclass(frozen=True, slots=True)
class TrackedObject:
    """A road user in the map frame, as an upright box centred at (x_m, y_m).

    `velocity_mps` is over ground in the map frame. `box_px` is (u0, v0, u1, v1) in the front camera, if seen there.
    `covariance` is (4, 4) over (x_m, y_m, velocity_mps); None where the simulator answered.
    """

    track_id: int
    kind: ObjectKind
    x_m: float
    y_m: float
    yaw_rad: float
    velocity_mps: tuple[float, float]
    length_m: float
    width_m: float
    height_m: float
    confidence: float = 1.0
    box_px: tuple[float, float, float, float] | None = None
    covariance: Float | None = None

    @property
    def speed_mps(self) -> float:
        return float(np.hypot(*self.velocity_mps))


@dataclass(frozen=True, slots=True)
class Detection:
    """One thing that the detector saw in one picture.

    `name` is one of `perception.detection.classes.CLASSES`. `box_px` is (u0, v0, u1, v1) around what is seen of it, in
    the image frame (edges of pixel i lie at i - 0.5 and i + 0.5). `confidence` in [0, 1] is the network's score.
    """

    name: str
    box_px: tuple[float, float, float, float]
    confidence: float


Glance = tuple[CameraImage, Sequence[Detection]]
"""A picture and what the detector saw in it."""


class LightState(str, Enum):
    RED = "red"
    YELLOW = "yellow"
    GREEN = "green"
    OFF = "off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TrafficLightView:
    """State of one signal; `signal_id` is the OpenDRIVE id, which `LaneGraph.signals` places."""

    signal_id: str
    state: LightState
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Scene:
    """The world as the car believes it to be at `stamp`."""

    stamp: Stamp
    ego: EgoState
    lanes: LaneEstimate
    objects: tuple[TrackedObject, ...]
    lights: Mapping[str, TrafficLightView]


# ---------------------------------------------------------------- planning and control


@dataclass(frozen=True, slots=True)
class Pose2D:
    """A pose in the map frame."""

    x_m: float
    y_m: float
    yaw_rad: float


class ConstraintKind(str, Enum):
    """What can limit the planned speed.

    `ACCELERATION` is the ego's own acceleration limit: nothing else holds it back. `LEADER` is a vehicle ahead that
    moves, `OBSTACLE` one that stands. `RED_LIGHT` covers yellow. `UNSEEN_LIGHT` is a light whose state is not known.
    """

    SPEED_LIMIT = "speed limit"
    ACCELERATION = "acceleration"
    CURVE = "curve"
    LEADER = "moving vehicle ahead"
    OBSTACLE = "standing vehicle ahead"
    CROSSING_TRAFFIC = "giving way to a vehicle"
    PEDESTRIAN = "pedestrian"
    RED_LIGHT = "red light"
    UNSEEN_LIGHT = "unseen light"
    OFF_LIGHT = "light that is off"
    STOP_SIGN = "stop sign"
    YIELD_SIGN = "yield sign"
    CAMERA = "camera fault"
    END_OF_ROUTE = "end of route"


@dataclass(frozen=True, slots=True)
class Constraint:
    """What limits the planned speed now.

    `object_id` is the track or signal id; empty where there is none. `distance_m` is the way from the ego's front
    bumper to the vehicle ahead, or the way that the ego still drives to the place where it has to stop or be slow.
    """

    kind: ConstraintKind
    object_id: str = ""
    distance_m: float | None = None


class Indicator(str, Enum):
    OFF = "off"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the vehicle frame's origin shall be: N poses in the map frame with time from now.

    `constraint` says in words what chose the speed, for example "red light 412 in 18 m"; `limited_by` is the same as
    data, None in a plan that no planner made. `indicator` announces a turn or a lane change.
    """

    stamp: Stamp
    x_m: Float
    y_m: Float
    yaw_rad: Float
    curvature_1pm: Float
    speed_mps: Float
    accel_mps2: Float
    time_s: Float
    constraint: str
    route_s_m: float = 0.0
    is_finished: bool = False
    limited_by: Constraint | None = None
    indicator: Indicator = Indicator.OFF


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
    """Actuation: throttle and brake in [0, 1]; steer in [-1, 1], positive to the left (ISO 8855); and the lights."""

    throttle: float
    brake: float
    steer: float
    lights: VehicleLights = VehicleLights()


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one `Pipeline.step` decided, with the time each stage took."""

    stamp: Stamp
    scene: Scene
    plan: Plan
    command: ControlCommand
    stage_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VehicleParameters:
    """The ego's geometry and limits, read once from the world.

    `steer_max_rad` is the front wheels' angle at steer = 1 and standstill; `steer_curve` lists (speed_mps, factor on
    that angle), linear in between. `rear_axle_to_centre_m` is from the vehicle frame's origin forward to the middle
    of the bounding box.
    """

    length_m: float
    width_m: float
    height_m: float
    wheelbase_m: float
    rear_axle_to_centre_m: float
    steer_max_rad: float
    mass_kg: float
    steer_curve: tuple[tuple[float, float], ...] = ((0.0, 1.0),)


# ---------------------------------------------------------------- truth


@dataclass(frozen=True, slots=True)
class CollisionEvent:
    """The ego touched something; `other` is CARLA's type id ("vehicle.audi.tt", "static.building")."""

    stamp: Stamp
    other_id: int
    other: str
    impulse_ns: float


@dataclass(frozen=True, slots=True)
class Truth:
    """What the simulator knows. Only scoring, oracles and overlays of scoring may read it.

    `ego` is the vehicle frame's true pose in the map frame, `objects` are all other road users, `lights` maps
    OpenDRIVE signal ids to states, `collisions` are the events of this tick.
    """

    stamp: Stamp
    ego: Pose2D
    ego_z_m: float
    ego_speed_mps: float
    objects: tuple[TrackedObject, ...]
    lights: Mapping[str, LightState]
    collisions: tuple[CollisionEvent, ...]
