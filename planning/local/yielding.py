"""Oncoming drivers who slow down for an ego that is on its way past an obstacle, in their lane.

An ego that gave up its pass for each car that comes in sight would stand in their lane, or too near to the obstacle to
steer around it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planning.local.lattice import STEP_S
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad

YIELD_MPS2 = 3.0
"""An oncoming driver brakes like this for an ego in the own lane."""

_RESPONSE_S, _UNSEEN_S = 1.0, 1.0
"""The driver's time to respond; and the time until an ego that is still in its lane is seen to leave it."""

_OUT_M = 1.0
"""From this offset on, the ego is seen to be out of its lane."""


def with_yielding(ways: list[OnRoad], ego: EgoOnRoad, body: Body, brakes_mps2: float = YIELD_MPS2) -> list[OnRoad]:
    """`ways` where each oncoming vehicle that can stop before the ego brakes for it.

    One that comes nearer without braking can soon no longer stop, and is then taken to drive on.
    """
    response_s = _RESPONSE_S + (_UNSEEN_S if abs(ego.offset_m) < _OUT_M else 0.0)
    return [_yielding(way, ego.s_m + body.front_m, brakes_mps2, response_s) for way in ways]


def _yielding(way: OnRoad, ego_front_m: float, brakes_mps2: float, response_s: float) -> OnRoad:
    """The way of one who brakes before the ego's front, if it comes towards the ego and can stop there."""
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
