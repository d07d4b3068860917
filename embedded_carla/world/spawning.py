"""Spawns and destroys actors."""

from __future__ import annotations

from dataclasses import replace

from embedded_carla.blueprints import LIBRARY
from embedded_carla.blueprints.props import TREES
from embedded_carla.errors import CommandError
from embedded_carla.sensors.settings import check_attributes
from embedded_carla.types import Blueprint, BoundingBox, SemanticTag, Transform
from embedded_carla.wire.codec import ATTRIBUTE_KINDS, ActorDescription
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.attributes import check_values
from embedded_carla.world.episode import Episode
from embedded_carla.world.spring_arm import Attachment, SpringArm

WIDEST_TRIGGER_M = 10_000.0
MOST_ACTORS = 10_000
SPAWN_COLLISION = "Spawn failed because of collision at spawn position"
CLIENT_SIDE_SENSORS = ("sensor.other.lane_invasion",)  # computed by the client, so such an actor has no stream

_KINDS = (
    ("vehicle.", ActorKind.VEHICLE),
    ("walker.", ActorKind.WALKER),
    ("sensor.", ActorKind.SENSOR),
    ("controller.", ActorKind.CONTROLLER),
    ("static.", ActorKind.PROP),
    ("util.", ActorKind.PROP),
)


def spawn(
    episode: Episode, description: ActorDescription, pose: Transform, parent: Actor | None = None,
    *, attachment: Attachment = Attachment.RIGID, replayed_id: int | None = None,
) -> Actor:  # fmt: skip
    """Spawn an actor; with a `parent`, `pose` is relative to it and `attachment` says how it is held.

    With `replayed_id` the actor stands for one of a recording: it gets that id, and is placed even where it overlaps
    others. Raises CommandError if there is no such blueprint or attribute value, or if something is in the way.
    """
    blueprint = LIBRARY.get(description.type_id)
    if blueprint is None:
        raise CommandError(f"no blueprint {description.type_id!r}; get_blueprint_library() lists those there are")
    if replayed_id is None and len(episode.actors) >= MOST_ACTORS:  # replays have their own bound
        raise CommandError(f"there are {len(episode.actors)} actors; at most {MOST_ACTORS} are allowed")
    description = complete(description, blueprint)
    check_values(description, blueprint)
    kind = next(kind for prefix, kind in _KINDS if description.type_id.startswith(prefix))
    world_pose = pose if parent is None else episode.pose_of(parent) @ pose
    box = _box(blueprint, description)
    may_overlap = replayed_id is not None or kind not in (ActorKind.VEHICLE, ActorKind.WALKER)
    if not may_overlap and episode.contacts.is_occupied(box, world_pose, blueprint):
        raise CommandError(SPAWN_COLLISION)
    actor = Actor(
        next(episode.actor_ids) if replayed_id is None else replayed_id,
        kind, description, box, world_pose,
        tag=_tag(kind, blueprint), blueprint=blueprint, parent=parent, relative=pose if parent else Transform(),
    )  # fmt: skip
    if parent is not None and attachment is not Attachment.RIGID:
        actor.arm = SpringArm.to(pose, attachment)
        actor.relative = Transform(0.0, 0.0, 0.0, pose.pitch_deg, pose.yaw_deg, pose.roll_deg)
        actor.pose = episode.hung(actor, episode.pose_of(parent), 0.0)
    if kind is ActorKind.SENSOR:
        check_attributes(actor)
    _embody(episode, actor)
    episode.register(actor)
    if parent is not None:
        parent.children.append(actor)
    return actor


def destroy(episode: Episode, actor_id: int) -> bool:
    """Remove an actor; actors attached to it stay where they are.

    Returns False if there is none with this id or if it belongs to the map (spectator, light or sign).
    """
    actor = episode.actors.find(actor_id)
    if actor is None:
        return False
    if actor.kind in (ActorKind.SPECTATOR, ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN):
        return False
    for child in actor.children:
        child.parent = None
    if actor.parent is not None:
        actor.parent.children.remove(actor)
    if actor.kind is ActorKind.VEHICLE:
        episode.ackermann.forget(actor)
        episode.loose_controls.forget(actor)
        episode.fleet.remove(actor.slot)
    elif actor.kind is ActorKind.WALKER:
        episode.crowd.remove(actor.slot)
    episode.unregister(actor)
    return True


def _embody(episode: Episode, actor: Actor) -> None:
    if actor.kind in (ActorKind.VEHICLE, ActorKind.WALKER):
        episode.add_body(actor)
        if actor.kind is ActorKind.VEHICLE:
            episode.loose_controls.add(actor)
    elif actor.kind is ActorKind.SENSOR and actor.type_id not in CLIENT_SIDE_SENSORS:
        actor.stream_id = next(episode.stream_ids)


def complete(description: ActorDescription, blueprint: Blueprint) -> ActorDescription:
    """The description with every attribute of the blueprint: the client's value if given, else the default."""
    given = {name: value for name, _, value in description.attributes}
    rows = [(a.name, ATTRIBUTE_KINDS[a.kind], given.pop(a.name, a.default)) for a in blueprint.attributes]
    kept = [(name, kind, value) for name, kind, value in description.attributes if name in given]
    return replace(description, attributes=tuple(rows + kept))


def _box(blueprint: Blueprint, description: ActorDescription) -> BoundingBox:
    if blueprint.type_id != "static.trigger.friction":
        return blueprint.box
    # CARLA gives these extents in centimetres.
    x, y, z = (float(description.value(f"extent_{axis}", "500")) / 100 for axis in "xyz")
    if not all(0.0 <= v <= WIDEST_TRIGGER_M for v in (x, y, z)):
        raise CommandError(f"static.trigger.friction: extents must lie in 0 to {100 * WIDEST_TRIGGER_M:g} cm")
    return BoundingBox((0.0, 0.0, 0.0), (x, y, z))


def _tag(kind: ActorKind, blueprint: Blueprint) -> SemanticTag:
    if blueprint.vehicle is not None:
        return blueprint.vehicle.tag
    if blueprint.type_id in TREES:
        return SemanticTag.VEGETATION
    return {
        ActorKind.WALKER: SemanticTag.PEDESTRIANS,
        ActorKind.PROP: SemanticTag.DYNAMIC,
    }.get(kind, SemanticTag.UNLABELED)
