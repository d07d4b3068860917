"""Binary encoding of recorder packets. For any bytes, reading either succeeds or raises `RecordingError`."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.recorder.packets import (
    ROWS,
    ActorAdded,
    ActorsAdded,
    FrameCounter,
    FrameEnd,
    FrameStart,
    Header,
    Packet,
    PacketId,
    PhysicsControl,
    PhysicsControls,
    Rows,
    Seconds,
    Unknown,
    VehicleWheels,
    WalkerBones,
    WalkersBones,
    Wheels,
)
from embedded_carla.types import Vector3

MAGIC = "CARLA_RECORDER"
MAX_TEXT_BYTES = 0xFFFF

PACKET_HEAD = struct.Struct("<BI")
_COUNT = struct.Struct("<H")
_LONG_COUNT = struct.Struct("<I")
_FRAME = struct.Struct("<Qdd")
_ADDED = struct.Struct("<IB6fI")
_PHYSICS = struct.Struct("<I5f?4f3f")
_VECTOR2, _VECTOR3, _BONE, _WHEEL_CONTROL = struct.Struct("<2f"), struct.Struct("<3f"), struct.Struct("<6f"), "<12f"
_WHEELS_OF = struct.Struct("<II")
_WHEEL = struct.Struct("<Bff")


class RecordingError(EmbeddedCarlaError):
    """A file is not a recording, or is damaged; the message says where."""


# ---------------------------------------------------------------- writing


def pack_text(text: str) -> bytes:
    """Length (u16) and UTF-8 bytes; longer text is cut to MAX_TEXT_BYTES."""
    encoded = text.encode("utf-8", "surrogateescape")[:MAX_TEXT_BYTES]
    return _COUNT.pack(len(encoded)) + encoded


def readable(text: str) -> str:
    """`text` with replacements for bytes that were not UTF-8; the wire and terminals do not accept such bytes."""
    return text.encode("utf-8", "replace").decode()


def pack_header(header: Header) -> bytes:
    return b"".join(
        (_COUNT.pack(header.version), pack_text(MAGIC), struct.pack("<q", header.date_s), pack_text(header.map_name))
    )


def pack(packet: Packet) -> bytes:
    """The bytes of a packet, with its head."""
    number, payload = _payload(packet)
    return PACKET_HEAD.pack(number, len(payload)) + payload


def pack_rows(packet: PacketId, rows: NDArray[np.void]) -> bytes:
    """Equal to `pack(Rows(packet, rows))`; a fast path for the packets of every tick."""
    payload = rows.tobytes()
    return PACKET_HEAD.pack(packet, len(payload) + _COUNT.size) + _COUNT.pack(len(rows)) + payload


def _payload(packet: Packet) -> tuple[int, bytes]:
    match packet:
        case Rows(kind, rows):
            return kind, _COUNT.pack(len(rows)) + rows.tobytes()
        case FrameStart(number, duration_s, elapsed_s):
            return PacketId.FRAME_START, _FRAME.pack(number, duration_s, elapsed_s)
        case FrameEnd():
            return PacketId.FRAME_END, b""
        case ActorsAdded(actors):
            return PacketId.ACTORS_ADDED, _counted(actors, _pack_added)
        case PhysicsControls(vehicles):
            return PacketId.PHYSICS_CONTROLS, _counted(vehicles, _pack_physics)
        case WalkersBones(walkers):
            return PacketId.WALKER_BONES, _counted(walkers, _pack_bones)
        case Wheels(wheeled):
            return PacketId.WHEELS, _counted(wheeled, _pack_wheels)
        case Seconds(kind, time_s):
            return kind, struct.pack("<d", time_s)
        case FrameCounter(frame):
            return PacketId.FRAME_COUNTER, struct.pack("<Q", frame)
        case Unknown(number, payload):
            return number, payload


def _counted(items: tuple[object, ...], pack_one: Callable[..., bytes]) -> bytes:
    return _COUNT.pack(len(items)) + b"".join(pack_one(item) for item in items)


def _pack_added(a: ActorAdded) -> bytes:
    parts = [_ADDED.pack(a.actor, a.kind, *a.location, *a.rotation, a.uid), pack_text(a.type_id)]
    parts.append(_COUNT.pack(len(a.attributes)))
    for kind, name, value in a.attributes:
        parts += [bytes((kind,)), pack_text(name), pack_text(value)]
    return b"".join(parts)


def _pack_physics(c: PhysicsControl) -> bytes:
    parts = [_PHYSICS.pack(c.actor, *c.engine, c.gear_autobox, *c.drive, *c.centre_of_mass)]
    for items, layout in (
        (c.torque_curve, "<2f"), (c.forward_gears, "<3f"), (c.steering_curve, "<2f"), (c.wheels, _WHEEL_CONTROL),
    ):  # fmt: skip
        parts.append(_LONG_COUNT.pack(len(items)))
        parts += [struct.pack(layout, *item) for item in items]
    return b"".join(parts)


def _pack_bones(w: WalkerBones) -> bytes:
    bones = b"".join(pack_text(name) + _BONE.pack(*place, *turn) for name, place, turn in w.bones)
    return struct.pack("<IH", w.actor, len(w.bones)) + bones


def _pack_wheels(v: VehicleWheels) -> bytes:
    return _WHEELS_OF.pack(v.actor, len(v.wheels)) + b"".join(_WHEEL.pack(*wheel) for wheel in v.wheels)


# ---------------------------------------------------------------- reading


class _Bytes:
    """Sequential reader of a payload."""

    def __init__(self, payload: bytes, what: str) -> None:
        self._payload = payload
        self._what = what
        self._at = 0

    def take(self, layout: struct.Struct) -> tuple[float, ...]:
        start, self._at = self._at, self._at + layout.size
        if self._at > len(self._payload):
            raise RecordingError(f"{self._what} is shorter than what it counts")
        return layout.unpack_from(self._payload, start)

    def count(self, layout: struct.Struct, least_bytes: int) -> int:
        """Read the number of items that follow. Raises RecordingError if they cannot fit at `least_bytes` each."""
        number = int(self.take(layout)[0])
        if number * least_bytes > len(self._payload) - self._at:
            raise RecordingError(f"{self._what} counts {number} items and is too short for them")
        return number

    def bytes(self, size: int) -> bytes:
        """The next `size` bytes; `count` has checked before that they exist."""
        start, self._at = self._at, self._at + size
        return self._payload[start : self._at]

    def text(self) -> str:
        return self.bytes(self.count(_COUNT, 1)).decode("utf-8", "surrogateescape")

    def list(self, layout: struct.Struct) -> tuple[tuple[float, ...], ...]:
        return tuple(self.take(layout) for _ in range(self.count(_LONG_COUNT, layout.size)))

    def end(self) -> None:
        if self._at != len(self._payload):
            raise RecordingError(f"{self._what} is {len(self._payload) - self._at} bytes longer than what it counts")


def unpack_header(read: Callable[[int], bytes]) -> Header:
    """Read the header from the file that `read` reads. Raises RecordingError when it is not a recording."""

    def exactly(size: int) -> bytes:
        data = read(size)
        if len(data) != size:
            raise RecordingError("is not a CARLA recording: it ends in its header")
        return data

    def text() -> str:
        return exactly(_COUNT.unpack(exactly(2))[0]).decode("utf-8", "surrogateescape")

    (version,) = _COUNT.unpack(exactly(2))
    if (length := _COUNT.unpack(exactly(2))[0]) != len(MAGIC) or exactly(length) != MAGIC.encode():
        raise RecordingError("is not a CARLA recording: it does not begin as one")
    (date_s,) = struct.unpack("<q", exactly(8))
    return Header(version, date_s, text())


def unpack(number: int, payload: bytes) -> Packet:
    """Decode the packet with this number. Raises RecordingError when the payload does not match the number's layout."""
    if number in _NAMES:
        packet = PacketId(number)
        if packet in ROWS:
            return Rows(packet, _unpack_rows(packet, payload))
        data = _Bytes(payload, f"a packet of {_NAMES[number]}")
        value = _READERS[packet](data)
        data.end()
        return value
    return Unknown(number, payload)


