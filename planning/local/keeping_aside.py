"""How far the ego moves aside, within its lane, from vehicles that stand beside its path, and from oncoming ones.

The door of a vehicle that stands may open, and reaches 1 m out of its side. An oncoming vehicle may cut a bend, or
drive around something on its own lane. Where the ego's lane has room, the ego keeps away from both; nothing else of
its driving changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from av_core.types import Float, ObjectKind
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, OnRoad
from planning.local.road import RoadLayout

_DOOR_M = 1.2
"""Distance that the ego keeps from a vehicle that stands, where its lane has room."""

_NEAREST_M = 0.35
"""Distance to the path of an ego in the middle of its lane below which a standing vehicle needs a search for a
path around it."""

_STANDS_MPS, _DRIVES_MPS = 1.0, 2.0
"""Speed below which a vehicle beside the path may stand, and above which it drives after all."""

_EDGE_M = 0.1
"""Distance that is left between the ego's body and the edge of its lane."""

_MOST_M = 0.8
"""Largest offset from the middle of the lane."""

_LEAST_M = 0.1
"""Smallest offset for which the ego leaves the middle of the lane."""

_BEHIND_M = 10.0
"""Distance behind the ego's rear up to which vehicles count; the search uses the same distance."""

_BESIDE_M = 2.0
"""Distance before and behind a vehicle over which the ego keeps aside."""

_ONCOMING_M, _ONCOMING_NEAR_M = 1.1, 0.8
"""Distance that the ego keeps from an oncoming vehicle, where its lane has room; and the distance to an ego in the
middle of its lane below which it moves aside. Two cars in the middles of lanes of 3 m are 1.1 m apart."""

_MEETS_S, _ALREADY_M = 4.0, 2.0
"""Time in which an oncoming vehicle has to meet the ego; it is no farther from the ego's path now than this distance
and where it meets the ego. Else its place then is uncertain."""

_ONCOMING_SURE_S, _MORE_COME_S = 0.2, 3.0
"""Time for which an oncoming vehicle has to be too near; and for which the ego stays aside after the last one: others
may follow it."""

_ASIDE_M, _ASIDE_S = 20.0, 3.0
"""The ego keeps aside from oncoming vehicles for this distance plus its way in this time."""

_RAMP_S, _RAMP_MIN_M = 2.0, 12.0
"""The ego moves aside over this time, and over at least this distance."""


class BesideWay:
    """The vehicles that stand beside an ego in the middle of its lane, and near it. Call `update` once a step.

    The speed of a vehicle that stands is measured with a standard deviation of 0.5 m/s. So a vehicle counts once it is
    slower than `_STANDS_MPS`, until it is faster than `_DRIVES_MPS`.
    """

    def __init__(self) -> None:
        self._standing: frozenset[int] = frozenset()

    def update(self, ways: Sequence[OnRoad], ego: EgoOnRoad, body: Body) -> list[OnRoad]:
        """Those of `ways` that the ego passes closely."""
        found = [way for way in ways if self._stands(way) and _is_beside(way, ego, body)]
        self._standing = frozenset(way.one.item.track_id for way in found)
        return found

    def _stands(self, way: OnRoad) -> bool:
        item = way.one.item
        limit_mps = _DRIVES_MPS if item.track_id in self._standing else _STANDS_MPS
        return item.kind is not ObjectKind.PEDESTRIAN and item.speed_mps < limit_mps


class OncomingTooNear:
    """Remembers how near oncoming vehicles come to an ego in the middle of its lane. Call `update` once a step."""

    def __init__(self) -> None:
        self._gap_m: float | None = None
        self._since_s: float | None = None
        self._seen_s = -np.inf

    def update(self, ways: Sequence[OnRoad], ego: EgoOnRoad, body: Body, time_s: float) -> float | None:
        """The least gap, m, to those that come too near; None if there are none, nor were in the last seconds."""
        gaps_m = [gap_m for way in ways if (gap_m := _gap_when_met_m(way, ego, body)) is not None]
        near_m = min((gap_m for gap_m in gaps_m if gap_m < _ONCOMING_NEAR_M), default=None)
        if near_m is None:
            self._since_s = None
        elif self._since_s is None:
            self._since_s = time_s
        if near_m is not None and self._since_s is not None and time_s - self._since_s >= _ONCOMING_SURE_S:
            self._gap_m = near_m if self._gap_m is None else min(near_m, self._gap_m)
            self._seen_s = time_s
        if time_s - self._seen_s > _MORE_COME_S:
            self._gap_m = None
        return self._gap_m


