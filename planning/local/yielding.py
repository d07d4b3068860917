"""Other drivers who slow down for an ego that passes an obstacle in their lane: oncoming ones, and those behind it.

An ego that gave up its pass for each car in sight would stand in their lane, or too near to the obstacle to steer
around it. One that waited for a gap in which nobody slows down would wait for the end of a dense stream.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planning.local.lattice import STEP_S
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad, is_in_line

YIELD_MPS2 = 3.0
"""Deceleration of an oncoming driver for an ego in this driver's lane."""

_RESPONSE_S, _UNSEEN_S = 1.0, 1.0
"""Reaction time of the oncoming driver; and the time until this driver sees that an ego leaves its lane."""

_OUT_M = 1.0
"""Offset from which on others see that the ego is out of its lane."""

_FOLLOWER_MPS2, _IMPATIENT_MPS2, _FOLLOWER_MPS = 2.0, 3.0, 3.0
"""Deceleration of a driver from behind for an ego that pulls out ahead of it; the same for an ego without any
patience; and the speed down to which this driver brakes, since the ego accelerates meanwhile."""

_PULLS_OUT_S, _FOLLOWER_RESPONSE_S = 1.5, 0.5
"""Time in which an ego that starts moves far enough aside for drivers behind it to react; and their reaction time."""


def with_yielding(ways: list[OnRoad], ego: EgoOnRoad, body: Body, brakes_mps2: float = YIELD_MPS2) -> list[OnRoad]:
    """`ways` in which each oncoming vehicle brakes for the ego if it can stop in front of it.

    A vehicle that comes nearer without braking can soon no longer stop, and is then assumed to drive on.
    """
    response_s = _RESPONSE_S + (_UNSEEN_S if abs(ego.offset_m) < _OUT_M else 0.0)
    return [_yielding(way, ego.s_m + body.front_m, brakes_mps2, response_s) for way in ways]


def _yielding(way: OnRoad, ego_front_m: float, brakes_mps2: float, response_s: float) -> OnRoad:
    """The motion of a road user that brakes before the ego's front, if it comes towards the ego and can stop
    there."""
    speed_mps = float(way.s_m[0] - way.s_m[1]) / STEP_S
    if not way.is_moving or speed_mps <= 0.0:
        return way
    stop_s = speed_mps / brakes_mps2
    room_m = float(way.s_m[0] - way.half_s_m[0]) - ego_front_m
    if room_m < speed_mps * response_s + 0.5 * speed_mps * stop_s:
        return way
    braking_s = np.clip(TIMES_S - response_s, 0.0, stop_s)
    driven_m = speed_mps * (np.minimum(TIMES_S, response_s) + braking_s) - 0.5 * brakes_mps2 * braking_s**2
    return replace(way, s_m=way.s_m[0] - driven_m)


def with_followers_slowing(ways: list[OnRoad], ego: EgoOnRoad, body: Body, seen: float) -> list[OnRoad]:
    """`ways` in which each vehicle from behind on another lane slows down for the ego that pulls out.

    These are the vehicles behind the ego's front that are faster than the ego and not on its lane. Their drivers see
    that the ego pulls out when it has moved aside by some offset; `seen` (0 to 1) is how much of that it has done.
    """
    response_s = _FOLLOWER_RESPONSE_S + _PULLS_OUT_S * (1.0 - min(max(seen, 0.0), 1.0))
    brakes_mps2 = _FOLLOWER_MPS2 + ego.impatience * (_IMPATIENT_MPS2 - _FOLLOWER_MPS2)
    return [_slowing(way, ego, body, brakes_mps2, response_s) for way in ways]


def _slowing(way: OnRoad, ego: EgoOnRoad, body: Body, brakes_mps2: float, response_s: float) -> OnRoad:
    """The motion of a road user that slows down behind the ego's front, if it comes from behind on another lane."""
    speed_mps = float(way.s_m[1] - way.s_m[0]) / STEP_S
    slower_mps = max(_FOLLOWER_MPS, ego.speed_mps)
    front_s_m = float(way.s_m[0] + way.half_s_m[0])
    if not way.is_moving or speed_mps <= slower_mps or front_s_m > ego.s_m + body.front_m or is_in_line(way, ego, body):
        return way
    braking_s = np.clip(TIMES_S - response_s, 0.0, (speed_mps - slower_mps) / brakes_mps2)
    since_s = np.maximum(TIMES_S - response_s, 0.0)
    lost_m = 0.5 * brakes_mps2 * braking_s**2 + brakes_mps2 * braking_s * (since_s - braking_s)
    return replace(way, s_m=way.s_m - lost_m)
