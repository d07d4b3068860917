"""Value types shared by the whole server, in CARLA's world frame: metres, x east, y south, z up (left-handed).

Angles are degrees here because the wire, blueprints and scripts all use degrees; numerical code (physics, rendering)
converts once and marks radians with `_rad`. Yaw is positive clockwise seen from above (x towards y), pitch positive
nose-up, roll positive right-side-down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from embedded_carla.handling import Handling

Float = NDArray[np.float64]
Vector3 = tuple[float, float, float]
Part = bytes | memoryview  # part of a message; a memoryview must have items of one byte


class SemanticTag(IntEnum):
    """Semantic labels of CARLA 0.9.16."""

    UNLABELED = 0
    ROADS = 1
    SIDEWALKS = 2
    BUILDINGS = 3
    WALLS = 4
    FENCES = 5
    POLES = 6
    TRAFFIC_LIGHT = 7
    TRAFFIC_SIGNS = 8
    VEGETATION = 9
    TERRAIN = 10
    SKY = 11
    PEDESTRIANS = 12
    RIDER = 13
    CAR = 14
    TRUCK = 15
    BUS = 16
    TRAIN = 17
    MOTORCYCLE = 18
    BICYCLE = 19
    STATIC = 20
    DYNAMIC = 21
    OTHER = 22
    WATER = 23
    ROAD_LINES = 24
    GROUND = 25
    BRIDGE = 26
    RAIL_TRACK = 27
    GUARD_RAIL = 28


_F32_STEP_DEG = 2.0**-16  # spacing of f32 values at 180; clients get angles as f32


def wrapped_deg(angle_deg: float) -> float:
    """The same angle in (-180, 180], also after rounding to f32: the range of Unreal's rotators."""
    if not -180.0 < angle_deg <= 180.0:
        angle_deg = 180.0 - (180.0 - angle_deg) % 360.0
    return 180.0 if angle_deg < -180.0 + _F32_STEP_DEG else angle_deg


