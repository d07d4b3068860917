"""Structs of CARLA's RPC wire (msgpack arrays) to and from the server's dataclasses.

Every `*_from_wire` raises `CommandError` on a value of the wrong shape; arrays may be longer than needed (CARLA's
own rule). Floats may come as ints. Layouts are CARLA 0.9.16's.
"""

from __future__ import annotations

import math
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
)

Wire = Any  # what msgpack packs: None, bool, int, float, str, bytes, list, tuple

ATTRIBUTE_KINDS = {"bool": 1, "int": 2, "float": 3, "string": 4, "color": 5}
ATTRIBUTE_NAMES = {number: name for name, number in ATTRIBUTE_KINDS.items()}


@dataclass(frozen=True, slots=True)
class ActorDescription:
    """What a client asks to spawn: `attributes` is (name, kind number, value) in the client's order."""

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


def items(value: Wire, count: int, what: str) -> Sequence[Any]:
    """`value` as a sequence of at least `count` items, else CommandError naming `what`."""
    if not isinstance(value, (list, tuple)) or len(value) < count:
        raise CommandError(f"{what}: expected an array of {count} values, got {value!r:.80}")
    return value


def number(value: Wire, what: str) -> float:
    """A finite number."""
    if type(value) is float and math.isfinite(value):  # nearly always: this is called for every field of every control
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise CommandError(f"{what}: expected a finite number, got {value!r:.80}")
    return float(value)


def integer(value: Wire, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CommandError(f"{what}: expected an integer, got {value!r:.80}")
    return value


def vector_from_wire(value: Wire, what: str = "vector") -> Vector3:
    x, y, z = items(value, 3, what)[:3]
    return (number(x, what), number(y, what), number(z, what))


def transform_from_wire(value: Wire, what: str = "transform") -> Transform:
    location, rotation = items(value, 2, what)[:2]
    x, y, z = vector_from_wire(location, what)
    pitch, yaw, roll = vector_from_wire(rotation, what)
    return Transform(x, y, z, pitch, yaw, roll)


def transform_to_wire(t: Transform) -> Wire:
    return ((t.x, t.y, t.z), (t.pitch_deg, t.yaw_deg, t.roll_deg))


def box_to_wire(box: BoundingBox, actor_id: int = 0) -> Wire:
    return (box.location, box.extent, box.rotation_deg, actor_id)


def description_from_wire(value: Wire) -> ActorDescription:
    uid, type_id, attributes = items(value, 3, "actor description")[:3]
    if not isinstance(type_id, str):
        raise CommandError(f"actor description: the type id is not text: {type_id!r:.80}")
    read = []
    for attribute in items(attributes, 0, "actor description's attributes"):
        name, kind, text = items(attribute, 3, "actor attribute")[:3]
        if not isinstance(name, str) or not isinstance(text, str):
            raise CommandError(f"actor attribute: name and value must be text, got {attribute!r:.80}")
        read.append((name, integer(kind, name), text))
    return ActorDescription(integer(uid, "actor description"), type_id, tuple(read))


def description_to_wire(d: ActorDescription) -> Wire:
    return (d.uid, d.type_id, d.attributes)


def _cut(share: float, low: float) -> float:
    return low if share < low else 1.0 if share > 1.0 else share


def vehicle_control_from_wire(value: Wire) -> VehicleControl:
    """Out-of-range values are clamped, as CARLA does."""
    throttle, steer, brake, hand_brake, reverse, manual, gear = items(value, 7, "vehicle control")[:7]
    return VehicleControl(
        _cut(number(throttle, "throttle"), 0.0),
        _cut(number(steer, "steer"), -1.0),
        _cut(number(brake, "brake"), 0.0),
        bool(hand_brake),
        bool(reverse),
        bool(manual),
        integer(gear, "gear"),
    )


def vehicle_control_to_wire(c: VehicleControl) -> Wire:
    return (c.throttle, c.steer, c.brake, c.hand_brake, c.reverse, c.manual_gear_shift, c.gear)


def walker_control_from_wire(value: Wire) -> WalkerControl:
    direction, speed, jump = items(value, 3, "walker control")[:3]
    return WalkerControl(vector_from_wire(direction, "walker direction"), number(speed, "walker speed"), bool(jump))


def weather_from_wire(value: Wire) -> WeatherParameters:
    return WeatherParameters(*(number(v, "weather") for v in items(value, 14, "weather")[:14]))


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
    if fixed is not None and fixed > 1.0:
        raise CommandError(f"fixed_delta_seconds is {fixed:g} s; allowed is more than 0 and at most 1")
    return EpisodeSettings(
        bool(v[0]), bool(v[1]), fixed, bool(v[3]), number(v[4], "max_substep_delta_time"),
        integer(v[5], "max_substeps"), number(v[6], "max_culling_distance"), bool(v[7]),
        number(v[8], "tile_stream_distance"), number(v[9], "actor_active_distance"), bool(v[10]),
    )  # fmt: skip


def settings_to_wire(s: EpisodeSettings) -> Wire:
    return (
        s.synchronous_mode, s.no_rendering_mode, optional_to_wire(s.fixed_delta_seconds), s.substepping,
        s.max_substep_delta_time, s.max_substeps, s.max_culling_distance, s.deterministic_ragdolls,
        s.tile_stream_distance, s.actor_active_distance, s.spectator_as_ego,
    )  # fmt: skip


def token(stream_id: int, port: int) -> bytes:
    """A stream's address: TCP, on the host that the client already talks to."""
    return struct.pack("<IHBB16x", stream_id, port, 1, 0)
