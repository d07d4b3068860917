"""What perception estimates: lane lines, the ego's state, road users, traffic lights, and the scene of all of these.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from av_core.map_types import MarkingColour, MarkingKind
from av_core.sensor_types import CameraImage, Float, Stamp


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
    """Distance `range_m` along the ground from the point below the camera, with its standard deviation `sigma_m`.

    `jitter_m` is the standard deviation of the part of the error that is independent in every picture.
    """

    range_m: float
    sigma_m: float
    jitter_m: float = 0.0


@dataclass(frozen=True, slots=True)
class SeenMotion:
    """Velocity of an object relative to the ego's rear axle, (2,) m/s along the axes of the vehicle frame.

    It is the mean over the last `span_s` seconds, and the ego's own rotation is removed. It is proportional to the
    assumed distance `depth_m` of the object; the error of this distance is not in `covariance` (2, 2).
    """

    velocity_mps: Float
    covariance: Float
    span_s: float
    depth_m: float


@dataclass(frozen=True, slots=True)
class RangedObject:
    """A detected road user in the vehicle frame: the centre of its footprint with covariance (2, 2) m2.

    * `jitter` (2, 2) m2: the part of the covariance that is independent in every picture. The rest of the error comes
      from the pitch and from the unknown true size, and changes slowly.
    * `near_m`: distance along the ground from the point below the camera to the object's nearest side.
    * `by_foot`: distance to the point where the object touches the road, from the lower edge of the box; None where
      the box does not show this edge.
    * `by_size`: the same distance from the size of the box; None where the box does not show the size.
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
