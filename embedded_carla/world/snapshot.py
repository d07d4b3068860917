"""Snapshot of the episode as it goes over the wire each tick: one record of 119 bytes per actor."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.types import SignalColour, Transform, VehicleControl, WalkerControl
from embedded_carla.world.actors import Actor

RECORD_BYTES = 119
_MOTION_OFFSET = 5
_STATE_OFFSET = 65
_ROAD_OFFSET = 84
_BASE = [
    ("id", "<u4"),
    ("state", "u1"),
    ("location", "<f4", (3,)),
    ("rotation", "<f4", (3,)),
    ("velocity", "<f4", (3,)),
    ("angular_velocity", "<f4", (3,)),
    ("acceleration", "<f4", (3,)),
]
VEHICLE_RECORD = np.dtype(
    [
        *_BASE,
        ("throttle", "<f4"),
        ("steer", "<f4"),
        ("brake", "<f4"),
        ("hand_brake", "u1"),
        ("reverse", "u1"),
        ("manual_gear_shift", "u1"),
        ("gear", "<i4"),
        ("speed_limit", "<f4"),
        ("traffic_light_state", "u1"),
        ("has_traffic_light", "u1"),
        ("traffic_light_id", "<u4"),
        ("failure", "u1"),
        ("pad", "V24"),
    ]
)
WALKER_RECORD = np.dtype([*_BASE, ("direction", "<f4", (3,)), ("speed", "<f4"), ("jump", "u1"), ("pad", "V37")])
LIGHT_RECORD = np.dtype(
    [
        *_BASE,
        ("sign_id", "S32"),
        ("green_s", "<f4"),
        ("yellow_s", "<f4"),
        ("red_s", "<f4"),
        ("elapsed_s", "<f4"),
        ("pole_index", "<u4"),
        ("frozen", "u1"),
        ("colour", "u1"),
    ]
)
ACTIVE = 1
MAP_CHANGED = 1
LIGHTS_CHANGED = 2

_SENSOR_HEADER = struct.Struct("<QQd6f")
_EPISODE_HEADER = struct.Struct("<Qdf3iI")
_WORLD_OBSERVER = 17
_CONTROL = struct.Struct("<fffBBBi")
CONTROL_RECORD = np.dtype(
    [
        ("throttle", "<f4"),
        ("steer", "<f4"),
        ("brake", "<f4"),
        ("hand_brake", "u1"),
        ("reverse", "u1"),
        ("manual_gear_shift", "u1"),
        ("gear", "<i4"),
    ]
)
ROAD_RECORD = np.dtype(
    [("speed_limit", "<f4"), ("traffic_light_state", "u1"), ("has_traffic_light", "u1"), ("traffic_light_id", "<u4")]
)
"""The part of a vehicle's record that the road determines: speed limit and traffic light."""

assert CONTROL_RECORD.names is not None
_CONTROL_FIELDS = CONTROL_RECORD.names
_WALKER = struct.Struct("<ffffB")
_POSE = struct.Struct("<6f")


def sensor_header(sensor_type: int, frame: int, time_s: float, pose: Transform) -> bytes:
    """Header of every message of a sensor's stream: 48 bytes."""
    return _SENSOR_HEADER.pack(
        sensor_type, frame, time_s, pose.x, pose.y, pose.z, pose.pitch_deg, pose.yaw_deg, pose.roll_deg
    )


