"""One tick of a drive as the criteria see it, and the protocol of a criterion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from av_core.types import Float, Pose2D, Truth, VehicleParameters
from planning import Route
from scenarios.judging.geometry import RouteMeter
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction
from scenarios.judging.score import Infractions


@dataclass(frozen=True, slots=True)
class Tick:
    """The truth of one tick, and values derived from it and from the tick before.

    * `time_s`: time since the first tick. `step_s`, `moved_m`: time and distance since the last tick.
    * `speed_before_mps`: speed in the last tick. Speeds are along the ego's own axis, negative backwards.
    * `centre`: pose of the middle of the ego's bounding box, which is CARLA's position of a vehicle.
    * `front` (2,): middle of the ego's front bumper, map frame; `front_before` (2,): the same in the last tick.
    * `limit_mps`: speed limit of the route at the ego. `is_changing`: whether the route changes lanes there.
    """

    truth: Truth
    time_s: float
    step_s: float
    moved_m: float
    speed_before_mps: float
    centre: Pose2D
    front: Float
    front_before: Float
    limit_mps: float
    is_changing: bool

    @property
    def speed_mps(self) -> float:
        return self.truth.ego_speed_mps


def logged(kind: InfractionKind, tick: Tick | None, what: str) -> LoggedInfraction:
    """An infraction at a tick; before the first tick, at time 0 and the map's origin."""
    if tick is None:
        return LoggedInfraction(kind, 0.0, 0.0, 0.0, what)
    return LoggedInfraction(kind, round(tick.time_s, 3), round(tick.centre.x_m, 3), round(tick.centre.y_m, 3), what)


class Observer(Protocol):
    """Watches a drive."""

    def update(self, tick: Tick) -> None:
        """Take in the next tick."""
        ...


class Criterion(Observer, Protocol):
    """Watches a drive, and counts infractions of one or more kinds."""

    @property
    def infractions(self) -> Infractions:
        """The infractions so far, of the kinds that this criterion counts; all others are 0."""
        ...

    @property
    def log(self) -> tuple[LoggedInfraction, ...]:
        """The same infractions as log entries.

        There is one entry for each event and for each slow quarter, and a single one for all driving outside the lanes.
        """
        ...


class EndCondition(Observer, Protocol):
    """Watches a drive, and says when it must end; `kind` is the kind of the log entry for this end."""

    @property
    def kind(self) -> InfractionKind: ...

    @property
    def end(self) -> str | None:
        """Why the drive must end, in words; None if it may go on."""
        ...


class TickReader:
    """Makes a `Tick` from the truth of each tick; `meter` measures the ego's position on the route."""

    def __init__(self, route: Route, vehicle: VehicleParameters) -> None:
        self.meter = RouteMeter(route)
        self._route = route
        self._centre_m = vehicle.rear_axle_to_centre_m
        self._front_m = vehicle.rear_axle_to_centre_m + vehicle.length_m / 2
        self._first_s = 0.0
        self._last: Tick | None = None

    def read(self, truth: Truth) -> Tick:
        """The next tick."""
        ego, last = truth.ego, self._last
        if last is None:
            self._first_s = truth.stamp.time_s
        self.meter.update(ego)
        row = self.meter.row
        ahead = np.array([np.cos(ego.yaw_rad), np.sin(ego.yaw_rad)])
        front = np.array([ego.x_m, ego.y_m]) + self._front_m * ahead
        was = ego if last is None else last.truth.ego
        self._last = Tick(
            truth=truth,
            time_s=truth.stamp.time_s - self._first_s,
            step_s=0.0 if last is None else truth.stamp.time_s - last.truth.stamp.time_s,
            moved_m=float(np.hypot(ego.x_m - was.x_m, ego.y_m - was.y_m)),
            speed_before_mps=truth.ego_speed_mps if last is None else last.speed_mps,
            centre=Pose2D(
                ego.x_m + self._centre_m * float(ahead[0]), ego.y_m + self._centre_m * float(ahead[1]), ego.yaw_rad
            ),
            front=front,
            front_before=front if last is None else last.front,
            limit_mps=float(self._route.speed_limit_mps[row]),
            is_changing=bool(self._route.is_change[row]),
        )
        return self._last
