"""The simulator's ground truth of one tick: ego pose, road users, light states, collisions.

Part of `av_core.types`, from which all of these types are imported; frames as there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from av_core.perception_types import LightState, TrackedObject
from av_core.plan_types import Pose2D
from av_core.sensor_types import Stamp


@dataclass(frozen=True, slots=True)
class CollisionEvent:
    """The ego touched something; `other` is CARLA's type id ("vehicle.audi.tt", "static.building")."""

    stamp: Stamp
    other_id: int
    other: str
    impulse_ns: float


@dataclass(frozen=True, slots=True)
class ActorTruth:
    """An actor of the scenario's script: the pose of its middle and its velocity over ground, in the map frame.

    `track_id` is the id of the same actor among `Truth.objects`; None if the actor is no road user.
    """

    pose: Pose2D
    velocity_mps: tuple[float, float]
    track_id: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """The simulator's ground truth of one tick. Only scoring, evaluation, recording and oracles may read it.

    * `ego`: the true pose of the vehicle frame in the map frame.
    * `objects`: all other road users.
    * `lights`: the state of each traffic light by its OpenDRIVE signal id.
    * `collisions`: the collisions of the ego in this tick.
    * `background_ids`: track ids of the background traffic, which are the vehicles that no scenario script placed.
    * `actors`: by name, the actors of the scenario's script that exist now. The road users among them are in
      `objects`, too.
    """

    stamp: Stamp
    ego: Pose2D
    ego_z_m: float
    ego_speed_mps: float
    objects: tuple[TrackedObject, ...]
    lights: Mapping[str, LightState]
    collisions: tuple[CollisionEvent, ...]
    background_ids: frozenset[int] = frozenset()
    actors: Mapping[str, ActorTruth] = field(default_factory=dict)