class SnapshotTable:
    """Records of all actors, contiguous. `vehicles`, `walkers` and `lights` are views of the same bytes by field.

    The views may be replaced whenever an actor is added: read the attributes anew each time.
    """

    def __init__(self) -> None:
        self._bytes = bytearray(64 * RECORD_BYTES)
        self._actors: list[Actor] = []
        self._make_views()

    def _make_views(self) -> None:
        self.vehicles: NDArray[np.void] = np.frombuffer(self._bytes, VEHICLE_RECORD)
        self.walkers: NDArray[np.void] = np.frombuffer(self._bytes, WALKER_RECORD)
        self.lights: NDArray[np.void] = np.frombuffer(self._bytes, LIGHT_RECORD)
        self._motion: NDArray[np.float32] = self._part(_MOTION_OFFSET, np.dtype(("<f4", (15,))))
        self._controls: NDArray[np.void] = self._part(_STATE_OFFSET, np.dtype("V19"))
        self._strides: NDArray[np.float32] = self._part(_STATE_OFFSET, np.dtype(("<f4", (4,))))
        self._roads: NDArray[np.void] = self._part(_ROAD_OFFSET, np.dtype("V10"))

    def _part(self, offset: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """View of neighbouring bytes in all records: writing them at once costs less than field by field."""
        record = np.dtype({"names": ["part"], "formats": [kind], "offsets": [offset], "itemsize": RECORD_BYTES})
        part: NDArray[Any] = np.frombuffer(self._bytes, record)["part"]
        return part

    def __len__(self) -> int:
        return len(self._actors)

    def add(self, actor: Actor) -> None:
        """Give the actor a record at its present pose, at rest."""
        actor.row = len(self._actors)
        self._actors.append(actor)
        if len(self._actors) * RECORD_BYTES > len(self._bytes):
            self._bytes = self._bytes + bytearray(len(self._bytes))
            self._make_views()
        start = actor.row * RECORD_BYTES
        self._bytes[start : start + RECORD_BYTES] = bytes(RECORD_BYTES)
        record = self.vehicles[actor.row]
        record["id"], record["state"] = actor.actor_id, ACTIVE
        self.place(actor)

    def remove(self, actor: Actor) -> None:
        """Remove the actor's record; the last record moves into the gap."""
        last = self._actors.pop()
        if last is not actor:
            source, target = last.row * RECORD_BYTES, actor.row * RECORD_BYTES
            self._bytes[target : target + RECORD_BYTES] = self._bytes[source : source + RECORD_BYTES]
            self._actors[actor.row] = last
            last.row = actor.row
        actor.row = -1

    def place(self, actor: Actor) -> None:
        """Write the actor's pose."""
        p = actor.pose
        _POSE.pack_into(self._bytes, actor.row * RECORD_BYTES + 5, p.x, p.y, p.z, p.pitch_deg, p.yaw_deg, p.roll_deg)

    def write_vehicle_control(self, row: int, c: VehicleControl) -> None:
        _CONTROL.pack_into(
            self._bytes, row * RECORD_BYTES + _STATE_OFFSET,
            c.throttle, c.steer, c.brake, c.hand_brake, c.reverse, c.manual_gear_shift, c.gear,
        )  # fmt: skip

    def write_vehicle_controls(self, rows: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        """`write_vehicle_control` for many; `values` (n, 7) in the order of the control's fields."""
        controls = np.empty(len(values), CONTROL_RECORD)
        for field, column in zip(_CONTROL_FIELDS, values.T, strict=True):
            controls[field] = column
        self._controls[rows] = controls.view("V19")

    def write_motion(self, rows: NDArray[np.intp], motion: NDArray[np.float32]) -> None:
        """Write the motion of the bodies in `rows`; wraps yaw in place.

        `motion` (n, 15): location, rotation, velocity, angular velocity and acceleration.
        """
        yaw_deg = motion[:, 4]
        outside = (yaw_deg <= -180.0) | (yaw_deg > 180.0)
        if outside.any():  # as `wrapped_deg`
            yaw_deg[outside] = 180.0 - (180.0 - yaw_deg[outside]) % 360.0
        self._motion[rows] = motion

    def write_road(self, rows: NDArray[np.intp], road: NDArray[np.void]) -> None:
        """Write `road` (n,) of ROAD_RECORD to the vehicles in `rows`."""
        self._roads[rows] = road.view("V10")

    def write_walker_control(self, row: int, c: WalkerControl) -> None:
        _WALKER.pack_into(self._bytes, row * RECORD_BYTES + _STATE_OFFSET, *c.direction, c.speed, c.jump)

    def write_walker_strides(
        self, rows: NDArray[np.intp], yaw_deg: NDArray[np.float64], speed_mps: NDArray[np.float64]
    ) -> None:
        """Write the controls of walkers that walk straight ahead."""
        yaw_rad = np.radians(yaw_deg)
        strides = np.zeros((len(yaw_rad), 4), dtype=np.float32)
        strides[:, 0], strides[:, 1], strides[:, 3] = np.cos(yaw_rad), np.sin(yaw_rad), speed_mps
        self._strides[rows] = strides
        self.walkers["jump"][rows] = 0

    def write_sign(self, row: int, signal_id: str) -> None:
        self.lights["sign_id"][row] = signal_id.encode()[:31]

    def write_light(
        self, row: int, times_s: tuple[float, float, float], elapsed_s: float, pole: int, frozen: bool,
        colour: SignalColour,
    ) -> None:  # fmt: skip
        """Write a light's record; `times_s` is (green, yellow, red)."""
        start = row * RECORD_BYTES + _STATE_OFFSET + 32
        struct.pack_into("<ffffIBB", self._bytes, start, *times_s, elapsed_s, pole, frozen, colour)

    def message(
        self, episode_id: int, frame: int, time_s: float, platform_s: float, delta_s: float, map_changed: bool,
        lights_changed: bool = False,
    ) -> bytes:  # fmt: skip
        """The whole message of stream 1; `lights_changed` makes clients fetch the street lamps' states again."""
        flags = (MAP_CHANGED if map_changed else 0) | (LIGHTS_CHANGED if lights_changed else 0)
        return b"".join(
            (
                sensor_header(_WORLD_OBSERVER, frame, time_s, Transform()),
                _EPISODE_HEADER.pack(episode_id, platform_s, delta_s, 0, 0, 0, flags),
                memoryview(self._bytes)[: len(self._actors) * RECORD_BYTES],
            )
        )
