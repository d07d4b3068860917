"""The cars of the background traffic, seen from the ego's route, and the speeds at which they drive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from av_core.frames import wrap_angle
from av_core.types import ActorTruth, Pose2D
from planning import Route

SEEN_BACK_M, SEEN_AHEAD_M = 150.0, 250.0
"""Part of the route, behind and ahead of the ego, on which the positions of the cars are projected."""

SAME_WAY_RAD = np.radians(50.0)
"""A car drives along the route if its heading differs from the route's by less than this."""

ROAD_WIDTH_M = 15.0
"""Largest distance of a car to the side of the route at which it is still on the route's road."""

FRONT_CARS = 2
"""Number of cars ahead of the ego on each lane."""

SPACING_M = 15.0
"""Distance between two cars on one lane."""

RADIUS_S = 1.7
"""Growth of the distance to the cars ahead with the ego's speed, m per m/s."""

FASTEST_MPS = 25.0
"""Top speed of the background cars."""


class Role(Enum):
    """Where a car was spawned: on the ego's side of the road, the opposite side, or another road into a junction."""

    ALONG = "along"
    ONCOMING = "oncoming"
    CROSSING = "crossing"


@dataclass(slots=True)
class Car:
    """A background car.

    * `junction`: number on the route of the junction that it crosses; -1 for cars with another role.
    * `source`: number of the lane on which it was spawned, counted among the lanes that lead into the junction or among
      the oncoming lanes; -1 where it does not matter.
    * `told_mps`: the speed of the last order; None before the first.
    * `unseen`: number of decisions in a row at which the car was not among the actors.
    """

    name: str
    role: Role
    junction: int = -1
    source: int = -1
    told_mps: float | None = None
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A car with its pose in the map frame.

    `s_m` is its arc length on the route, `d_m` its offset to the left, `turned_rad` its heading minus the route's.
    """

    car: Car
    pose: Pose2D
    speed_mps: float
    s_m: float
    d_m: float
    turned_rad: float

    @property
    def is_on_route(self) -> bool:
        """Whether the car drives along the route, on any lane of the route's direction."""
        return abs(self.d_m) < ROAD_WIDTH_M and abs(self.turned_rad) < SAME_WAY_RAD


def see(cars: Sequence[Car], actors: Mapping[str, ActorTruth], route: Route, ego_m: float) -> list[Seen]:
    """The cars that exist now, with their positions on the route; the ego is at `ego_m` along the route."""
    there = [car for car in cars if car.name in actors]
    if not there:
        return []
    near = route.curve.part(route.curve.rows_between(ego_m - SEEN_BACK_M, ego_m + SEEN_AHEAD_M))
    poses = [actors[car.name].pose for car in there]
    at = near.project(np.array([pose.x_m for pose in poses]), np.array([pose.y_m for pose in poses]), follow_bend=False)
    yaw = np.interp(at.s_m, near.s_m, near.yaw_rad)
    turned = wrap_angle(np.array([pose.yaw_rad for pose in poses]) - yaw)
    return [
        Seen(car, pose, float(np.hypot(*actors[car.name].velocity_mps)), float(s), float(d), float(turn))
        for car, pose, s, d, turn in zip(there, poses, at.s_m, at.d_m, turned, strict=True)
    ]


def speed_share(seen: Seen, ego_m: float, ego_mps: float, space_m: float = 0.0) -> float:
    """Speed of a car as a fraction of the speed limit.

    * A car ahead of the ego drives more slowly the farther it is, so that the ego catches up. `space_m` adds to the
      distance at which it stops.
    * A car behind the ego drives faster the farther it is, up to twice the limit.
    * All other cars drive at the limit.
    """
    if not seen.is_on_route or seen.car.role is Role.ONCOMING:
        return 1.0
    gap_m = abs(seen.s_m - ego_m)
    if seen.s_m < ego_m:
        return min(1.0 + gap_m / SPACING_M, 2.0)
    stop_m = (FRONT_CARS + 1) * SPACING_M + RADIUS_S * ego_mps + space_m
    return min(max((stop_m - gap_m) / SPACING_M, 0.0), 1.0)


def share_behind(gap_m: float, ego_share: float) -> float:
    """Speed, as a fraction of the speed limit, of a car that stays behind the ego.

    `gap_m` is its distance to the ego along the route, `ego_share` the ego's speed as a fraction of the limit.
    """
    return min(max((gap_m - SPACING_M) / SPACING_M + ego_share, 0.0), 1.0)
