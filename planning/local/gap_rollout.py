"""Rolls a lane change into a gap out in time: whether the ego gets in between two others. Compiled (numba).

The ego starts the lane change at once or some time later. Until then it drives in its lane, so that it can still stop
before what blocks it. The driver behind the gap brakes once this driver sees the ego coming.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64

from av_core.compiled import compiled, inner, named

STEP_S, STEPS = 0.1, 80
"""Step and number of steps of a roll-out."""

BEND = 5.7735
"""The most curvature of a lane change, as a multiple of its width over its length squared: that of the polynomial of
fifth degree without curvature at both ends."""

LATERAL_MPS2, LENGTH_MIN_M, LENGTH_MAX_M = 2.2, 12.0, 70.0
"""Lateral acceleration of a lane change, and bounds of its length."""

_GAINS_MPS = 3.5
"""Speed that the ego gains until the middle of a lane change."""

_BEND_MPS2 = 3.0
"""Lateral acceleration in the bends of a lane change that is shorter."""

_CLEAR_SHARE = 0.65
"""Share of a lane change after which the ego is clear of what blocks its lane."""

_JERK_MPS3, _BRAKES_MPS2, _STOPS_MPS2 = 5.0, 2.5, 2.5
"""Growth of the ego's acceleration, its most braking, and its braking before what blocks its lane."""

ROOM_M = 8.0
"""Gap behind what blocks the lane from which the ego can still change lanes: there it stops if the gap has closed."""

_GAINS_S = 3.0
"""Time for which the driver behind gains speed at most."""

_SEEN_M, _IN_WAY_M, _RESPONSE_S = 0.7, 1.0, 0.7
"""How far aside the ego's front is when the driver behind sees the ego coming, and when it is in the way of others; and
that driver's reaction time."""

_ASIDE_M, _BEFORE_M = 0.35, 0.5
"""Distance that the ego keeps from what blocks its lane: beside it, and before it."""

_NEAR_M, _HEADWAY_S, _GAIN_PS2, _DAMPING_PS = 2.0, 0.6, 0.35, 0.9
"""How the ego follows the one ahead: distance and headway, and the gains of the acceleration."""


class EgoNow(NamedTuple):
    """The ego now; `front_m` and `rear_m` are from its origin to its bumpers."""

    speed_mps: float
    accel_mps2: float
    front_m: float
    rear_m: float


class Attempt(NamedTuple):
    """A lane change that leads `aside_m` to the side (positive).

    The ego has driven `driven_m` of its `length_m`, or begins it after `start_s`, with a length that fits its speed
    then. Until it begins, the ego's acceleration tends to `before_mps2`, and then up to `accel_mps2`.
    """

    aside_m: float
    driven_m: float
    length_m: float
    start_s: float
    before_mps2: float
    accel_mps2: float
    top_mps: float


class Lead(NamedTuple):
    """The rear of the one ahead of a gap, and its speed."""

    rear_m: float
    speed_mps: float


class Follow(NamedTuple):
    """The front of the one behind a gap, its speed, and how fast it gains speed until its driver sees the ego."""

    front_m: float
    speed_mps: float
    gain_mps2: float


NO_LEAD, NO_FOLLOW = Lead(np.inf, 0.0), Follow(-np.inf, 0.0, 0.0)
"""For a gap without an end."""


class Demands(NamedTuple):
    """What a lane change asks of the driver behind, and the gaps that it leaves to both others.

    `gap_m` is a distance, and `headway_s` a time of the driver behind; both together are the least gap.
    """

    braking_mps2: float
    gap_m: float
    headway_s: float


@inner
def share_of(along: float) -> float:
    """How far aside a lane change has led (0 to 1), by the share of its length."""
    x = min(max(along, 0.0), 1.0)
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


@inner
def slope_of(along: float) -> float:
    """The derivative of `share_of`."""
    x = min(max(along, 0.0), 1.0)
    return 30.0 * x * x * (1.0 - x) * (1.0 - x)


@inner
def speed_of_first(blockers: Any) -> float:
    """The speed of the nearest one that blocks the lane."""
    first = 0
    for row in range(len(blockers)):
        if blockers[row, 0] < blockers[first, 0]:
            first = row
    return float(blockers[first, 2]) if len(blockers) else 0.0


@inner
def _length(speed_mps: float, aside_m: float, room_m: float) -> float:
    """The length of a lane change that begins now; where there is less room, it is as short as the ego can steer."""
    wanted_m = (speed_mps + _GAINS_MPS) * np.sqrt(BEND * aside_m / LATERAL_MPS2)
    return float(min(max(min(wanted_m, room_m / _CLEAR_SHARE), LENGTH_MIN_M), LENGTH_MAX_M))


