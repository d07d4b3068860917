"""The actors of an episode for recording: which exist, and the rows of their records in the snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.recorder.packets import ActorAdded, ActorType
from embedded_carla.types import Transform, Vector3
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode

CM_PER_M = 100.0

_TYPES = {
    ActorKind.VEHICLE: ActorType.VEHICLE,
    ActorKind.WALKER: ActorType.WALKER,
    ActorKind.TRAFFIC_LIGHT: ActorType.TRAFFIC_LIGHT,
    ActorKind.TRAFFIC_SIGN: ActorType.TRAFFIC_SIGN,
    ActorKind.SENSOR: ActorType.SENSOR,
}
_PLACED = (ActorKind.PROP, ActorKind.SPECTATOR, ActorKind.VEHICLE, ActorKind.WALKER)


@dataclass(frozen=True, slots=True)
class Roster:
    """Actors and their rows. `ids` are the ids of the snapshot's records, in order; rows are indices into `ids`.

    `placed_rows` are the rows of actors whose poses are recorded in each frame: as in CARLA, all but sensors, lights
    and signs.
    """

    ids: NDArray[np.uint32]
    actors: dict[int, Actor]
    placed_rows: NDArray[np.intp]
    vehicles: tuple[Actor, ...]
    vehicle_rows: NDArray[np.intp]
    vehicle_slots: NDArray[np.intp]
    walker_rows: NDArray[np.intp]
    walker_slots: NDArray[np.intp]
    light_rows: NDArray[np.intp]
    two_wheeled: NDArray[np.bool_]
    heroes: frozenset[int]

    @staticmethod
    def of(episode: Episode) -> Roster:
        def rows(*kinds: ActorKind) -> NDArray[np.intp]:
            return np.array([a.row for kind in kinds for a in episode.actors.of_kind(kind)], dtype=np.intp)

        vehicles = tuple(episode.actors.of_kind(ActorKind.VEHICLE))
        walkers = episode.actors.of_kind(ActorKind.WALKER)
        return Roster(
            snapshot_ids(episode).copy(),
            {actor.actor_id: actor for actor in episode.actors},
            np.sort(rows(*_PLACED)),
            vehicles,
            rows(ActorKind.VEHICLE),
            np.array([a.slot for a in vehicles], dtype=np.intp),
            rows(ActorKind.WALKER),
            np.array([a.slot for a in walkers], dtype=np.intp),
            rows(ActorKind.TRAFFIC_LIGHT),
            np.array([episode.fleet.spec(a.slot).number_of_wheels == 2 for a in vehicles], dtype=np.bool_),
            frozenset(a.actor_id for a in episode.actors if a.description.value("role_name") == "hero"),
        )

    def is_still(self, episode: Episode) -> bool:
        """Whether the episode still has the same actors as when the roster was made."""
        ids = snapshot_ids(episode)
        return len(ids) == len(self.ids) and bool((ids == self.ids).all())


def snapshot_ids(episode: Episode) -> NDArray[np.uint32]:
    ids: NDArray[np.uint32] = episode.table.vehicles["id"][: len(episode.table)]
    return ids


def centimetres(place: Vector3) -> Vector3:
    return (place[0] * CM_PER_M, place[1] * CM_PER_M, place[2] * CM_PER_M)


def to_pose(location: Vector3, rotation: Vector3) -> Transform:
    """A recorded location, cm, and rotation (roll, pitch, yaw), deg, as a Transform."""
    x, y, z = location
    roll, pitch, yaw = rotation
    return Transform(x / CM_PER_M, y / CM_PER_M, z / CM_PER_M, pitch, yaw, roll)


def added(actor: Actor, pose: Transform) -> ActorAdded:
    """The event for a new actor; the location of an attached actor is relative to its parent."""
    place = pose if actor.parent is None else actor.relative
    return ActorAdded(
        actor.actor_id,
        _TYPES.get(actor.kind, ActorType.OTHER),
        centimetres(place.location),
        (place.roll_deg, place.pitch_deg, place.yaw_deg),
        actor.description.uid,
        actor.type_id,
        tuple((kind - 1, name, value) for name, kind, value in actor.description.attributes),
    )