def offsets_from_oncoming(s_m: Float, gap_m: float, ego: EgoOnRoad, layout: RoadLayout, body: Body) -> Float:
    """Offsets, m to the left, at all points of a route, arc lengths (N,), that keep the ego away from oncoming ones.

    They are on the left of the ego, at `gap_m` from one in the middle of its lane. `layout` belongs to these points.
    """
    until_s_m = ego.s_m + _ASIDE_M + _ASIDE_S * ego.speed_mps
    rows = slice(*np.searchsorted(s_m, [ego.s_m - body.rear_m, until_s_m]).tolist())
    room_m = float((-layout.right_m[rows]).min(initial=np.inf)) - 0.5 * body.width_m - _EDGE_M
    aside_m = min(_ONCOMING_M - gap_m, _MOST_M, room_m)
    if aside_m < _LEAST_M:
        return np.zeros(len(s_m))
    return -_bump(s_m, ego.s_m, until_s_m, ego.speed_mps) * aside_m


def _gap_when_met_m(way: OnRoad, ego: EgoOnRoad, body: Body) -> float | None:
    """Distance between an oncoming vehicle and the side of an ego in the middle of its lane, when they meet.

    None if they do not meet soon, or not side by side.
    """
    if not way.is_oncoming or way.one.item.kind is ObjectKind.PEDESTRIAN or float(way.s_m[0]) < ego.s_m - body.rear_m:
        return None
    before_m = way.s_m - (ego.s_m + ego.speed_mps * TIMES_S)
    met = np.flatnonzero(before_m <= 0.0)
    if len(met) == 0 or TIMES_S[met[0]] > _MEETS_S:
        return None
    row = int(met[0])
    reach_m = float(way.half_d_m[row]) + 0.5 * body.width_m
    d_m = float(way.d_m[row])
    if d_m <= 0.5 * reach_m or abs(d_m - float(way.d_m[0])) > _ALREADY_M:
        return None
    return d_m - reach_m


def _bump(s_m: Float, first_m: float, last_m: float, speed_mps: float) -> Float:
    """1 between two arc lengths, and 0 from the ego's way in some time before and after them on."""
    ramp_m = max(_RAMP_S * speed_mps, _RAMP_MIN_M)
    away_m = np.maximum(np.maximum(first_m - s_m, s_m - last_m), 0.0)
    return np.asarray(0.5 * (1.0 + np.cos(np.pi * np.minimum(away_m / ramp_m, 1.0))))


def offsets_aside(s_m: Float, beside: Sequence[OnRoad], speed_mps: float, layout: RoadLayout, body: Body) -> Float:
    """Offsets, m to the left, at all points of a route, arc lengths (N,), that keep the ego away from those beside it.

    `layout` belongs to these points.
    """
    to_left, to_right = np.zeros(len(s_m)), np.zeros(len(s_m))
    for way in beside:
        s, half_m = float(way.s_m[0]), float(way.half_s_m[0]) + _BESIDE_M
        first_m, last_m = s - half_m - body.front_m, s + half_m + body.rear_m
        rows = slice(*np.searchsorted(s_m, [first_m, last_m]).tolist())
        wanted_m = min(_DOOR_M - _gap_m(way, body), _MOST_M)
        if way.d_m[0] > 0.0:
            room_m = float((-layout.right_m[rows]).min(initial=np.inf)) - 0.5 * body.width_m - _EDGE_M
        else:
            room_m = float(layout.left_m[rows].min(initial=np.inf)) - 0.5 * body.width_m - _EDGE_M
        aside_m = min(wanted_m, room_m)
        if aside_m < _LEAST_M:
            continue
        bump = aside_m * _bump(s_m, first_m, last_m, speed_mps)
        side = to_right if way.d_m[0] > 0.0 else to_left
        np.maximum(side, bump, out=side)
    return np.asarray(to_left - to_right)


def _gap_m(way: OnRoad, body: Body) -> float:
    """Distance between a road user and the side of an ego in the middle of its lane."""
    return abs(float(way.d_m[0])) - float(way.half_d_m[0]) - 0.5 * body.width_m


def _is_beside(way: OnRoad, ego: EgoOnRoad, body: Body) -> bool:
    s, half_m = float(way.s_m[0]), float(way.half_s_m[0])
    is_ahead = ego.s_m - body.rear_m - _BEHIND_M < s + half_m
    return is_ahead and _NEAREST_M < _gap_m(way, body) < _DOOR_M - _LEAST_M