@compiled((*(named(kind) for kind in (EgoNow, Attempt, Lead, Follow)), float64[:, ::1], named(Demands), float64[::1]))
def gets_in(
    ego: EgoNow, attempt: Attempt, lead: Lead, follow: Follow, blockers: Any, demands: Demands, speeds: Any
) -> bool:
    """Whether the ego gets into the gap and past what blocks its lane, and keeps what it demands on the way.

    Arc lengths are from the ego's origin. Rows of `blockers`: rear, front, speed, and how far aside the ego has to be
    beside it. The ego's speeds are written to `speeds` (STEPS,).
    """
    end_m = np.inf
    for row in range(len(blockers)):
        if blockers[row, 1] > -ego.rear_m:
            end_m = min(end_m, blockers[row, 0])
    s, v, accel, seen_s, from_s = 0.0, ego.speed_mps, ego.accel_mps2, np.inf, -attempt.driven_m
    has_begun, length_m = attempt.start_s <= 0.0, attempt.length_m
    if has_begun and length_m <= 0.0:
        length_m = _length(v, attempt.aside_m, end_m - ego.front_m)
    follow_m, follow_mps = follow.front_m, follow.speed_mps
    for step in range(STEPS):
        time_s = step * STEP_S
        speeds[step] = v
        if not has_begun and time_s >= attempt.start_s - 1e-6:
            has_begun, from_s = True, s
            length_m = _length(v, attempt.aside_m, end_m + speed_of_first(blockers) * time_s - s - ego.front_m)
        moved_m, corner_m = 0.0, 0.0
        if has_begun:
            moved_m = attempt.aside_m * share_of((s - from_s) / length_m)
            corner_m = moved_m + ego.front_m * attempt.aside_m * slope_of((s - from_s) / length_m) / length_m
        if corner_m > _SEEN_M and seen_s == np.inf:
            seen_s = time_s
        lead_m = lead.rear_m + lead.speed_mps * time_s
        if corner_m > _IN_WAY_M:
            if lead_m - s - ego.front_m < demands.gap_m + 0.5 * demands.headway_s * v:
                return False
            if s - ego.rear_m - follow_m < demands.gap_m + demands.headway_s * follow_mps:
                return False
        for row in range(len(blockers)):
            moved = blockers[row, 2] * time_s
            is_beside = (
                s + ego.front_m > blockers[row, 0] + moved - _BEFORE_M and s - ego.rear_m < blockers[row, 1] + moved
            )
            if is_beside and moved_m < blockers[row, 3] + _ASIDE_M:
                return False
        most_mps = attempt.top_mps
        if not has_begun:
            left_m = end_m + speed_of_first(blockers) * time_s - s - ego.front_m - ROOM_M
            most_mps = min(most_mps, speed_of_first(blockers) + np.sqrt(2.0 * _STOPS_MPS2 * max(left_m, 0.0)))
        elif s < from_s + length_m:
            most_mps = min(most_mps, length_m * np.sqrt(_BEND_MPS2 / (BEND * max(attempt.aside_m, 0.5))))
        wanted = min((most_mps - v) / 0.5, attempt.accel_mps2 if has_begun else attempt.before_mps2)
        if has_begun:
            wanted = min(
                wanted,
                _GAIN_PS2 * (lead_m - s - ego.front_m - _NEAR_M - _HEADWAY_S * v) + _DAMPING_PS * (lead.speed_mps - v),
            )
        accel = min(max(wanted, -_BRAKES_MPS2), accel + _JERK_MPS3 * STEP_S)
        v = max(v + accel * STEP_S, 0.0)
        s += v * STEP_S
        if time_s < seen_s + _RESPONSE_S:
            follow_mps += follow.gain_mps2 * STEP_S if time_s < _GAINS_S else 0.0
        elif follow_mps > v:
            follow_mps = max(follow_mps - demands.braking_mps2 * STEP_S, v)
        follow_m += follow_mps * STEP_S
    return has_begun


@compiled("float64(float64, float64, float64)")
def length_now(speed_mps: float, aside_m: float, room_m: float) -> float:
    """The length of a lane change to `aside_m` that begins now, with so much room before what blocks the lane."""
    return _length(speed_mps, aside_m, room_m)


@compiled("float64[::1](float64[::1])")
def shares(along: Any) -> Any:
    """How far aside a lane change has led (N,), by the shares of its length."""
    out = np.empty(len(along))
    for row in range(len(along)):
        out[row] = share_of(along[row])
    return out
