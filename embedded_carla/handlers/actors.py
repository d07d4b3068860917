"""RPC methods for actors of every kind: spawn, destroy, teleport, apply forces."""

from __future__ import annotations

import math
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.types import BoundingBox, Transform, Vector3
from embedded_carla.wire import codec
from embedded_carla.world import spawning
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.spring_arm import Attachment


@value("get_actors_by_id")
def get_actors_by_id(simulation: Simulation, ids: list[int]) -> Any:
    wanted = [codec.integer(actor_id, "actor id") for actor_id in codec.items(ids, 0, "actor ids")]
    found = (simulation.episode.actors.find(actor_id) for actor_id in dict.fromkeys(wanted))
    return [actor.to_wire(simulation.stream_port) for actor in found if actor is not None]


@value("spawn_actor")
def spawn_actor(simulation: Simulation, description: Any, pose: Any) -> Any:
    actor = spawn(simulation, description, pose, None)
    return actor.to_wire(simulation.stream_port)


@value("spawn_actor_with_parent")
def spawn_actor_with_parent(
    simulation: Simulation, description: Any, pose: Any, parent: int, attachment: Any = 0, *_socket: Any
) -> Any:
    """Spawn an actor attached to a parent. The socket is ignored: actors attach to the parent's origin only."""
    actor = spawn(simulation, description, pose, parent, attachment)
    return actor.to_wire(simulation.stream_port)


def spawn(simulation: Simulation, description: Any, pose: Any, parent_id: int | None, attachment: Any = 0) -> Actor:
    """Spawn an actor.

    `attachment` is read only when there is a parent: without one the client sends uninitialised memory.
    """
    episode = simulation.episode
    parent, how = (
        (None, Attachment.RIGID)
        if not parent_id
        else (episode.actors.get(codec.integer(parent_id, "parent")), _attachment(attachment))
    )
    actor = spawning.spawn(
        episode, codec.description_from_wire(description), codec.transform_from_wire(pose, "spawn pose"), parent,
        attachment=how,
    )  # fmt: skip
    simulation.sensors.prepare(actor, rendering=not simulation.settings.no_rendering_mode)
    return actor


def _attachment(number: Any) -> Attachment:
    try:
        return Attachment(number)
    except ValueError as error:
        allowed = ", ".join(f"{kind.value} ({kind.name.lower()})" for kind in Attachment)
        raise CommandError(f"attachment type {codec.shown(number)}: allowed are {allowed}") from error


@value("destroy_actor")
def destroy_actor(simulation: Simulation, actor_id: int) -> bool:
    if not spawning.destroy(simulation.episode, actor_id):
        raise CommandError(f"unable to destroy actor {actor_id}: it does not exist or belongs to the map")
    return True


@value("get_actor_bounding_box")
def get_actor_bounding_box(simulation: Simulation, actor_id: int) -> Any:
    """A zero box for an unknown actor: an error would go uncaught in the client's TrafficManager and end the client."""
    actor = simulation.episode.actors.find(actor_id)
    return codec.box_to_wire(BoundingBox() if actor is None else actor.box, actor_id)


@void("set_actor_location")
def set_actor_location(simulation: Simulation, actor_id: int, location: Any) -> None:
    episode = simulation.episode
    actor = episode.actors.get(actor_id)
    x, y, z = codec.location_from_wire(location)
    old = actor.relative if actor.parent is not None else episode.pose_of(actor)
    episode.teleport(actor, Transform(x, y, z, old.pitch_deg, old.yaw_deg, old.roll_deg))


@void("set_actor_transform")
def set_actor_transform(simulation: Simulation, actor_id: int, pose: Any) -> None:
    episode = simulation.episode
    episode.teleport(episode.actors.get(actor_id), codec.transform_from_wire(pose))


@void("set_actor_target_velocity")
def set_actor_target_velocity(simulation: Simulation, actor_id: int, velocity: Any) -> None:
    episode = simulation.episode
    actor, wanted = episode.moving(actor_id), codec.vector_from_wire(velocity, "velocity", codec.FASTEST_MPS)
    if actor.kind is ActorKind.VEHICLE:
        episode.fleet.set_velocity(actor.slot, wanted)
    else:
        episode.crowd.set_velocity(actor.slot, wanted)


@void("set_actor_target_angular_velocity")
def set_actor_target_angular_velocity(simulation: Simulation, actor_id: int, velocity: Any) -> None:
    episode = simulation.episode
    wanted = codec.vector_from_wire(velocity, "angular velocity", codec.FASTEST_DEGPS)
    episode.fleet.set_angular_velocity_degps(episode.vehicle(actor_id).slot, wanted)


@void("enable_actor_constant_velocity")
def enable_actor_constant_velocity(simulation: Simulation, actor_id: int, velocity: Any) -> None:
    episode = simulation.episode
    episode.fleet.hold_velocity(
        episode.vehicle(actor_id).slot, codec.vector_from_wire(velocity, "velocity", codec.FASTEST_MPS)
    )


@void("disable_actor_constant_velocity")
def disable_actor_constant_velocity(simulation: Simulation, actor_id: int) -> None:
    episode = simulation.episode
    episode.fleet.hold_velocity(episode.vehicle(actor_id).slot, None)


