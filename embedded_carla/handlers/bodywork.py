"""RPC methods for vehicle doors and wheel angles."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.world.actors import Actor
from embedded_carla.world.vehicles.doors import DOOR_COUNT, frames_of
from embedded_carla.world.vehicles.handling import STEER_SHARE

ALL_DOORS = DOOR_COUNT
_FRONT_WHEELS, _WHEEL_COUNT = (0, 1), 4


def _doors(actor: Actor, door: Any) -> int:
    """Bit mask of the doors that `door` names.

    Raises CommandError for an unknown door, one that the vehicle does not have, or a vehicle without doors that open.
    """
    number, frames = codec.integer(door, "door"), frames_of(actor)
    if not frames:
        raise CommandError(f"{actor.type_id} has no doors that open; see the blueprint attribute has_dynamic_doors")
    if not 0 <= number <= ALL_DOORS:
        raise CommandError(f"door {number}: allowed are 0 to {DOOR_COUNT - 1}, and {ALL_DOORS} for all")
    if number == ALL_DOORS:
        return sum(1 << own for own in frames)
    if number not in frames:
        raise CommandError(f"{actor.type_id} has no door {number}; it has {', '.join(map(str, frames))}")
    return 1 << number


@void("open_vehicle_door")
def open_vehicle_door(simulation: Simulation, actor_id: int, door: int) -> None:
    actor = simulation.episode.vehicle(actor_id)
    simulation.episode.doors.set(actor, actor.doors | _doors(actor, door))


@void("close_vehicle_door")
def close_vehicle_door(simulation: Simulation, actor_id: int, door: int) -> None:
    actor = simulation.episode.vehicle(actor_id)
    simulation.episode.doors.set(actor, actor.doors & ~_doors(actor, door))


def _wheel(simulation: Simulation, actor_id: int, wheel: Any) -> tuple[Actor, int]:
    actor, number = simulation.episode.vehicle(actor_id), codec.integer(wheel, "wheel")
    if not 0 <= number < _WHEEL_COUNT:
        raise CommandError(f"wheel {number}: allowed are 0 to {_WHEEL_COUNT - 1}")
    return actor, number


def physical_angles_deg(simulation: Simulation, actor: Actor, wheel: int) -> tuple[float, float]:
    """(steer, rotation about the axle) of a wheel in the physics, degrees; the rotation lies within [0, 360)."""
    fleet = simulation.episode.fleet
    steer = math.degrees(float(fleet.steer_rad[actor.slot])) / STEER_SHARE if wheel in _FRONT_WHEELS else 0.0
    return steer, math.degrees(float(fleet.wheel_phase_rad[actor.slot]))


def shown_angles_deg(simulation: Simulation, actor: Actor, wheel: int) -> tuple[float, float]:
    """The angles that a client has set while the vehicle's physics is off, otherwise the physical angles."""
    physical = physical_angles_deg(simulation, actor, wheel)
    return physical if simulation.episode.fleet.physics[actor.slot] else actor.wheel_angles_deg.get(wheel, physical)


@value("get_wheel_steer_angle")
def get_wheel_steer_angle(simulation: Simulation, actor_id: int, wheel: int) -> float:
    """Steering angle of a wheel, degrees, positive to the right."""
    return shown_angles_deg(simulation, *_wheel(simulation, actor_id, wheel))[0]


@value("get_wheel_pitch_angle")
def get_wheel_pitch_angle(simulation: Simulation, actor_id: int, wheel: int) -> float:
    """Rotation of a wheel about its axle, degrees, positive forwards."""
    return shown_angles_deg(simulation, *_wheel(simulation, actor_id, wheel))[1]


@void("set_wheel_steer_direction")
def set_wheel_steer_direction(simulation: Simulation, actor_id: int, wheel: int, angle: Any) -> None:
    """Set a wheel's steering angle. As in CARLA this is visual only, and only for a vehicle whose physics is off."""
    actor, number = _wheel(simulation, actor_id, wheel)
    _require_no_physics(simulation, actor)
    pitch = shown_angles_deg(simulation, actor, number)[1]
    actor.wheel_angles_deg[number] = (codec.number(angle, "wheel angle", -codec.MOST_DEG, codec.MOST_DEG), pitch)


@void("set_wheel_pitch_angle")
def set_wheel_pitch_angle(simulation: Simulation, actor_id: int, wheel: int, angle: Any) -> None:
    """Set a wheel's rotation about its axle, under the conditions of `set_wheel_steer_direction`."""
    actor, number = _wheel(simulation, actor_id, wheel)
    _require_no_physics(simulation, actor)
    steer = shown_angles_deg(simulation, actor, number)[0]
    actor.wheel_angles_deg[number] = (steer, codec.number(angle, "wheel angle", -codec.MOST_DEG, codec.MOST_DEG))


def _require_no_physics(simulation: Simulation, actor: Actor) -> None:
    if simulation.episode.fleet.physics[actor.slot]:
        raise CommandError(
            f"vehicle {actor.actor_id}: its wheels follow its physics; set_simulate_physics(False) first"
        )