_NAMES = {packet.value: packet.name.lower().replace("_", " ") for packet in PacketId}


def _unpack_rows(packet: PacketId, payload: bytes) -> NDArray[np.void]:
    dtype = ROWS[packet]
    if len(payload) < _COUNT.size or len(payload) != _COUNT.size + _COUNT.unpack_from(payload)[0] * dtype.itemsize:
        raise RecordingError(f"a packet of {_NAMES[packet]} has {len(payload)} bytes, which is not what it counts")
    return np.frombuffer(payload, dtype, offset=_COUNT.size)


def _read_frame_start(data: _Bytes) -> FrameStart:
    number, duration_s, elapsed_s = data.take(_FRAME)
    if not (math.isfinite(duration_s) and math.isfinite(elapsed_s)):
        raise RecordingError(f"frame {number} has no finite time")
    return FrameStart(int(number), duration_s, elapsed_s)


def _read_added(data: _Bytes) -> ActorsAdded:
    actors = []
    for _ in range(data.count(_COUNT, _ADDED.size + 4)):
        actor, kind, x, y, z, roll, pitch, yaw, uid = data.take(_ADDED)
        type_id = data.text()
        attributes = []
        for _ in range(data.count(_COUNT, 5)):
            attribute = int(data.take(_BYTE)[0])
            attributes.append((attribute, data.text(), data.text()))
        place, turn = (x, y, z), (roll, pitch, yaw)
        actors.append(ActorAdded(int(actor), int(kind), place, turn, int(uid), type_id, tuple(attributes)))
    return ActorsAdded(tuple(actors))


