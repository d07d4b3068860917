"""Conversion between the msgpack arrays of CARLA's RPC wire and the server's dataclasses.

Every `*_from_wire` raises `CommandError` on a value of the wrong shape. As in CARLA, arrays may be longer than needed
and floats may be sent as ints. The layouts are those of CARLA 0.9.16.
"""

from __future__ import annotations

import reprlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.types import (
    BoundingBox,
    Transform,
    Vector3,
    VehicleControl,
    WalkerControl,
    WeatherParameters,
    wrapped_deg,
)

Wire = Any  # what msgpack packs: None, bool, int, float, str, bytes, list, tuple

ATTRIBUTE_KINDS = {"bool": 1, "int": 2, "float": 3, "string": 4, "color": 5}
"""Type number on the wire of each attribute kind."""


@dataclass(frozen=True, slots=True)
class ActorDescription:
    """A client's description of an actor to spawn: `attributes` is (name, kind number, value) in the client's order."""

    uid: int
    type_id: str
    attributes: tuple[tuple[str, int, str], ...]

    def value(self, name: str, default: str = "") -> str:
        return next((value for key, _, value in self.attributes if key == name), default)


@dataclass(frozen=True, slots=True)
class EpisodeSettings:
    """carla.WorldSettings; defaults are CARLA's."""

    synchronous_mode: bool = False
    no_rendering_mode: bool = False
    fixed_delta_seconds: float | None = None
    substepping: bool = True
    max_substep_delta_time: float = 0.01
    max_substeps: int = 10
    max_culling_distance: float = 0.0
    deterministic_ragdolls: bool = True
    tile_stream_distance: float = 3000.0
    actor_active_distance: float = 2000.0
    spectator_as_ego: bool = True


LARGEST = 3.0e38
"""Largest magnitude that fits into the f32 that clients receive."""

FARTHEST_M = 1.0e6
"""Largest coordinate, m: 1,000 km from the map's origin."""

MOST_DEG = 1.0e6
"""Largest magnitude of an angle in a rotation, degrees."""
FASTEST_MPS, FASTEST_DEGPS = 1.0e3, 1.0e5
STRONGEST = 1.0e9
"""Largest force (N), impulse (N s), torque or angular impulse that a client may apply."""

U8, U32 = 0xFF, 0xFFFFFFFF
MOST_TEXT = 4096
"""Largest number of characters of a name or an attribute."""

MOST_ATTRIBUTES, MOST_DESCRIPTION = 256, 16_384
"""Largest number of attributes of one actor, and largest number of characters of all of them together."""

MOST_GEAR = 100
FASTEST_WALKER_MPS = 100.0
MOST_WEATHER = 1.0e5
SHORTEST_STEP_S, LONGEST_STEP_S = 1e-5, 10.0  # CARLA's own LiDAR example uses 3 s
MOST_SUBSTEPS = 1000


class _Shortener(reprlib.Repr):
    def repr_bytes(self, value: bytes, _level: int) -> str:
        return repr(value[: self.maxstring])


_short = _Shortener()
_short.maxlevel, _short.maxlist, _short.maxtuple, _short.maxstring, _short.maxother = 3, 4, 4, 60, 60


def shown(value: Wire) -> str:
    """`value` in at most 80 characters, however large or deep it is."""
    return f"{_short.repr(value):.80}"


def items(value: Wire, count: int, what: str, most: int | None = None) -> Sequence[Any]:
    """`value` as a sequence of at least `count` items and at most `most`, else CommandError naming `what`."""
    if not isinstance(value, (list, tuple)) or len(value) < count:
        raise CommandError(f"{what}: expected an array of {count} values, got {shown(value)}")
    if most is not None and len(value) > most:
        raise CommandError(f"{what}: {len(value)} values; at most {most} are allowed")
    return value


def number(value: Wire, what: str, low: float = -LARGEST, high: float = LARGEST) -> float:
    """A finite number from `low` to `high`, else CommandError naming `what`."""
    if type(value) is float and low <= value <= high:  # fast path: this runs for every field of every control
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LARGEST <= value <= LARGEST:
        raise CommandError(f"{what}: expected a finite number, got {shown(value)}")
    if not low <= value <= high:
        raise CommandError(f"{what} is {value:g}; it must lie in {low:g} to {high:g}")
    return float(value)


