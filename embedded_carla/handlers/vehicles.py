"""Vehicles: control, physics parameters, lights, telemetry."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla import codec
from embedded_carla.handlers.registry import value, void
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
