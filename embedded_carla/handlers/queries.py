"""RPC methods that query the scene (environment objects, bounding boxes, rays), and map layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from embedded_carla.handlers.registry import value, void
from embedded_carla.simulation import Simulation
from embedded_carla.types import BoundingBox, SemanticTag, Transform
from embedded_carla.wire import codec
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.environment import ANY_LABEL

MOST_DISTANCE_M = 10_000.0
_BODIES = (ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.PROP)


@value("get_environment_objects")
def get_environment_objects(simulation: Simulation, label: int = ANY_LABEL) -> Any:
    """The map's objects in loaded layers; an object's id is the same every time the map is loaded."""
    return [
        (codec.transform_to_wire(o.pose), codec.box_to_wire(o.box), o.object_id, o.name, int(o.tag))
        for o in simulation.episode.environment.present(label)
    ]


@void("enable_environment_objects")
def enable_environment_objects(simulation: Simulation, ids: Any, enabled: bool) -> None:
    read = [codec.integer(i, "environment object id") for i in codec.items(ids, 0, "environment object ids")]
    simulation.episode.environment.enable(read, bool(enabled))
    simulation.episode.renew_scenery()


@void("load_map_layer")
def load_map_layer(simulation: Simulation, layers: int) -> None:
    simulation.episode.environment.load_layers(codec.integer(layers, "map layers"))
    simulation.episode.renew_scenery()


@void("unload_map_layer")
def unload_map_layer(simulation: Simulation, layers: int) -> None:
    simulation.episode.environment.unload_layers(codec.integer(layers, "map layers"))
    simulation.episode.renew_scenery()


@value("get_all_level_BBs")
def get_all_level_bbs(simulation: Simulation, label: int = ANY_LABEL) -> Any:
    """World boxes of the map's objects, then of vehicles, walkers and props with their actor ids."""
    episode = simulation.episode
    boxes = [codec.box_to_wire(o.box) for o in episode.environment.present(label)]
    actors = (a for kind in _BODIES for a in episode.actors.of_kind(kind))
    seen = [a for a in actors if any(a.box.extent) and label in (ANY_LABEL, int(a.tag)) and not _is_trigger(a)]
    return boxes + [codec.box_to_wire(_world_box(a, episode.pose_of(a)), a.actor_id) for a in seen]


def _is_trigger(actor: Actor) -> bool:
    return actor.type_id.startswith("static.trigger")


def _world_box(actor: Actor, pose: Transform) -> BoundingBox:
    centre = pose @ Transform(*actor.box.location, *actor.box.rotation_deg)
    return BoundingBox(centre.location, actor.box.extent, (centre.pitch_deg, centre.yaw_deg, centre.roll_deg))


@value("get_names_of_all_objects")
def get_names_of_all_objects(simulation: Simulation) -> list[str]:
    return [o.name for o in simulation.episode.environment.present()]


@value("project_point")
def project_point(simulation: Simulation, location: Any, direction: Any, distance: Any) -> Any:
    """The first hit along the ray; a surface on which the ray starts counts as a hit."""
    start = np.array(codec.location_from_wire(location))
    way = np.array(codec.location_from_wire(direction, "direction"))
    length = float(np.linalg.norm(way))
    reach = min(codec.number(distance, "distance"), MOST_DISTANCE_M)
    end = start + way / length * reach if length > 0.0 else start
    rays = simulation.episode.rays
    hit = rays.ground_at(start, end) or rays.first_hit(start, end)
    if hit is None:
        return (False, ((0.0, 0.0, 0.0), int(SemanticTag.UNLABELED)))
    return (True, ((start + hit.share * (end - start)).tolist(), hit.tag))


@value("cast_ray")
def cast_ray(simulation: Simulation, start: Any, end: Any) -> Any:
    """All hits along the segment, nearest first."""
    a = np.array(codec.location_from_wire(start, "start"))
    b = np.array(codec.location_from_wire(end, "end"))
    return [((a + hit.share * (b - a)).tolist(), hit.tag) for hit in simulation.episode.rays.all_hits(a, b)]
