"""What the event engine knows at one tick: the time, the ego, and the actors of the script, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from av_core.types import ActorTruth, Pose2D

EGO = "ego"
"""Name of the ego in scripts."""


@dataclass(frozen=True, slots=True)
class Body:
    """A road user, which may be the ego: the pose of its middle, its velocity over ground (map frame), and its size.

    `actor` is its name in the script; None for road users of no script.
    """

    pose: Pose2D
    velocity_mps: tuple[float, float]
    length_m: float
    width_m: float
    actor: str | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What the event engine knows at one tick; times count from the start of the drive.

    * `route_m`: the ego's arc length on its route.
    * `actors`: by name, the script's actors that exist now, and the ego.
    * `fired_s`: the time of each event that has happened, by name.
    * `bodies`: all road users, including those of no script.
    * `hit`: names of the actors that the ego touched in this tick.
    """

    time_s: float
    step_s: float
    route_m: float
    actors: Mapping[str, ActorTruth]
    fired_s: Mapping[str, float] = field(default_factory=dict)
    bodies: Sequence[Body] = ()
    hit: frozenset[str] = frozenset()

    @property
    def ego(self) -> ActorTruth:
        return self.actors[EGO]


def distance_m(one: Pose2D, other: Pose2D) -> float:
    """Straight distance between two poses, m."""
    return math.hypot(one.x_m - other.x_m, one.y_m - other.y_m)


def speed_mps(actor: ActorTruth) -> float:
    return math.hypot(*actor.velocity_mps)


def is_ahead(of: Pose2D, other: Pose2D) -> bool:
    """Whether `other` lies in front of the line through `of` across its heading."""
    dx, dy = other.x_m - of.x_m, other.y_m - of.y_m
    return dx * math.cos(of.yaw_rad) + dy * math.sin(of.yaw_rad) > 0.0