def integer(value: Wire, what: str, low: int | None = None, high: int | None = None) -> int:
    """An integer, from `low` to `high` where they are given, else CommandError naming `what`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise CommandError(f"{what}: expected an integer, got {shown(value)}")
    if (low is not None and value < low) or (high is not None and value > high):
        raise CommandError(f"{what} is {value}; it must lie in {low} to {high}")
    return value


def text(value: Wire, what: str, most: int = MOST_TEXT) -> str:
    """Text of at most `most` characters that is valid UTF-8, so that every client can read it; else CommandError."""
    if not isinstance(value, str):
        raise CommandError(f"{what}: expected text, got {shown(value)}")
    if len(value) > most:
        raise CommandError(f"{what}: {len(value)} characters; at most {most} are allowed")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise CommandError(f"{what}: {shown(value)} is not UTF-8") from error
    return value


def vector_from_wire(value: Wire, what: str = "vector", most: float = LARGEST) -> Vector3:
    """Three numbers from -`most` to `most`."""
    x, y, z = items(value, 3, what)[:3]
    return (number(x, what, -most, most), number(y, what, -most, most), number(z, what, -most, most))


def location_from_wire(value: Wire, what: str = "location") -> Vector3:
    """A position or displacement in metres."""
    return vector_from_wire(value, what, FARTHEST_M)


def transform_from_wire(value: Wire, what: str = "transform") -> Transform:
    location, rotation = items(value, 2, what)[:2]
    x, y, z = location_from_wire(location, what)
    pitch, yaw, roll = vector_from_wire(rotation, what, MOST_DEG)
    return Transform(x, y, z, pitch, wrapped_deg(yaw), roll)


def transform_to_wire(t: Transform) -> Wire:
    return ((t.x, t.y, t.z), (t.pitch_deg, t.yaw_deg, t.roll_deg))


def box_to_wire(box: BoundingBox, actor_id: int = 0) -> Wire:
    return (box.location, box.extent, box.rotation_deg, actor_id)


def description_from_wire(value: Wire) -> ActorDescription:
    uid, type_id, attributes = items(value, 3, "actor description")[:3]
    read = []
    for attribute in items(attributes, 0, "actor description's attributes", MOST_ATTRIBUTES):
        name, kind, content = items(attribute, 3, "actor attribute")[:3]
        name = text(name, "actor attribute's name")
        read.append((name, integer(kind, f"kind of attribute {name}", 0, U8), text(content, f"attribute {name}")))
    if sum(len(name) + len(content) for name, _, content in read) > MOST_DESCRIPTION:
        raise CommandError(f"actor description: more than {MOST_DESCRIPTION} characters of attributes")
    return ActorDescription(integer(uid, "actor description", 0, U32), text(type_id, "type id"), tuple(read))


def description_to_wire(d: ActorDescription) -> Wire:
    return (d.uid, d.type_id, d.attributes)


def _cut(share: float, low: float) -> float:
    return low if share < low else 1.0 if share > 1.0 else share


def vehicle_control_from_wire(value: Wire) -> VehicleControl:
    """Read a vehicle control; out-of-range values are clamped, as CARLA does."""
    throttle, steer, brake, hand_brake, reverse, manual, gear = items(value, 7, "vehicle control")[:7]
    return VehicleControl(
        _cut(number(throttle, "throttle"), 0.0),
        _cut(number(steer, "steer"), -1.0),
        _cut(number(brake, "brake"), 0.0),
        bool(hand_brake),
        bool(reverse),
        bool(manual),
        integer(gear, "gear", -MOST_GEAR, MOST_GEAR),
    )


def walker_control_from_wire(value: Wire) -> WalkerControl:
    direction, speed, jump = items(value, 3, "walker control")[:3]
    pace = number(speed, "walker speed", -FASTEST_WALKER_MPS, FASTEST_WALKER_MPS)
    return WalkerControl(vector_from_wire(direction, "walker direction", FARTHEST_M), pace, bool(jump))


def weather_from_wire(value: Wire) -> WeatherParameters:
    names = WeatherParameters.__dataclass_fields__
    values = zip(names, items(value, 14, "weather"), strict=False)
    return WeatherParameters(*(number(v, name, -MOST_WEATHER, MOST_WEATHER) for name, v in values))


def weather_to_wire(w: WeatherParameters) -> Wire:
    return tuple(getattr(w, name) for name in w.__dataclass_fields__)


def optional_from_wire(value: Wire, what: str) -> Wire | None:
    present = items(value, 1, what)
    return items(value, 2, what)[1] if present[0] else None


def optional_to_wire(value: Wire | None) -> Wire:
    return (False,) if value is None else (True, value)


def settings_from_wire(value: Wire) -> EpisodeSettings:
    v = items(value, 11, "episode settings")
    delta = optional_from_wire(v[2], "fixed_delta_seconds")
    fixed = None if delta is None else number(delta, "fixed_delta_seconds")
    if fixed is not None and fixed <= 0.0:  # CARLA's client sends 0 for "variable"
        fixed = None
    if fixed is not None and not SHORTEST_STEP_S <= fixed <= LONGEST_STEP_S:
        raise CommandError(
            f"fixed_delta_seconds is {fixed:g} s; allowed are {SHORTEST_STEP_S:g} to {LONGEST_STEP_S:g}, and 0 for none"
        )
    return EpisodeSettings(
        bool(v[0]), bool(v[1]), fixed, bool(v[3]), number(v[4], "max_substep_delta_time", 0.0, LONGEST_STEP_S),
        integer(v[5], "max_substeps", 0, MOST_SUBSTEPS), number(v[6], "max_culling_distance"), bool(v[7]),
        number(v[8], "tile_stream_distance"), number(v[9], "actor_active_distance"), bool(v[10]),
    )  # fmt: skip


def settings_to_wire(s: EpisodeSettings) -> Wire:
    return (
        s.synchronous_mode, s.no_rendering_mode, optional_to_wire(s.fixed_delta_seconds), s.substepping,
        s.max_substep_delta_time, s.max_substeps, s.max_culling_distance, s.deterministic_ragdolls,
        s.tile_stream_distance, s.actor_active_distance, s.spectator_as_ego,
    )  # fmt: skip


def token(stream_id: int, port: int) -> bytes:
    """A stream's address: the stream id and TCP port; the client uses the host that it is already connected to."""
    return struct.pack("<IHBB16x", stream_id, port, 1, 0)