@void("add_actor_impulse")
def add_actor_impulse(simulation: Simulation, actor_id: int, impulse: Any) -> None:
    """Apply an impulse, N s, at the centre of mass."""
    episode = simulation.episode
    episode.fleet.add_impulse(
        episode.vehicle(actor_id).slot, codec.vector_from_wire(impulse, "impulse", codec.STRONGEST)
    )


@void("add_actor_impulse_at_location")
def add_actor_impulse_at_location(simulation: Simulation, actor_id: int, impulse: Any, at: Any) -> None:
    """Apply an impulse, N s, at a world location; off the centre of mass it also turns the body about the vertical."""
    episode = simulation.episode
    slot, push = episode.vehicle(actor_id).slot, codec.vector_from_wire(impulse, "impulse", codec.STRONGEST)
    episode.fleet.add_impulse(slot, push)
    episode.fleet.add_angular_impulse(slot, (0.0, 0.0, _moment(simulation, slot, push, at)))


@void("add_actor_force")
def add_actor_force(simulation: Simulation, actor_id: int, force: Any) -> None:
    """Apply a force, N, at the centre of mass during the next step."""
    episode = simulation.episode
    episode.fleet.add_force(episode.vehicle(actor_id).slot, codec.vector_from_wire(force, "force", codec.STRONGEST))


@void("add_actor_force_at_location")
def add_actor_force_at_location(simulation: Simulation, actor_id: int, force: Any, at: Any) -> None:
    """Apply a force, N, at a world location during the next step."""
    episode = simulation.episode
    slot, push = episode.vehicle(actor_id).slot, codec.vector_from_wire(force, "force", codec.STRONGEST)
    episode.fleet.add_force(slot, push)
    episode.fleet.add_torque(slot, (0.0, 0.0, _moment(simulation, slot, push, at)))


def _moment(simulation: Simulation, slot: int, push: Vector3, at: Any) -> float:
    """Moment about the vertical through the vehicle's origin of the force or impulse `push` at a world location."""
    x, y, _ = codec.location_from_wire(at)
    origin = simulation.episode.fleet.location[slot]
    return float((x - origin[0]) * push[1] - (y - origin[1]) * push[0])


_CARLA_TURN = math.radians(1.0) * 1e-4
"""N m s in one unit of CARLA's angular impulses: Unreal uses kg cm^2/s, and degrees."""

_STRONGEST_TURN = codec.STRONGEST / _CARLA_TURN


@void("add_actor_angular_impulse")
def add_actor_angular_impulse(simulation: Simulation, actor_id: int, impulse: Any) -> None:
    """Apply an angular impulse in CARLA's unit (see `_CARLA_TURN`); only its vertical component acts."""
    episode = simulation.episode
    x, y, z = codec.vector_from_wire(impulse, "angular impulse", _STRONGEST_TURN)
    turn = (x * _CARLA_TURN, y * _CARLA_TURN, z * _CARLA_TURN)
    episode.fleet.add_angular_impulse(episode.vehicle(actor_id).slot, turn)


@void("add_actor_torque")
def add_actor_torque(simulation: Simulation, actor_id: int, torque: Any) -> None:
    """Apply a torque during the next step, in the unit of `add_actor_angular_impulse` per second."""
    episode = simulation.episode
    x, y, z = codec.vector_from_wire(torque, "torque", _STRONGEST_TURN)
    turn = (x * _CARLA_TURN, y * _CARLA_TURN, z * _CARLA_TURN)
    episode.fleet.add_torque(episode.vehicle(actor_id).slot, turn)


@void("set_actor_simulate_physics")
def set_actor_simulate_physics(simulation: Simulation, actor_id: int, enabled: bool) -> None:
    """Switch the physics of a vehicle or walker. Other actors have no physics; for them the call does nothing.

    As in CARLA, a change of a vehicle's physics closes its doors.
    """
    episode = simulation.episode
    actor = episode.actors.get(actor_id)
    if actor.kind is ActorKind.VEHICLE:
        if bool(episode.fleet.physics[actor.slot]) != bool(enabled):
            episode.doors.close_all(actor)
        episode.fleet.set_physics(actor.slot, bool(enabled))
    elif actor.kind is ActorKind.WALKER:
        episode.crowd.set_physics(actor.slot, bool(enabled))


@void("set_actor_enable_gravity")
def set_actor_enable_gravity(simulation: Simulation, actor_id: int, enabled: bool) -> None:
    episode = simulation.episode
    actor = episode.actors.get(actor_id)
    if actor.kind is ActorKind.VEHICLE:
        episode.fleet.gravity[actor.slot] = bool(enabled)
    elif actor.kind is ActorKind.WALKER:
        episode.crowd.gravity[actor.slot] = bool(enabled)


@void("set_actor_collisions")
def set_actor_collisions(simulation: Simulation, actor_id: int, enabled: bool) -> None:
    simulation.episode.actors.get(actor_id).collides = bool(enabled)
    simulation.episode.contacts.forget_roster()


@void("set_actor_dead")
def set_actor_dead(simulation: Simulation, actor_id: int) -> None:
    """Switch off the actor's physics, so that it no longer moves by itself."""
    set_actor_simulate_physics(simulation, actor_id, False)