@dataclass(frozen=True, slots=True)
class Transform:
    """A pose: metres and degrees."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    pitch_deg: float = 0.0
    yaw_deg: float = 0.0
    roll_deg: float = 0.0

    @property
    def location(self) -> Vector3:
        return (self.x, self.y, self.z)

    def matrix(self) -> Float:
        """(4, 4) local -> world, Unreal's rotation order (yaw, then pitch, then roll)."""
        cp, sp = np.cos(np.radians(self.pitch_deg)), np.sin(np.radians(self.pitch_deg))
        cy, sy = np.cos(np.radians(self.yaw_deg)), np.sin(np.radians(self.yaw_deg))
        cr, sr = np.cos(np.radians(self.roll_deg)), np.sin(np.radians(self.roll_deg))
        return np.array(
            [
                [cp * cy, cy * sp * sr - sy * cr, -cy * sp * cr - sy * sr, self.x],
                [cp * sy, sy * sp * sr + cy * cr, -sy * sp * cr + cy * sr, self.y],
                [sp, -cp * sr, cp * cr, self.z],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )

    @staticmethod
    def from_matrix(m: Float) -> Transform:
        """The inverse of `matrix`."""
        pitch = np.arcsin(np.clip(m[2, 0], -1.0, 1.0))
        yaw = np.arctan2(m[1, 0], m[0, 0])
        roll = np.arctan2(-m[2, 1], m[2, 2])
        return Transform(
            float(m[0, 3]), float(m[1, 3]), float(m[2, 3]),
            float(np.degrees(pitch)), wrapped_deg(float(np.degrees(yaw))), float(np.degrees(roll)),
        )  # fmt: skip

    def __matmul__(self, child: Transform) -> Transform:
        """The world pose of `child`, which is given relative to this pose."""
        return Transform.from_matrix(self.matrix() @ child.matrix())


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """An oriented box: centre and half sizes in the owner's frame."""

    location: Vector3 = (0.0, 0.0, 0.0)
    extent: Vector3 = (0.0, 0.0, 0.0)
    rotation_deg: Vector3 = (0.0, 0.0, 0.0)  # pitch, yaw, roll


@dataclass(frozen=True, slots=True)
class WeatherParameters:
    """CARLA's 14 weather parameters, in the order of the wire; percentages unless named otherwise."""

    cloudiness: float = 0.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 45.0
    fog_density: float = 0.0
    fog_distance: float = 0.0
    fog_falloff: float = 0.0
    wetness: float = 0.0
    scattering_intensity: float = 0.0
    mie_scattering_scale: float = 0.0
    rayleigh_scattering_scale: float = 0.0331
    dust_storm: float = 0.0

    def with_defaults(self, defaults: WeatherParameters) -> WeatherParameters:
        """Replace negative values by those of `defaults`: CARLA's `Default` preset uses -1 for "the map's own value".

        `sun_altitude_angle` may be negative and is kept.
        """
        names = self.__dataclass_fields__
        own = {n: getattr(defaults, n) for n in names if getattr(self, n) < 0 and n != "sun_altitude_angle"}
        return replace(self, **own)


@dataclass(frozen=True, slots=True)
class VehicleControl:
    """throttle, brake in [0, 1], steer in [-1, 1] positive to the right."""

    throttle: float = 0.0
    steer: float = 0.0
    brake: float = 0.0
    hand_brake: bool = False
    reverse: bool = False
    manual_gear_shift: bool = False
    gear: int = 0


@dataclass(frozen=True, slots=True)
class WalkerControl:
    """`direction` is a unit vector in the world frame, `speed` m/s."""

    direction: Vector3 = (1.0, 0.0, 0.0)
    speed: float = 0.0
    jump: bool = False


class LightState(IntEnum):
    """Vehicle lights, bit flags of CARLA's VehicleLightState."""

    NONE = 0
    POSITION = 1
    LOW_BEAM = 2
    HIGH_BEAM = 4
    BRAKE = 8
    RIGHT_BLINKER = 16
    LEFT_BLINKER = 32
    REVERSE = 64
    FOG = 128
    INTERIOR = 256
    SPECIAL1 = 512
    SPECIAL2 = 1024


class SignalColour(IntEnum):
    """State of a traffic light, with the wire's numbers."""

    RED = 0
    YELLOW = 1
    GREEN = 2
    OFF = 3
    UNKNOWN = 4


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a blueprint. `kind` names its type; `codec.ATTRIBUTE_KINDS` gives the number on the wire."""

    name: str
    kind: str  # "bool" | "int" | "float" | "string" | "color"
    default: str
    recommended: tuple[str, ...] = ()
    is_modifiable: bool = True
    restrict_to_recommended: bool = False


@dataclass(frozen=True, slots=True)
class VehicleSpec:
    """Parameters of a vehicle model for physics, collision and drawing. SI units.

    `wheelbase_m` and `rear_axle_x_m` place the axles: the actor's origin lies on the ground between the axles at x = 0,
    the front axle at rear_axle_x_m + wheelbase_m (rear_axle_x_m is negative). Far-reaching mirrors are part of `extent`
    but do not collide.
    """

    type_id: str
    tag: SemanticTag
    shape: str  # "hatchback" | "sedan" | "suv" | "pickup" | "van" | "truck" | "bus" | "motorcycle" | "bicycle" | ...
    extent: Vector3
    mass_kg: float
    wheelbase_m: float
    rear_axle_x_m: float
    track_m: float
    cog_height_m: float
    wheel_radius_m: float
    steer_max_deg: float
    power_w: float
    force_max_n: float
    brake_force_max_n: float
    drag_area_m2: float  # drag coefficient times frontal area
    top_speed_mps: float
    number_of_wheels: int = 4
    mirror_reach_m: float = 0.0  # reach of each mirror beyond the body; 0 below some cm
    handling: Handling = Handling.TYRES


@dataclass(frozen=True, slots=True)
class Blueprint:
    """An entry of the blueprint library."""

    type_id: str
    tags: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    box: BoundingBox = field(default_factory=BoundingBox)
    vehicle: VehicleSpec | None = None
