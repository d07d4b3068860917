"""What the local path demands of the speed; and the demands of traffic and signals, as facts for `behaviour.decide`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from av_core.types import Constraint, ConstraintKind
from planning.behaviour import Situation
from planning.local.local_path import LocalPath
from planning.local.road_cells import room_to_pass_m
from planning.signals import Commitment, EgoOnRoute, SpeedCap
from planning.speed import Leader, StopTarget
from planning.traffic.behavior import Constraints

_ROOM_MPS2 = (1.5, 3.0)
"""Braking for the sake of room behind an obstacle: for all of it, and for the least that the ego needs."""

_SEEMS_MPS, _NEAR_TO_HALT_MPS = 1.5, 8.0
"""Speed up to which an obstacle may seem to move; a faster ego than the second passes it without a stop, if it can."""

_SCHEDULE_SLACK_MPS = 0.5
"""Largest excess of the ego's speed over the speed that the search planned for a pass."""

_SOON_MPS2, _SOON_M = 1.0, 5.0
"""A demand concerns what the ego does from where gentle braking would begin, and from this distance before it on."""

_TO_SEE_FIRST = frozenset(
    {
        ConstraintKind.OFF_LIGHT,
        ConstraintKind.LIGHT_OUT_OF_VIEW,
        ConstraintKind.LIGHT_NOT_SEEN,
        ConstraintKind.YIELD_SIGN,
    }
)
"""Kinds of speed caps with which the ego drives so slowly that it sees others in time."""


@dataclass(frozen=True, slots=True)
class RouteDemands:
    """What the signals and the end of the route demand of the speed."""

    stops: list[StopTarget]
    caps: list[SpeedCap]
    commitments: list[Commitment]

    @property
    def first_stop_m(self) -> float:
        """The arc length of the first stop."""
        return min(stop.s_m for stop in self.stops)


def with_demands(situation: Situation, ego: EgoOnRoute, others: Constraints, route: RouteDemands) -> Situation:
    """`situation` with what others and the route demand of the speed soon."""
    soon_m = ego.braked_s_m(_SOON_MPS2) + _SOON_M
    stops = sorted(route.stops + others.stops, key=lambda stop: stop.s_m)
    soon = [stop.cause for stop in stops if stop.s_m < soon_m]
    stopped_for = {stop.cause.object_id for stop in others.stops}
    creeps_at = [cap.cause for cap in route.caps if cap.cause.kind in _TO_SEE_FIRST and cap.from_s_m < soon_m]
    stops_for = [cause for cause in soon if cause.kind is not ConstraintKind.CROSSING_TRAFFIC]
    return replace(
        situation,
        gives_way_to=tuple(int(cause.object_id) for cause in soon if cause.kind is ConstraintKind.CROSSING_TRAFFIC),
        lets_in=tuple(sorted(number for number in others.yielding_to if str(number) not in stopped_for)),
        stops_for=stops_for[0] if stops_for else None,
        creeps_at=creeps_at[0] if creeps_at else None,
    )


def stops_on(local: LocalPath) -> list[StopTarget]:
    """The stop at which the ego waits until it can pass."""
    if local.stop_s_m is None:
        return []
    return [StopTarget(local.stop_s_m, cause_of_pass(local))]


def caps_on(local: LocalPath, s_m: float) -> list[SpeedCap]:
    """The speed limits of the local path, for an ego that is at `s_m`."""
    return _slow_to_pass(local, s_m) + _scheduled(local)


def _slow_to_pass(local: LocalPath, s_m: float) -> list[SpeedCap]:
    """The lower speed with which the ego comes to what it passes, or makes room."""
    if local.slower_mps is None:
        return []
    cause = Constraint(ConstraintKind.OBSTACLE, _first(local.passed))
    if local.let_by:
        cause = Constraint(ConstraintKind.CROSSING_TRAFFIC, _first(local.let_by))
    return [SpeedCap(s_m + 0.5 * local.slower_mps, s_m + 2.0 * local.slower_mps, local.slower_mps, cause)]


def _scheduled(local: LocalPath) -> list[SpeedCap]:
    """Speed limits that keep the planned times of a pass, with a slack for the controller."""
    if local.schedule is None or not local.met:
        return []
    s_m, speed_mps = local.schedule
    cause = cause_of_pass(local)
    most = np.maximum(speed_mps[1:], speed_mps[:-1]) + _SCHEDULE_SLACK_MPS
    spans = zip(s_m[:-1].tolist(), s_m[1:].tolist(), most.tolist(), strict=True)
    return [SpeedCap(low, high, speed, cause) for low, high, speed in spans if high > low]


def cause_of_pass(local: LocalPath) -> Constraint:
    """The constraint of a pass: the road user that the ego passes; for an ego that pulls out, the one that it lets
    pass."""
    if local.pulls_out:
        return Constraint(ConstraintKind.CROSSING_TRAFFIC, _first(local.met))
    return Constraint(ConstraintKind.OBSTACLE, _first(local.passed))


def cause_of_backing_up(local: LocalPath, yielding_to: frozenset[int]) -> Constraint:
    """The constraint of an ego that backs up: what it wants to pass, or else those to whom it gives way."""
    if local.passed or not yielding_to:
        return cause_of_pass(local)
    return Constraint(ConstraintKind.CROSSING_TRAFFIC, _first(yielding_to))


def _first(ids: frozenset[int]) -> str:
    return str(min(ids)) if ids else ""


def with_room_to_pass(
    others: Constraints, passed: frozenset[int], ego: EgoOnRoute, room_m: float, standstill_m: float, *, needs_all: bool
) -> Constraints:
    """`others` with a larger gap behind an obstacle that can be passed, since the ego has to steer around it.

    It brakes no harder than is comfortable for more room than it needs at least. Beside an oncoming lane it `needs_all`
    of it, since it starts from a stand there.
    """
    ids = {str(number) for number in passed}
    gently_m, firmly_m = (ego.speed_mps**2 / (2.0 * brakes) for brakes in _ROOM_MPS2)

    def gets_room(one: Leader) -> bool:
        stands = one.cause.kind is ConstraintKind.OBSTACLE
        seems_to_move = one.speed_mps < _SEEMS_MPS and ego.speed_mps < _NEAR_TO_HALT_MPS
        return one.cause.object_id in ids and (stands or seems_to_move)

    def shift_m(one: Leader) -> float:
        if needs_all:
            return room_m - standstill_m
        left_m = one.origin_s_m - ego.s_m - standstill_m
        least_m = min(min(room_m, room_to_pass_m(0.0)) - standstill_m, left_m - firmly_m)
        return max(min(room_m - standstill_m, left_m - gently_m), least_m, 0.0)

    leaders = [
        replace(one, origin_s_m=one.origin_s_m - shift_m(one)) if gets_room(one) else one for one in others.leaders
    ]
    return replace(others, leaders=leaders)
