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
"""The part of the route, from the ego, on which cars are looked for."""

SAME_WAY_RAD = np.radians(50.0)
"""A car drives along the route if its heading differs by less."""

ROAD_WIDTH_M = 15.0
"""A car is on the route's road only if it is nearer to it than this, to the side."""

FRONT_CARS, SPACING_M = 2, 15.0
"""Number of cars ahead of the ego on each lane, and the distance between them."""

RADIUS_S = 1.7
"""The distances at which the cars ahead slow down grow with the ego's speed by this time."""

FASTEST_MPS = 25.0
"""No car of the background drives faster."""


class Role(Enum):
    """Where a car came from: the ego's side of the road, the opposite side, or another road into a junction."""

    ALONG = "along"
    ONCOMING = "oncoming"
    CROSSING = "crossing"


@dataclass(slots=True)
class Car:
    """A car of the background.

    `source` is the number of the lane that it came from, of the lanes into the `junction` or of the oncoming ones.
    """

    name: str
    role: Role
    junction: int = -1
    source: int = -1
    told_mps: float | None = None
    unseen: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A car with its pose; `s_m`, `d_m` and `turned_rad` are relative to the route."""

    car: Car
    pose: Pose2D
    speed_mps: float
    s_m: float
    d_m: float
    turned_rad: float

    @property
    def is_on_route(self) -> bool:
        """Whether it drives along the route, on whatever lane of its direction."""
        return abs(self.d_m) < ROAD_WIDTH_M and abs(self.turned_rad) < SAME_WAY_RAD


def see(cars: Sequence[Car], actors: Mapping[str, ActorTruth], route: Route, ego_m: float) -> list[Seen]:
    """Those of the cars that are there."""
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
    """Share of the speed limit at which a car drives.

    Cars ahead slow down the farther they are, so that the ego catches up, but `space_m` later; those behind drive
    faster the farther they are, at most twice as fast. All others drive at the limit.
    """
    if not seen.is_on_route or seen.car.role is Role.ONCOMING:
        return 1.0
    gap_m = abs(seen.s_m - ego_m)
    if seen.s_m < ego_m:
        return min(1.0 + gap_m / SPACING_M, 2.0)
    stop_m = (FRONT_CARS + 1) * SPACING_M + RADIUS_S * ego_mps + space_m
    return min(max((stop_m - gap_m) / SPACING_M, 0.0), 1.0)


def share_behind(gap_m: float, ego_share: float) -> float:
    """Share of the speed limit at which a car stays behind an ego that drives at `ego_share` of it."""
    return min(max((gap_m - SPACING_M) / SPACING_M + ego_share, 0.0), 1.0)