_BYTE = struct.Struct("<B")


def _read_physics(data: _Bytes) -> PhysicsControls:
    vehicles = []
    for _ in range(data.count(_COUNT, _PHYSICS.size + 16)):
        actor, *numbers = data.take(_PHYSICS)
        vehicles.append(
            PhysicsControl(
                int(actor), tuple(numbers[:5]), bool(numbers[5]), tuple(numbers[6:10]),
                (numbers[10], numbers[11], numbers[12]),
                data.list(_VECTOR2), data.list(_VECTOR3), data.list(_VECTOR2), data.list(struct.Struct(_WHEEL_CONTROL)),
            )
        )  # fmt: skip
    return PhysicsControls(tuple(vehicles))


def _read_bones(data: _Bytes) -> WalkersBones:
    walkers = []
    for _ in range(data.count(_COUNT, 6)):
        actor = int(data.take(_LONG_COUNT)[0])
        bones: list[tuple[str, Vector3, Vector3]] = []
        for _ in range(data.count(_COUNT, 2 + _BONE.size)):
            name = data.text()
            x, y, z, roll, pitch, yaw = data.take(_BONE)
            bones.append((name, (x, y, z), (roll, pitch, yaw)))
        walkers.append(WalkerBones(actor, tuple(bones)))
    return WalkersBones(tuple(walkers))


def _read_wheels(data: _Bytes) -> Wheels:
    vehicles = []
    for _ in range(data.count(_COUNT, _WHEELS_OF.size)):
        actor = int(data.take(_LONG_COUNT)[0])
        count = data.count(_LONG_COUNT, _WHEEL.size)
        vehicles.append(VehicleWheels(actor, tuple(_WHEEL.iter_unpack(data.bytes(count * _WHEEL.size)))))
    return Wheels(tuple(vehicles))


_READERS: dict[PacketId, Callable[[_Bytes], Packet]] = {
    PacketId.FRAME_START: _read_frame_start,
    PacketId.FRAME_END: lambda _: FrameEnd(),
    PacketId.ACTORS_ADDED: _read_added,
    PacketId.PHYSICS_CONTROLS: _read_physics,
    PacketId.WALKER_BONES: _read_bones,
    PacketId.WHEELS: _read_wheels,
    PacketId.PLATFORM_TIME: lambda data: Seconds(PacketId.PLATFORM_TIME, data.take(struct.Struct("<d"))[0]),
    PacketId.VISUAL_TIME: lambda data: Seconds(PacketId.VISUAL_TIME, data.take(struct.Struct("<d"))[0]),
    PacketId.FRAME_COUNTER: lambda data: FrameCounter(int(data.take(struct.Struct("<Q"))[0])),
}
