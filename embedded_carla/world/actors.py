"""Actors (everything that has an id) and the table of living actors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from embedded_carla.errors import CommandError
from embedded_carla.types import Blueprint, BoundingBox, SemanticTag, Transform
from embedded_carla.wire import codec
from embedded_carla.wire.codec import ActorDescription
from embedded_carla.world.looks import Looks
from embedded_carla.world.skeleton import CustomPose
from embedded_carla.world.spring_arm import SpringArm


class ActorKind(Enum):
    VEHICLE = "vehicle"
    WALKER = "walker"
    SENSOR = "sensor"
    TRAFFIC_LIGHT = "traffic light"
    TRAFFIC_SIGN = "traffic sign"
    CONTROLLER = "walker controller"
    PROP = "prop"
    SPECTATOR = "spectator"


DRAWN_KINDS = (ActorKind.VEHICLE, ActorKind.WALKER, ActorKind.PROP)


@dataclass(slots=True, eq=False)
class Actor:
    """One actor of the world.

    `pose` is its world pose after the last tick. `relative` is the pose of an attached actor on its `parent`, or on the
    end of `arm` if a spring arm holds it.

    `slot` is its row in the fleet or the crowd (-1 for other kinds); `row` is its record in the snapshot. `stream_id`
    is a sensor's stream (0: none). `signal_id` is the OpenDRIVE id of a light or sign. `doors` has one bit for each
    open door. `wheel_angles_deg` holds (steer, pitch) of the wheels that a client has posed, `custom_pose` the pose
    that a client has set on a walker. `ignored_vehicles` are the ids that a sensor does not see. `Looks` assigns
    `look_seed` and `instance` to drawn actors.
    """

    actor_id: int
    kind: ActorKind
    description: ActorDescription
    box: BoundingBox
    pose: Transform
    tag: SemanticTag = SemanticTag.UNLABELED
    blueprint: Blueprint | None = None
    parent: Actor | None = None
    relative: Transform = field(default_factory=Transform)
    children: list[Actor] = field(default_factory=list)
    slot: int = -1
    row: int = -1
    stream_id: int = 0
    signal_id: str = ""
    lights: int = 0
    collides: bool = True
    physics_control: Any = None
    doors: int = 0
    wheel_angles_deg: dict[int, tuple[float, float]] = field(default_factory=dict)
    custom_pose: CustomPose | None = None
    arm: SpringArm | None = None
    ignored_vehicles: frozenset[int] = frozenset()
    look_seed: int = 0
    instance: int = 0

    @property
    def type_id(self) -> str:
        return self.description.type_id

    def number(self, name: str, default: float) -> float:
        """Numeric attribute `name` of the description, or `default` if it is missing or not a number."""
        try:
            return float(self.description.value(name, str(default)))
        except ValueError:
            return default

    def to_wire(self, stream_port: int) -> codec.Wire:
        return (
            self.actor_id,
            0 if self.parent is None else self.parent.actor_id,
            codec.description_to_wire(self.description),
            codec.box_to_wire(self.box, self.actor_id),
            bytes((self.tag,)),
            codec.token(self.stream_id, stream_port) if self.stream_id else b"",
        )


class ActorTable:
    """Living actors, indexed by id and by kind."""

    def __init__(self) -> None:
        self._by_id: dict[int, Actor] = {}
        self._by_kind: dict[ActorKind, dict[int, Actor]] = {kind: {} for kind in ActorKind}
        self._looks = Looks()

    def __iter__(self) -> Iterator[Actor]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def add(self, actor: Actor) -> None:
        self._by_id[actor.actor_id] = actor
        self._by_kind[actor.kind][actor.actor_id] = actor
        if actor.kind in DRAWN_KINDS:
            actor.look_seed, actor.instance = self._looks.give(actor.actor_id, actor.type_id)

    def remove(self, actor: Actor) -> None:
        del self._by_id[actor.actor_id]
        del self._by_kind[actor.kind][actor.actor_id]
        if actor.kind in DRAWN_KINDS:
            self._looks.release(actor.actor_id)

    def find(self, actor_id: int) -> Actor | None:
        return self._by_id.get(actor_id)

    def of_kind(self, kind: ActorKind) -> list[Actor]:
        return list(self._by_kind[kind].values())

    def get(self, actor_id: int, *kinds: ActorKind) -> Actor:
        """Return the actor with this id. Raises CommandError if it does not exist or is none of `kinds` (if given)."""
        actor = self._by_id.get(actor_id)
        if actor is None:
            raise CommandError(f"unable to find actor {codec.shown(actor_id)}: it does not exist or was destroyed")
        if kinds and actor.kind not in kinds:
            wanted = " or ".join(kind.value for kind in kinds)
            raise CommandError(f"actor {actor_id} ({actor.type_id}) is no {wanted}")
        return actor
