"""RPC methods for vehicles: control, physics parameters, lights, telemetry."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.wire import codec
from embedded_carla.world.actors import ActorKind
from embedded_carla.world.vehicles import kernel, physics_control, physics_limits
from embedded_carla.world.vehicles.bank import AIR_DENSITY_KGPM3
from embedded_carla.world.vehicles.motion import FORWARD_N, NORMAL_N, RIGHT_N, SLIP_ANGLE, SLIP_RATIO, SPIN
from embedded_carla.world.vehicles.physics_control import NOMINAL_FRICTION


@void("apply_control_to_vehicle")
def apply_control_to_vehicle(simulation: Simulation, actor_id: int, control: Any) -> None:
    episode = simulation.episode
    episode.control_vehicle(episode.vehicle(actor_id), codec.vehicle_control_from_wire(control))


@value("get_physics_control")
def get_physics_control(simulation: Simulation, actor_id: int) -> Any:
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    fleet, slot = episode.fleet, actor.slot
    told = physics_control.to_wire(fleet.spec(slot), episode.pose_of(actor), actor.physics_control)
    if fleet.friction_scale[slot] == 1.0:
        return told
    friction = float(NOMINAL_FRICTION * fleet.friction_scale[slot])  # of the friction trigger that the vehicle is in
    return (*told[:15], [(friction, *wheel[1:]) for wheel in told[15]], *told[16:])


@void("apply_physics_control")
def apply_physics_control(simulation: Simulation, actor_id: int, control: Any) -> None:
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    control = physics_limits.checked(control)
    fleet, slot = episode.fleet, actor.slot
    spec = physics_control.changed_spec(fleet.spec(slot), control)
    chassis, drivetrain = physics_control.changed_chassis(spec, control), physics_control.drivetrain(control)
    friction, curve = physics_control.axle_friction(control), physics_control.steering_curve(control)
    fleet.set_spec(slot, spec, chassis)
    fleet.set_drivetrain(slot, drivetrain)
    fleet.set_steer_curve(slot, curve)
    fleet.axle_friction[slot] = friction
    actor.physics_control = control


@value("get_vehicle_light_state")
def get_vehicle_light_state(simulation: Simulation, actor_id: int) -> Any:
    return (simulation.episode.vehicle(actor_id).lights,)


@void("set_vehicle_light_state")
def set_vehicle_light_state(simulation: Simulation, actor_id: int, state: Any) -> None:
    """The state arrives as CARLA's one-field struct, or in a batch as the bare flags."""
    flags = state[0] if isinstance(state, (list, tuple)) and state else state
    simulation.episode.vehicle(actor_id).lights = codec.integer(flags, "vehicle light state") & 0xFFFFFFFF


@value("get_vehicle_light_states")
def get_vehicle_light_states(simulation: Simulation) -> Any:
    return [(a.actor_id, a.lights) for a in simulation.episode.actors.of_kind(ActorKind.VEHICLE)]


@value("get_telemetry_data")
def get_telemetry_data(simulation: Simulation, actor_id: int) -> Any:
    """State of the last physics step in N, N m, rad/s.

    Four wheels for two-wheelers too, as in their physics control.
    """
    episode = simulation.episode
    actor = episode.vehicle(actor_id)
    fleet, slot = episode.fleet, actor.slot
    control, spec = fleet.control(slot), fleet.spec(slot)
    speed = float(math.hypot(*fleet.velocity[slot]))
    wheels = [_wheel_telemetry(simulation, slot, wheel) for wheel in range(4)]
    rpm, gear = float(fleet.engine_radps[slot]) * 60.0 / math.tau, int(fleet.gear[slot])
    return (
        speed, control.steer, control.throttle, control.brake, rpm, gear,
        0.5 * AIR_DENSITY_KGPM3 * spec.drag_area_m2 * speed**2, wheels,
    )  # fmt: skip


def _wheel_telemetry(simulation: Simulation, slot: int, wheel: int) -> tuple[float, ...]:
    fleet = simulation.episode.fleet
    spec, row = fleet.spec(slot), fleet.wheels[slot, wheel]
    axle = 0 if wheel < 2 else 1
    front_share = -spec.rear_axle_x_m / spec.wheelbase_m
    at_rest = spec.mass_kg * kernel.GRAVITY_MPS2 * (front_share if axle == 0 else 1.0 - front_share) / 2
    along, aside = float(row[FORWARD_N]), float(row[RIGHT_N])
    scale = fleet.friction[slot] * fleet.axle_friction[slot, axle] * fleet.friction_scale[slot]
    friction = float(NOMINAL_FRICTION * scale)
    load = float(row[NORMAL_N])
    return (
        friction, float(row[SLIP_ANGLE]), float(row[SLIP_RATIO]), float(row[SPIN]), load,
        load / at_rest, along * spec.wheel_radius_m, along, aside, abs(along) / at_rest, abs(aside) / at_rest,
    )  # fmt: skip


@void("show_vehicle_debug_telemetry")
def show_vehicle_debug_telemetry(simulation: Simulation, actor_id: int, _enabled: bool) -> None:
    """Check the actor only: the server has no screen."""
    simulation.episode.vehicle(actor_id)


@void("set_actor_autopilot")
def set_actor_autopilot(simulation: Simulation, actor_id: int, enabled: bool) -> None:
    """Mark the vehicle as driven by a client's TrafficManager: without a new control it keeps its last one."""
    episode = simulation.episode
    episode.loose_controls.set_autopilot(episode.vehicle(actor_id), bool(enabled))


@void("restore_physx_physics")
def restore_physx_physics(simulation: Simulation, actor_id: int) -> None:
    """Check the actor only: vehicles always have the server's own physics."""
    simulation.episode.vehicle(actor_id)
