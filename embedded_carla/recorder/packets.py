"""The packets of a recording as typed values.

The format is version 1 of CARLA's recorder, with the packets of 0.9.16 (source: Docs/ref_recorder_binary_file_format.md
of CARLA, and recordings of CARLA servers). Lengths are in centimetres and angles in degrees, as in Unreal; rotations
are roll, pitch, yaw. Packets with rows of fixed size are numpy structured arrays, since each tick has a row per actor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import Vector3

NO_ACTOR = 0xFFFFFFFF
"""The `other` of a collision with scenery."""


class PacketId(IntEnum):
    FRAME_START = 0
    FRAME_END = 1
    ACTORS_ADDED = 2
    ACTORS_REMOVED = 3
    PARENTS = 4
    COLLISIONS = 5
    POSITIONS = 6
    LIGHT_STATES = 7
    VEHICLE_CONTROLS = 8
    WALKER_SPEEDS = 9
    VEHICLE_LIGHTS = 10
    SCENE_LIGHTS = 11
    KINEMATICS = 12
    BOUNDING_BOXES = 13
    PLATFORM_TIME = 14
    PHYSICS_CONTROLS = 15
    LIGHT_TIMES = 16
    TRIGGER_VOLUMES = 17
    FRAME_COUNTER = 18
    WALKER_BONES = 19
    VISUAL_TIME = 20
    VEHICLE_DOORS = 21
    WHEELS = 22
    BIKERS = 23
    WEATHER = 24
    """Only in versions after 0.9.16; it is read, but not written or replayed."""


class ActorType(IntEnum):
    """The `kind` of `ActorAdded`."""

    OTHER = 0
    VEHICLE = 1
    WALKER = 2
    TRAFFIC_LIGHT = 3
    TRAFFIC_SIGN = 4
    SENSOR = 5


_BOX = np.dtype([("actor", "<u4"), ("origin", "<f4", (3,)), ("extent", "<f4", (3,))])

ROWS: dict[PacketId, np.dtype[np.void]] = {
    PacketId.ACTORS_REMOVED: np.dtype([("actor", "<u4")]),
    PacketId.PARENTS: np.dtype([("actor", "<u4"), ("parent", "<u4")]),
    PacketId.COLLISIONS: np.dtype(
        [("number", "<u4"), ("actor", "<u4"), ("other", "<u4"), ("actor_is_hero", "u1"), ("other_is_hero", "u1")]
    ),
    PacketId.POSITIONS: np.dtype([("actor", "<u4"), ("location", "<f4", (3,)), ("rotation", "<f4", (3,))]),
    PacketId.LIGHT_STATES: np.dtype([("actor", "<u4"), ("frozen", "u1"), ("elapsed_s", "<f4"), ("colour", "u1")]),
    PacketId.VEHICLE_CONTROLS: np.dtype(
        [
            ("actor", "<u4"), ("steer", "<f4"), ("throttle", "<f4"), ("brake", "<f4"), ("hand_brake", "u1"),
            ("gear", "<i4"),
        ]
    ),
    PacketId.WALKER_SPEEDS: np.dtype([("actor", "<u4"), ("speed", "<f4")]),
    PacketId.VEHICLE_LIGHTS: np.dtype([("actor", "<u4"), ("lights", "<u4")]),
    PacketId.SCENE_LIGHTS: np.dtype(
        [("light", "<i4"), ("intensity", "<f4"), ("colour", "<f4", (4,)), ("on", "u1"), ("group", "u1")]
    ),
    PacketId.KINEMATICS: np.dtype(
        [("actor", "<u4"), ("velocity", "<f4", (3,)), ("angular_velocity", "<f4", (3,))]  # m/s, deg/s
    ),
    PacketId.BOUNDING_BOXES: _BOX,
    PacketId.LIGHT_TIMES: np.dtype([("actor", "<u4"), ("green_s", "<f4"), ("yellow_s", "<f4"), ("red_s", "<f4")]),
    PacketId.TRIGGER_VOLUMES: _BOX,
    PacketId.VEHICLE_DOORS: np.dtype([("actor", "<u4"), ("door", "u1"), ("open", "u1")]),
    PacketId.BIKERS: np.dtype([("actor", "<u4"), ("speed", "<f4"), ("engine", "<f4")]),
    PacketId.WEATHER: np.dtype([("parameters", "<f4", (14,))]),
}  # fmt: skip
"""Row layout of each packet that consists of a count (u16) and this number of rows."""


@dataclass(frozen=True, slots=True)
class Header:
    """The file header; `date_s` counts from 1970."""

    version: int
    date_s: int
    map_name: str


@dataclass(frozen=True, slots=True)
class FrameStart:
    """Start of a frame.

    `elapsed_s` counts from the first frame; `duration_s` is the time to the next frame, -1 in the last.
    """

    number: int
    duration_s: float
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class FrameEnd:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A packet of `ROWS`: a structured array of that dtype."""

    packet: PacketId
    rows: NDArray[np.void]


@dataclass(frozen=True, slots=True)
class ActorAdded:
    """A new actor; `attributes` are (type number, name, value), where a type number is one less than on the wire.

    The location of an attached actor is relative to its parent, except for actors that existed when the recording
    began.
    """

    actor: int
    kind: int
    location: Vector3
    rotation: Vector3
    uid: int
    type_id: str
    attributes: tuple[tuple[int, str, str], ...]

    def value(self, name: str, default: str = "") -> str:
        return next((value for _, key, value in self.attributes if key == name), default)


@dataclass(frozen=True, slots=True)
class ActorsAdded:
    actors: tuple[ActorAdded, ...]


@dataclass(frozen=True, slots=True)
class PhysicsControl:
    """CARLA's VehiclePhysicsControl of one vehicle, without gear switch time and sweep.

    `engine` is max_rpm, moment of inertia and three damping rates; `drive` is clutch strength, final ratio, mass and
    drag coefficient; `wheels` are 12 numbers each, the last three the position.
    """

    actor: int
    engine: tuple[float, ...]
    gear_autobox: bool
    drive: tuple[float, ...]
    centre_of_mass: Vector3
    torque_curve: tuple[tuple[float, ...], ...]
    forward_gears: tuple[tuple[float, ...], ...]
    steering_curve: tuple[tuple[float, ...], ...]
    wheels: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class PhysicsControls:
    vehicles: tuple[PhysicsControl, ...]


@dataclass(frozen=True, slots=True)
class WalkerBones:
    """`bones` are (name, location, rotation) relative to the parent bone."""

    actor: int
    bones: tuple[tuple[str, Vector3, Vector3], ...]


@dataclass(frozen=True, slots=True)
class WalkersBones:
    walkers: tuple[WalkerBones, ...]


@dataclass(frozen=True, slots=True)
class VehicleWheels:
    """Wheels of one vehicle as (wheel number, steering angle, rotation of the tyre)."""

    actor: int
    wheels: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, slots=True)
class Wheels:
    vehicles: tuple[VehicleWheels, ...]


@dataclass(frozen=True, slots=True)
class Seconds:
    """PLATFORM_TIME (real time since the recording began) or VISUAL_TIME (simulation time)."""

    packet: PacketId
    time_s: float


@dataclass(frozen=True, slots=True)
class FrameCounter:
    frame: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """A packet of a later version, kept undecoded."""

    number: int
    payload: bytes


Packet = (
    FrameStart | FrameEnd | Rows | ActorsAdded | PhysicsControls | WalkersBones | Wheels | Seconds | FrameCounter
    | Unknown
)  # fmt: skip
