"""The mapping from recorded actors to the actors of the episode that replay them."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from embedded_carla.blueprints import LIBRARY
from embedded_carla.errors import EmbeddedCarlaError
from embedded_carla.recorder.format import RecordingError, readable
from embedded_carla.recorder.packets import ActorAdded
from embedded_carla.recorder.roster import to_pose
from embedded_carla.types import Transform
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.world import spawning
from embedded_carla.world.actors import Actor, ActorKind
from embedded_carla.world.episode import Episode
from embedded_carla.world.ids import ActorIds

MAX_ACTORS = 10_000
"""Maximum number of actors that a replay has at the same time."""
NEAR_M = 2.0
"""Maximum distance between a recorded light or sign and that of the map, m: versions of a map differ slightly."""

_HELD_BY_PARENT_M = 30.0
_REMEMBERED = 20_000

Identity = tuple[str, tuple[tuple[str, str], ...]]


class Memory:
    """Remembers the identity of the actor behind each id, so that a recorded actor can get its old id again.

    Clients cache the actor of an id for ever, so an id is reused only for the same type with the same attributes.
    """

    def __init__(self) -> None:
        self._gone: OrderedDict[int, Identity] = OrderedDict()

    def note(self, actor: Actor) -> None:
        """Remember the identity of an actor."""
        self._gone[actor.actor_id] = identity(actor.description)
        self._gone.move_to_end(actor.actor_id)
        if len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)

    def was(self, actor_id: int, who: Identity) -> bool:
        """Whether the id belonged to an actor with the same identity."""
        return self._gone.get(actor_id) == who


def identity(description: ActorDescription) -> Identity:
    """Type and sorted attributes of an actor."""
    return description.type_id, tuple(sorted((name, value) for name, _, value in description.attributes))


class Cast:
    """The actors of the episode that replay the recorded actors, by recorded id.

    * `free`: recorded ids of heroes that the replay does not move.
    * `made`: recorded ids of actors that a replay has created.
    * `earlier`: actors from an earlier replay of the same file, by recorded id.
    * `ours`: ids of all actors that replays have created in this episode.
    """

    def __init__(
        self, episode: Episode, ids: ActorIds, memory: Memory, earlier: Mapping[int, Actor], ours: set[int],
        *, sensors: bool, ignore_hero: bool,
    ) -> None:  # fmt: skip
        self._episode = episode
        self._ids = ids
        self._memory = memory
        self._earlier = earlier
        self._ours = ours
        self._sensors = sensors
        self._ignore_hero = ignore_hero
        self._signs = [a for a in episode.actors if a.kind in (ActorKind.TRAFFIC_LIGHT, ActorKind.TRAFFIC_SIGN)]
        self._physics: dict[int, bool] = {}  # for actors that existed before: whether physics was enabled
        self._places: dict[int, ActorAdded] = {}  # actors added in this frame; their parents may follow
        self.actors: dict[int, Actor] = {}
        self.made: set[int] = set()
        self.free: set[int] = set()
        self.failed: dict[str, str] = {}
        self.version = 0

    def begin_frame(self) -> None:
        self._places.clear()

    def add(self, event: ActorAdded) -> None:
        """Find or create the actor. A type that cannot be created is added to `failed`, with the reason."""
        if not all(math.isfinite(v) and abs(v) < 1e8 for v in (*event.location, *event.rotation)):
            raise RecordingError(f"actor {event.actor} has no finite place")
        actor = self._found(event)
        if actor is not None and actor.actor_id in self._ours:
            self.made.add(event.actor)
        if actor is None and not self._is_left_out(event.type_id):
            actor = self._make(event)
        if actor is None:
            return
        if self.actors.get(event.actor, actor) is not actor:  # the file uses one id for two actors
            self.remove(event.actor)
            if actor.actor_id in self._ours:
                self.made.add(event.actor)
        self.version += 1
        self.actors[event.actor] = actor
        self._places[event.actor] = event
        if self._ignore_hero and event.value("role_name") == "hero":
            self.free.add(event.actor)
        else:
            self._disable_physics(event.actor, actor)

    def _is_left_out(self, type_id: str) -> bool:
        """Whether actors of this type are not created.

        These are sensors unless requested, walker controllers (which clients run), and signs that the map lacks.
        """
        if type_id.startswith("sensor."):
            return not self._sensors
        return type_id.startswith(("traffic.", "controller.")) or type_id == "spectator"

    def _found(self, event: ActorAdded) -> Actor | None:
        if event.type_id == "spectator":
            return self._episode.spectator
        if event.type_id.startswith("traffic."):
            return nearest_sign(self._signs, event)
        by_id = self._episode.actors.find(event.actor)
        for candidate in (self.actors.get(event.actor), by_id, self._earlier.get(event.actor)):
            if candidate is not None and candidate.row >= 0 and candidate.type_id == event.type_id:
                return None if candidate.kind in (ActorKind.SENSOR, ActorKind.CONTROLLER) else candidate
        return None

    def _make(self, event: ActorAdded) -> Actor | None:
        if len(self.actors) >= MAX_ACTORS:
            raise RecordingError(f"has more than {MAX_ACTORS} actors at a time")
        rows = tuple((readable(name), kind + 1, readable(value)) for kind, name, value in event.attributes)
        description = ActorDescription(event.uid, event.type_id, rows)
        if blueprint := LIBRARY.get(event.type_id):
            description = spawning.complete(description, blueprint)
        again = self._episode.actors.find(event.actor) is None and self._memory.was(event.actor, identity(description))
        try:
            actor = spawning.spawn(
                self._episode, description, to_pose(event.location, event.rotation),
                replayed_id=event.actor if again else self._ids.claim(event.actor),
            )  # fmt: skip
        except EmbeddedCarlaError as error:
            self.failed[readable(event.type_id)[:80]] = readable(str(error))
            return None
        self.made.add(event.actor)
        self._ours.add(actor.actor_id)
        self._memory.note(actor)
        return actor

    def _disable_physics(self, recorded: int, actor: Actor) -> None:
        """Disable the actor's physics, because the recording moves it now."""
        if actor.kind in (ActorKind.VEHICLE, ActorKind.WALKER):
            body = self._episode.fleet if actor.kind is ActorKind.VEHICLE else self._episode.crowd
            if recorded not in self.made:
                self._physics[recorded] = bool(body.physics[actor.slot])
            body.physics[actor.slot] = False

    def had_physics(self, recorded: int) -> bool:
        """Whether the actor's physics was enabled before the replay; True for an actor that the replay created."""
        return self._physics.get(recorded, True)

    def remove(self, recorded: int) -> None:
        """Destroy the actor, unless it belongs to the map."""
        actor = self.actors.pop(recorded, None)
        self.version += 1
        self.made.discard(recorded)
        self.free.discard(recorded)
        if actor is not None and actor.row >= 0:
            self._memory.note(actor)
            self._ours.discard(actor.actor_id)
            spawning.destroy(self._episode, actor.actor_id)

    def attach(self, child: int, parent: int) -> None:
        """Attach a recorded actor to its parent.

        The recorded location of an attached actor is relative to its parent, except in the first frame, where it is in
        the world frame. A location counts as a world location if it is near the parent's location and nearer to it than
        to the origin.
        """
        actor, carrier, event = self.actors.get(child), self.actors.get(parent), self._places.get(child)
        if actor is None or carrier is None or actor.parent is not None or event is None:
            return
        if actor is carrier or actor.kind in (ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.SPECTATOR):
            return
        place, base = to_pose(event.location, event.rotation), self._episode.pose_of(carrier)
        if math.dist(place.location, base.location) < min(_HELD_BY_PARENT_M, math.dist(place.location, (0, 0, 0))):
            place = Transform.from_matrix(np.linalg.inv(base.matrix()) @ place.matrix())
        actor.parent = carrier
        carrier.children.append(actor)
        self._episode.teleport(actor, place)

    def forget_dead(self) -> None:
        """Drop actors that a client has destroyed since the last call."""
        dead = [recorded for recorded, actor in self.actors.items() if actor.row < 0]
        for recorded in dead:
            self._ours.discard(self.actors.pop(recorded).actor_id)
            self.made.discard(recorded)
            self.version += 1


def nearest_sign(signs: list[Actor], event: ActorAdded) -> Actor | None:
    """The map's own light or sign of the recorded type within NEAR_M of the recorded location."""
    x, y, _ = to_pose(event.location, event.rotation).location
    of_type = [a for a in signs if a.type_id == event.type_id]
    found = min(of_type, key=lambda a: math.hypot(a.pose.x - x, a.pose.y - y), default=None)
    return found if found is not None and math.hypot(found.pose.x - x, found.pose.y - y) <= NEAR_M else None
