"""RPC methods for bones and sockets of vehicles and walkers, walkers' poses, and actors' components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.handlers.bodywork import shown_angles_deg
from embedded_carla.handlers.registry import value, void
from embedded_carla.scene import F64
from embedded_carla.simulation import Simulation
from embedded_carla.types import Transform
from embedded_carla.wire import codec
from embedded_carla.world import skeleton
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.skeleton import CustomPose

_COMPONENTS = {
    ActorKind.VEHICLE: ("VehicleMesh", "VehicleBounds"),
    ActorKind.WALKER: ("CollisionCylinder", "CharacterMesh0"),
}
_OTHER_COMPONENTS = ("DefaultSceneRoot",)


# ------------------------------------------------------------ bones


def _animated(simulation: Simulation, actor: Actor) -> dict[str, F64]:
    """Bone poses in the component's frame as the physics moves them."""
    episode = simulation.episode
    if actor.kind is ActorKind.VEHICLE:
        angles = [shown_angles_deg(simulation, actor, wheel) for wheel in range(4)]
        return skeleton.vehicle_bones(episode.fleet.spec(actor.slot), angles)
    if actor.kind is ActorKind.WALKER:
        return skeleton.walker_bones(float(episode.crowd.phase_rad[actor.slot]), 2.0 * actor.box.extent[2])
    raise CommandError(f"actor {actor.actor_id} ({actor.type_id}) has no skeleton")


def _bones(simulation: Simulation, actor_id: int) -> tuple[dict[str, F64], Mapping[str, str], F64]:
    """Current bones of a vehicle or walker: (poses in the component's frame, parents, component-to-world matrix)."""
    actor = simulation.episode.actors.get(actor_id)
    poses = _animated(simulation, actor)
    world = simulation.episode.pose_of(actor).matrix()
    if actor.kind is ActorKind.VEHICLE:
        return poses, skeleton.VEHICLE_PARENTS, world
    if actor.custom_pose is not None:
        poses = skeleton.posed(poses, actor.custom_pose)
    # The component's origin is between the feet; the actor's origin is in the middle of the body.
    return poses, skeleton.WALKER_PARENTS, world @ Transform(z=-actor.box.extent[2]).matrix()


def _wire(matrix: F64) -> Any:
    return codec.transform_to_wire(Transform.from_matrix(matrix))


def _names(simulation: Simulation, actor_id: int) -> list[str]:
    return list(_bones(simulation, actor_id)[0])


def _world_transforms(simulation: Simulation, actor_id: int) -> Any:
    poses, _, world = _bones(simulation, actor_id)
    return [_wire(world @ pose) for pose in poses.values()]


def _relative_transforms(simulation: Simulation, actor_id: int) -> Any:
    """Bone transforms relative to the component, which is CARLA's meaning of "relative" here."""
    poses, _, _ = _bones(simulation, actor_id)
    return [_wire(pose) for pose in poses.values()]


# Every bone is also a socket, as in Unreal; there are no other sockets.
value("get_actor_bone_names")(_names)
value("get_actor_socket_names")(_names)
value("get_actor_bone_world_transforms")(_world_transforms)
value("get_actor_socket_world_transforms")(_world_transforms)
value("get_actor_bone_relative_transforms")(_relative_transforms)
value("get_actor_socket_relative_transforms")(_relative_transforms)


@value("get_vehicle_bone_world_transforms")
def get_vehicle_bone_world_transforms(simulation: Simulation, actor_id: int) -> Any:
    simulation.episode.vehicle(actor_id)
    return _world_transforms(simulation, actor_id)


# ------------------------------------------------------------ walkers' poses


@value("get_bones_transform")
def get_bones_transform(simulation: Simulation, actor_id: int) -> Any:
    """Every bone in the world frame, in the component's frame, and relative to its parent."""
    simulation.episode.walker(actor_id)
    poses, parents, world = _bones(simulation, actor_id)
    local = skeleton.relative(poses, parents)
    return ([(name, _wire(world @ pose), _wire(pose), _wire(local[name])) for name, pose in poses.items()],)


def _pose_of(simulation: Simulation, actor_id: int) -> CustomPose:
    walker = simulation.episode.walker(actor_id)
    if walker.custom_pose is None:
        walker.custom_pose = CustomPose()
    return walker.custom_pose


@void("set_bones_transform")
def set_bones_transform(simulation: Simulation, actor_id: int, bones: Any) -> None:
    """Set the walker's custom pose: bone transforms relative to their parents. `blend_pose` sets its weight."""
    rows = codec.items(codec.items(bones, 1, "bones")[0], 0, "bones")
    read = {}
    for row in rows:
        name, pose = codec.items(row, 2, "bone")[:2]
        if not isinstance(name, str) or name not in skeleton.WALKER_PARENTS:
            raise CommandError(f"walkers have no bone {codec.shown(name)}; get_bones() lists those there are")
        read[name] = codec.transform_from_wire(pose, "bone")
    _pose_of(simulation, actor_id).bones.update(read)


@void("blend_pose")
def blend_pose(simulation: Simulation, actor_id: int, blend: Any) -> None:
    """Set the weight of the custom pose: 0 shows the animation, 1 the custom pose."""
    _pose_of(simulation, actor_id).blend = min(max(codec.number(blend, "blend"), 0.0), 1.0)


@void("get_pose_from_animation")
def get_pose_from_animation(simulation: Simulation, actor_id: int) -> None:
    """Copy the current animation pose to the walker's custom pose."""
    walker = simulation.episode.walker(actor_id)
    local = skeleton.relative(_animated(simulation, walker), skeleton.WALKER_PARENTS)
    _pose_of(simulation, actor_id).bones = {name: Transform.from_matrix(pose) for name, pose in local.items()}


# ------------------------------------------------------------ components


def _components(actor: Actor) -> tuple[str, ...]:
    return _COMPONENTS.get(actor.kind, _OTHER_COMPONENTS)


@value("get_actor_component_names")
def get_actor_component_names(simulation: Simulation, actor_id: int) -> list[str]:
    return list(_components(simulation.episode.actors.get(actor_id)))


def _component(simulation: Simulation, actor_id: int, name: Any) -> tuple[Actor, Transform]:
    """The actor, and the component's pose relative to the actor. The first component is the root."""
    actor = simulation.episode.actors.get(actor_id)
    names = _components(actor)
    if name not in names:
        raise CommandError(
            f"actor {actor_id} ({actor.type_id}) has no component {codec.shown(name)}; it has {', '.join(names)}"
        )
    if name == "CharacterMesh0":
        return actor, Transform(z=-actor.box.extent[2])
    if name == "VehicleBounds":
        return actor, Transform(*actor.box.location, *actor.box.rotation_deg)
    return actor, Transform()


@value("get_actor_component_world_transform")
def get_actor_component_world_transform(simulation: Simulation, actor_id: int, name: str) -> Any:
    actor, local = _component(simulation, actor_id, name)
    return codec.transform_to_wire(simulation.episode.pose_of(actor) @ local)


@value("get_actor_component_relative_transform")
def get_actor_component_relative_transform(simulation: Simulation, actor_id: int, name: str) -> Any:
    """Transform relative to the component's parent; the root's parent is the world, or the actor it is attached to."""
    actor, local = _component(simulation, actor_id, name)
    if name != _components(actor)[0]:
        return codec.transform_to_wire(local)
    return codec.transform_to_wire(actor.relative if actor.parent else simulation.episode.pose_of(actor))
