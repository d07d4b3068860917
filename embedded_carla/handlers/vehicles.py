"""Vehicles: control, physics parameters, lights, telemetry, doors and wheels."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla import codec
from embedded_carla.handlers.registry import refusal, value, void
from embedded_carla.simulation import Simulation
from embedded_carla.world import physics_control
from embedded_carla.world.actors import ActorKind


@void("apply_control_to_vehicle")
def apply_control_to_vehicle(simulation: Simulation, actor_id: int, control: Any) -> None:
    episode = simulation.episode
    episode.control_vehicle(episode.vehicle(actor_id), codec.vehicle_control_from_wire(control))


@value("get_physics_control")
def get_physics_control(simulation: Simulation, actor_id: int) -> Any:
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    return physics_control.to_wire(episode.fleet.spec(actor.slot), episode.pose_of(actor), actor.physics_control)


@void("apply_physics_control")
def apply_physics_control(simulation: Simulation, actor_id: int, control: Any) -> None:
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    spec = physics_control.changed_spec(episode.fleet.spec(actor.slot), control)
    episode.fleet.set_spec(actor.slot, spec)
    episode.fleet.friction[actor.slot] = physics_control.friction_factor(control)
    actor.physics_control = control


@value("get_vehicle_light_state")
def get_vehicle_light_state(simulation: Simulation, actor_id: int) -> Any:
    return (simulation.episode.vehicle(actor_id).lights,)


@void("set_vehicle_light_state")
def set_vehicle_light_state(simulation: Simulation, actor_id: int, state: Any) -> None:
    """The state comes as CARLA's one-field struct, or as the bare flags in a batch."""
    flags = state[0] if isinstance(state, (list, tuple)) and state else state
    simulation.episode.vehicle(actor_id).lights = codec.integer(flags, "vehicle light state") & 0xFFFFFFFF


@value("get_vehicle_light_states")
def get_vehicle_light_states(simulation: Simulation) -> Any:
    return [(a.actor_id, a.lights) for a in simulation.episode.actors.of_kind(ActorKind.VEHICLE)]


@value("get_telemetry_data")
def get_telemetry_data(simulation: Simulation, actor_id: int) -> Any:
    """Speed, controls and the wheels' turn; the tyres' loads and forces are not kept by the physics and read 0."""
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    fleet, slot = episode.fleet, actor.slot
    control, spec = fleet.control(slot), fleet.spec(slot)
    speed = float(math.hypot(*fleet.velocity[slot]))
    wheel = (float(fleet.friction[slot]), 0.0, 0.0, speed / spec.wheel_radius_m, *(0.0,) * 7)
    return (
        speed, control.steer, control.throttle, control.brake, 0.0, int(fleet.gear[slot]),
        0.5 * 1.2 * spec.drag_area_m2 * speed**2, [wheel] * spec.number_of_wheels,
    )  # fmt: skip


@void("show_vehicle_debug_telemetry")
def show_vehicle_debug_telemetry(simulation: Simulation, actor_id: int, _enabled: bool) -> None:
    """There is no screen to show it on."""
    simulation.episode.vehicle(actor_id)


@void("set_actor_autopilot")
def set_actor_autopilot(simulation: Simulation, actor_id: int, _enabled: bool) -> None:
    """The TrafficManager in the client drives; the server has nothing to switch."""
    simulation.episode.vehicle(actor_id)


@void("open_vehicle_door")
def open_vehicle_door(simulation: Simulation, actor_id: int, _door: int) -> None:
    """Bodies have no doors of their own; the call is accepted for the scripts that make it."""
    simulation.episode.vehicle(actor_id)


void("close_vehicle_door")(open_vehicle_door)


@value("get_wheel_steer_angle")
def get_wheel_steer_angle(simulation: Simulation, actor_id: int, wheel: int) -> float:
    """Degrees; front wheels (0 and 1) steer."""
    episode = simulation.episode
    slot = episode.vehicle(actor_id).slot
    return math.degrees(float(episode.fleet.steer_rad[slot])) if wheel in (0, 1) else 0.0


@value("get_wheel_pitch_angle")
def get_wheel_pitch_angle(simulation: Simulation, actor_id: int, _wheel: int) -> float:
    episode = simulation.episode
    return math.degrees(float(episode.fleet.wheel_phase_rad[episode.vehicle(actor_id).slot]))


@void("set_wheel_steer_direction")
def set_wheel_steer_direction(simulation: Simulation, actor_id: int, _wheel: int, _angle: Any) -> None:
    """Only for show in CARLA (the wheels' look, not their physics); accepted and not drawn."""
    simulation.episode.vehicle(actor_id)


void("set_wheel_pitch_angle")(set_wheel_steer_direction)


@void("apply_ackermann_control_to_vehicle")
def apply_ackermann_control_to_vehicle(simulation: Simulation, actor_id: int, _control: Any) -> None:
    simulation.episode.vehicle(actor_id)
    raise refusal("Ackermann control")
