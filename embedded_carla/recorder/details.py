"""Text of each packet for `show_recorder_file_info`, in CARLA's layout (its metrics tools parse these lines)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from embedded_carla.recorder.packets import (
    ActorAdded,
    FrameCounter,
    Packet,
    PacketId,
    PhysicsControl,
    PhysicsControls,
    Rows,
    Seconds,
    WalkersBones,
)
from embedded_carla.types import LightState, WeatherParameters

Lines = Iterator[str]
Row = tuple[Any, ...]

_LAMPS = (
    ("Position", LightState.POSITION), ("LowBeam", LightState.LOW_BEAM), ("HighBeam", LightState.HIGH_BEAM),
    ("Brake", LightState.BRAKE), ("RightBlinker", LightState.RIGHT_BLINKER), ("LeftBlinker", LightState.LEFT_BLINKER),
    ("Reverse", LightState.REVERSE), ("Interior", LightState.INTERIOR), ("Fog", LightState.FOG),
    ("Special1", LightState.SPECIAL1), ("Special2", LightState.SPECIAL2),
)  # fmt: skip
_DOORS = ("Front Left", "Front Right", "Rear Left", "Rear Right", "Hood", "Trunk", "All")
_WEATHER = tuple(WeatherParameters.__dataclass_fields__)


def vector(values: Any) -> str:
    return "(" + ", ".join(f"{v:g}" for v in values) + ")"


def created(event: ActorAdded) -> Lines:
    yield f" Create {event.actor}: {event.type_id} ({event.kind}) at {vector(event.location)}"
    for _, name, value in event.attributes:
        yield f"  {name} = {value}"


def _collision(row: Row) -> str:
    number, actor, other, actor_is_hero, other_is_hero = row
    first = f"{actor} (hero) " if actor_is_hero else f"{actor}"
    second = f"{other} (hero) " if other_is_hero else f"{other}"
    return f" Collision id {number} between {first} with {second}"


def _vehicle(row: Row) -> str:
    actor, steer, throttle, brake, hand_brake, gear = row
    return (
        f"  Id: {actor} Steering: {steer:g} Throttle: {throttle:g} Brake: {brake:g} Handbrake: {hand_brake:d} "
        f"Gear: {gear}"
    )


def _vehicle_lights(row: Row) -> str:
    lit = [name for name, flag in _LAMPS if row[1] & flag]
    return f"  Id: {row[0]} {' '.join(lit) or 'None'}"


def _scene_light(row: Row) -> str:
    light, intensity, colour, on, _ = row
    return f"  Id: {light} enabled: {bool(on)} intensity: {intensity:g} RGB_color: {vector(colour[:3])}"


def _door(row: Row) -> str:
    actor, door, is_open = row
    name = _DOORS[door] if door < len(_DOORS) else str(door)
    return f"  Id: {actor}\n  Doors {'opened' if is_open else 'closed'}:  {name} "


def _box(row: Row) -> str:
    return f"  Id: {row[0]} origin: {vector(row[1])} extension: {vector(row[2])}"


EVENTS: dict[PacketId, Callable[[Row], str]] = {
    PacketId.ACTORS_REMOVED: lambda row: f" Destroy {row[0]}",
    PacketId.PARENTS: lambda row: f" Parenting {row[0]} with {row[1]} (parent)",
    PacketId.COLLISIONS: _collision,
}
"""Packets whose rows are always shown, with the function that prints a row."""

_DETAILS: dict[PacketId, tuple[str, Callable[[Row], str]]] = {
    PacketId.POSITIONS: (
        "Positions",
        lambda row: f"  Id: {row[0]} Location: {vector(row[1])} Rotation: {vector(row[2])}",
    ),
    PacketId.LIGHT_STATES: (
        "State traffic lights",
        lambda row: f"  Id: {row[0]} state: {row[3]} frozen: {row[1]:d} elapsedTime: {row[2]:g}",
    ),
    PacketId.VEHICLE_CONTROLS: ("Vehicle animations", _vehicle),
    PacketId.WALKER_SPEEDS: ("Walker animations", lambda row: f"  Id: {row[0]} speed: {row[1]:g}"),
    PacketId.VEHICLE_DOORS: ("Vehicle door animations", _door),
    PacketId.VEHICLE_LIGHTS: ("Vehicle light animations", _vehicle_lights),
    PacketId.SCENE_LIGHTS: ("Scene light changes", _scene_light),
    PacketId.KINEMATICS: (
        "Dynamic actors",
        lambda row: f"  Id: {row[0]} linear_velocity: {vector(row[1])} angular_velocity: {vector(row[2])}",
    ),
    PacketId.BOUNDING_BOXES: ("Actor bounding boxes", _box),
    PacketId.TRIGGER_VOLUMES: ("Actor trigger volumes", _box),
    PacketId.LIGHT_TIMES: (
        "Traffic Light time events",
        lambda row: f"  Id: {row[0]} green_time: {row[1]:g} yellow_time: {row[2]:g} red_time: {row[3]:g}",
    ),
    PacketId.WEATHER: (
        "Weather",
        lambda row: "  " + " ".join(f"{name}: {v:g}" for name, v in zip(_WEATHER, row[0], strict=True)),
    ),
}


def details(packet: Packet) -> Lines:
    """The lines of a packet that are shown only with `show_all`; none for packets that CARLA never shows."""
    match packet:
        case Rows(kind, rows) if kind in _DETAILS:
            title, line = _DETAILS[kind]
            yield f" {title}: {len(rows)}"
            yield from map(line, rows.tolist())
        case Seconds(PacketId.PLATFORM_TIME, time_s):
            yield f" Current platform time: {time_s:g}"
        case PhysicsControls(vehicles):
            yield f" Physics Control events: {len(vehicles)}"
            for control in vehicles:
                yield from _physics(control)
        case WalkersBones(walkers):
            yield f" Walkers Bones: {len(walkers)}"
            for walker in walkers:
                yield f"  Id: {walker.actor}"
                for name, place, turn in walker.bones:
                    yield f'     Bone: "{name}" relative: Loc{vector(place)} Rot{vector(turn)}'
            yield ""
        case FrameCounter(frame):
            yield f" Frame counter: {frame}"


def _physics(c: PhysicsControl) -> Lines:
    yield f"  Id: {c.actor}"
    names = ("max_rpm", "MOI", "damping_rate_full_throttle", "damping_rate_zero_throttle_clutch_engaged",
             "damping_rate_zero_throttle_clutch_disengaged")  # fmt: skip
    for name, value in zip(names, c.engine, strict=True):
        yield f"   {name} = {value:g}"
    yield f"   use_gear_auto_box = {'true' if c.gear_autobox else 'false'}"
    for name, value in zip(("clutch_strength", "final_ratio", "mass", "drag_coefficient"), c.drive, strict=True):
        yield f"   {name} = {value:g}"
    yield f"   center_of_mass = {vector(c.centre_of_mass)}"
    yield "   torque_curve =" + "".join(f" {vector(point)}" for point in c.torque_curve)
    yield "   steering_curve =" + "".join(f" {vector(point)}" for point in c.steering_curve)
    yield "   forward_gears:"
    for i, (ratio, down, up) in enumerate(c.forward_gears):
        yield f"    gear {i}: ratio {ratio:g} down_ratio {down:g} up_ratio {up:g}"
    yield "   wheels:"
    for i, w in enumerate(c.wheels):
        yield (
            f"    wheel {i}: tire_friction {w[0]:g} damping_rate {w[1]:g} max_steer_angle {w[2]:g} radius {w[3]:g} "
            f"max_brake_torque {w[4]:g} max_handbrake_torque {w[5]:g} position {vector(w[9:12])}"
        )
