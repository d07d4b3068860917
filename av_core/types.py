"""The data types that flow through the stack, one frozen dataclass each.

Frames (ISO 8855, right-handed, SI, radians):

* **map**: the OpenDRIVE frame of the town, x east, y north, z up. CARLA's world has y mirrored; `av_core.frames`
  converts, and only `av_stack.world` calls it.
* **vehicle**: origin on the ground below the centre of the rear axle, x forward, y left, z up.
* **image**: u right, v down, px, origin at the centre of the top-left pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from av_core.map_types import GeoReference as GeoReference
from av_core.map_types import Lane as Lane
from av_core.map_types import LaneGraph as LaneGraph
from av_core.map_types import LaneKey as LaneKey
from av_core.map_types import MarkingColour as MarkingColour
from av_core.map_types import MarkingKind as MarkingKind
from av_core.map_types import Signal as Signal
from av_core.map_types import SignalKind as SignalKind

Float = NDArray[np.float64]
Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    """The time that a value belongs to: the simulator's frame number and time."""

    frame: int
    time_s: float


# ---------------------------------------------------------------- sensors


@dataclass(frozen=True, slots=True)
class CameraModel:
    """A pinhole camera mounted on the vehicle; `av_core.frames` projects with it.

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
    """A position from the GNSS receiver."""

    stamp: Stamp
    latitude_deg: float
    longitude_deg: float
    altitude_m: float


@dataclass(frozen=True, slots=True)
class ImuSample:
    """Specific force and angular rate in the vehicle frame, and compass heading `yaw_rad` in the map frame."""

    stamp: Stamp
    accel_mps2: tuple[float, float, float]
    gyro_radps: tuple[float, float, float]
    yaw_rad: float


@dataclass(frozen=True, slots=True)
class SensorFrame:
    """All sensor measurements of one tick; every part has the same frame number.

    `is_raining` is the output of the rain sensor behind the windscreen.
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
        """Lateral position of the line at `x_m`, in the vehicle frame."""
        return np.asarray(np.polynomial.polynomial.polyval(x_m, self.coefficients), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class LaneEstimate:
    """The two lines of the ego lane, and the outer lines of the neighbour lanes; None where not detected."""

    stamp: Stamp
    left: LaneLine | None
    right: LaneLine | None
    left_neighbour: LaneLine | None = None
    right_neighbour: LaneLine | None = None


@dataclass(frozen=True, slots=True)
class EgoState:
    """Estimated pose of the vehicle frame in the map frame, and motion.

    `covariance` is (4, 4) over (x_m, y_m, yaw_rad, speed_mps). `z_m` and `pitch_rad` (positive uphill) come from the
    map's elevation at the estimated position.
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
    """Distance along the ground from below the camera, with its standard deviation.

    `jitter_m` is the part of that deviation which is independent in every picture.
    """

    range_m: float
    sigma_m: float
    jitter_m: float = 0.0


@dataclass(frozen=True, slots=True)
class SeenMotion:
    """Velocity of an object relative to the ego's rear axle, without the ego's rotation: (2,) m/s, vehicle axes.

    It is the mean over the last `span_s` seconds. It scales with the distance that was assumed, `depth_m`; `covariance`
    (2, 2) does not include the error from that.
    """

    velocity_mps: Float
    covariance: Float
    span_s: float
    depth_m: float


@dataclass(frozen=True, slots=True)
class RangedObject:
    """A detected road user in the vehicle frame: the centre of its footprint with covariance (2, 2) m2.

    * `jitter` (2, 2) m2: the part of the covariance that is independent in every picture; the rest (from pitch and true
      size) stays the same for a while.
    * `near_m`: distance along the ground from below the camera to its nearest side.
    * `by_foot`, `by_size`: distance to where it stands on the road, from the lower edge and from the size of the box;
      None where the box does not show that.
    * `yaw_rad`: heading in the vehicle frame, guessed from the shape of the box; None where the shape does not show it.
    * `motion`: velocity from the texture inside the box; None if unknown.
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
    """A tracked road user in the map frame, as an upright box centred at (x_m, y_m).

    `velocity_mps` is over ground in the map frame. `box_px` is (u0, v0, u1, v1) in the front camera, if seen there.
    `covariance` is (4, 4) over (x_m, y_m, velocity_mps); None for objects from the simulator's truth.
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
    """One detected object in one picture.

    `name` is one of `perception.detection.classes.CLASSES`. `box_px` is (u0, v0, u1, v1) around its visible part, in
    the image frame (edges of pixel i lie at i - 0.5 and i + 0.5). `confidence` in [0, 1] is the network's score.
    """

    name: str
    box_px: tuple[float, float, float, float]
    confidence: float


CameraDetections = tuple[CameraImage, Sequence[Detection]]
"""A picture and the detections in it."""


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
    """The stack's estimate of the world at `stamp`."""

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
    """Reasons that can limit the planned speed.

    `ACCELERATION` is the ego's own acceleration limit: nothing else limits the speed. `LEADER` is a vehicle ahead that
    moves, `OBSTACLE` one that stands. `RED_LIGHT` includes yellow. `UNSEEN_LIGHT` is a light whose state is not known.
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

    `object_id` is the track or signal id; empty if there is none. `distance_m` is the distance from the ego's front
    bumper to the vehicle ahead, or the distance that the ego still drives to where it has to stop or be slow.
    """

    kind: ConstraintKind
    object_id: str = ""
    distance_m: float | None = None


class Indicator(str, Enum):
    """State of the turn indicators."""

    OFF = "off"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Plan:
    """The planned trajectory of the vehicle frame's origin: N poses in the map frame, with speeds and times from now.

    `constraint` says in words what limits the speed, for example "red light 412 in 18 m"; `limited_by` is the same as
    data, None in a plan that does not come from the planner. `indicator` announces a turn or a lane change.
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
    """The result of one `Pipeline.step`, with the time that each stage took."""

    stamp: Stamp
    scene: Scene
    plan: Plan
    command: ControlCommand
    stage_ms: Mapping[str, float] = field(default_factory=dict)


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
    """The simulator's ground truth of one tick. Only scoring, oracles and overlays of scoring may read it.

    `ego` is the true pose of the vehicle frame in the map frame, `objects` are all other road users, `lights` maps
    OpenDRIVE signal ids to states, `collisions` are the events of this tick.
    """

    stamp: Stamp
    ego: Pose2D
    ego_z_m: float
    ego_speed_mps: float
    objects: tuple[TrackedObject, ...]
    lights: Mapping[str, LightState]
    collisions: tuple[CollisionEvent, ...]
