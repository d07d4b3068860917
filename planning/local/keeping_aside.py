"""How far the ego moves aside, within its lane, from vehicles that stand beside its path: their doors may open.

A door reaches 1 m out of a car's side. Where its lane has room, the ego keeps more than that from what stands beside
it; nothing else of its driving changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from av_core.types import Float, ObjectKind
from planning.local.occupancy import Body, EgoOnRoad, OnRoad
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

_RAMP_S, _RAMP_MIN_M = 2.0, 12.0
"""The ego moves aside over this time, and over at least this distance."""


class BesideWay:
    """The vehicles that stand beside an ego in the middle of its lane, and near it. Call `update` once a step.

    The speed of a vehicle that stands is measured with a standard deviation of 0.5 m/s, so one below `_STANDS_MPS`
    counts, and from then on until it is faster than `_DRIVES_MPS`.
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


def offsets_aside(s_m: Float, beside: Sequence[OnRoad], speed_mps: float, layout: RoadLayout, body: Body) -> Float:
    """Offsets, m to the left, at all points of a route, arc lengths (N,), that keep the ego away from those beside it.

    `layout` belongs to these points.
    """
    ramp_m = max(_RAMP_S * speed_mps, _RAMP_MIN_M)
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
        away_m = np.maximum(np.maximum(first_m - s_m, s_m - last_m), 0.0)
        bump = aside_m * 0.5 * (1.0 + np.cos(np.pi * np.minimum(away_m / ramp_m, 1.0)))
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
