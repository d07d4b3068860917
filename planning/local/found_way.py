"""Interprets a path that the search found: whether the ego makes progress, where it waits, and whose times it
keeps to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from av_core.types import Float
from planning.local.lattice import LatticePath
from planning.local.occupancy import EgoOnRoad, OnRoad

_STEPPING_MPS, _STEP_UP_M, _HALTING_MPS2 = 1.5, 1.5, 2.0
"""Shortest distance for which an ego that hardly moves goes on if it has to stand again within 4 s; else it stops."""

_GETS_ON_M = 10.0
"""Least distance within the search horizon that counts as progress."""

_STOP_SLACK_M = 3.0
"""A waiting place within this distance of the stop for a light or sign is that stop."""

SOON = 9
"""Layers of the next 4 s."""

_HOLD_S, _HOLD_MIN_M = 2.0, 15.0
"""Time and least distance for which a path keeps a lane."""

_BACK_S, _BACK_MIN_M = 1.5, 10.0
"""Time and least distance of a path back to the lane, or to the middle of the nearest one."""

BACK_ON_ROUTE = LatticePath(np.array([0.0, 2.0]), np.array([0.0, 15.0]), np.zeros(2), np.full(2, 99.0), 0.0, True)
"""The path of an ego that is in its lane and has nothing to pass."""

PASSING = replace(BACK_ON_ROUTE)
"""The path of an ego that changes lanes, or is in the lane beside: the profile says where."""


def goes_on(found: LatticePath) -> bool:
    """Whether the ego makes progress on a complete path: it does not wait all the time."""
    return found.is_complete and float(found.along_m[-1]) > _GETS_ON_M


def undecided(found: LatticePath) -> LatticePath:
    """Only the first moment of a path, without waiting places and speeds."""
    first = slice(0, 1)
    return replace(
        found,
        time_s=found.time_s[first],
        along_m=found.along_m[first],
        offset_m=found.offset_m[first],
        speed_mps=found.speed_mps[first],
        is_complete=False,
    )


def held_lane(start: EgoOnRoad, middle_m: Float, beside_m: float) -> LatticePath:
    """A way along the middle of a lane beside the route, whose offsets (N,) are one a metre.

    It begins `beside_m` to the left of the middle. After some time it leads back to the route.
    """
    along_m = np.arange(len(middle_m), dtype=np.float64)
    hold_m = max(_HOLD_S * start.speed_mps, _HOLD_MIN_M)
    into_lane = np.clip(1.0 - along_m / max(_BACK_S * start.speed_mps, _BACK_MIN_M), 0.0, 1.0)
    to_route = np.clip(2.0 - along_m / hold_m, 0.0, 1.0)
    zeros = np.zeros(len(middle_m))
    return LatticePath(zeros, along_m, (middle_m + beside_m * into_lane) * to_route, zeros + start.speed_mps, 0.0, True)


def back_to_lane(start: EgoOnRoad, offset_m: float) -> LatticePath:
    """A way that leads back to the route as soon as the ego can."""
    along_m = max(_BACK_S * start.speed_mps, _BACK_MIN_M) * np.array([0.0, 1.0, 1.1])
    return LatticePath(np.zeros(3), along_m, np.array([offset_m, 0.0, 0.0]), np.full(3, start.speed_mps), 0.0, True)


def schedule(
    found: LatticePath, start: EgoOnRoad, ways: list[OnRoad], front_s_m: float
) -> tuple[tuple[Float, Float] | None, frozenset[int]]:
    """Arc lengths and speeds of a pass, and the track ids of the vehicles that its times take into account.

    These are oncoming ones, and those that drive along and are not ahead of `front_s_m`.
    """
    if found is BACK_ON_ROUTE or not found.is_complete:
        return None, frozenset()
    met = frozenset(way.one.item.track_id for way in ways if way.is_moving and _is_timed(way, front_s_m))
    return (start.s_m + found.along_m, found.speed_mps), met


def _is_timed(way: OnRoad, front_s_m: float) -> bool:
    """Whether the times of a pass take a moving vehicle into account: it comes, or is beside or behind the front."""
    return way.is_oncoming or float(way.s_m[0] - way.half_s_m[0]) < front_s_m


def waits_at(found: LatticePath, ego: EgoOnRoad, start: EgoOnRoad, stop_s_m: float) -> float | None:
    """The arc length at which the ego waits on the way `found`; None if it does not, or only for its stop."""
    stands = np.flatnonzero(found.speed_mps[1:] == 0.0) + 1
    if len(stands) == 0:
        return None
    along_m = float(found.along_m[stands[0]])
    if start.s_m + along_m > stop_s_m - _STOP_SLACK_M:
        return None
    soon = stands[stands < SOON]
    if ego.speed_mps < _STEPPING_MPS and len(soon) and float(found.along_m[soon[-1]]) < _STEP_UP_M:
        return ego.s_m + ego.speed_mps**2 / (2.0 * _HALTING_MPS2)
    return start.s_m + along_m
