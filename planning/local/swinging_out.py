"""Paths for an ego that stands close behind an obstacle: it swings out as tightly as it can steer.

The search (`lattice`) moves the ego aside in steps, and keeps its body parallel to the road. For that it needs a gap of
some 8 m. An ego that is turned needs 3 m. Here its path is two arcs, and its turned body is checked against the
obstacles exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from av_core.types import Float
from planning.local.occupancy import Body, EgoOnRoad, OnRoad
from planning.local.road import Beside, RoadLayout
from planning.reference_path import Route

_POINT_M = 0.25
"""Distance between two points of a path."""

_TURN_MAX_RAD = 0.9
"""Largest angle between the ego and the road."""

_ASIDE_M = (2.0, 2.5, 3.0, 3.5)
"""Offsets that are tried, to each side."""

_EDGE_M = 0.2
"""Distance that the ego's body keeps from the far edge of the lane beside."""

_EVERY = 5
"""Steps between two searches for such a path."""

_BEYOND_M, _RETURN_M = 2.0, 25.0
"""Distance of the ego's rear beyond the obstacles up to which it keeps its offset; and the distance over which it
then returns."""

_MARGIN_M, _PARALLEL_M = 0.3, 0.45
"""Distances that are left to an obstacle while the ego turns, and beside it."""


@dataclass(frozen=True, slots=True)
class Swing:
    """A path out of the lane and back: offsets (N,) at arc lengths of the route (N,), from the ego on."""

    s_m: Float
    offset_m: Float


class SwingOut:
    """Finds paths out of the lane along one route, and remembers the one that the ego drives."""

    def __init__(self, route: Route, layout: RoadLayout, body: Body) -> None:
        self._route, self._layout, self._body = route, layout, body
        self._steps = 0
        self._end_s_m = -np.inf

    def begin(self, swing: Swing) -> None:
        self._end_s_m = float(swing.s_m[-1])

    def end(self) -> None:
        self._end_s_m = -np.inf

    def is_on(self, ego: EgoOnRoad) -> bool:
        """Whether the ego is on its way out, or back."""
        return ego.s_m < self._end_s_m

    def swings(self, reasons: Sequence[OnRoad], ego: EgoOnRoad) -> Iterator[Swing]:
        """The paths around what is close before an ego that stands, nearest first; they touch none of it.

        Only now and then: the search along each of them takes time.
        """
        self._steps += 1
        standing = [way for way in reasons if not way.is_moving and float(way.s_m[0]) > ego.s_m]
        if self._steps % _EVERY or not standing:
            return
        last_s_m = max(float(way.s_m[0] + way.half_s_m[0]) for way in standing) + self._body.rear_m + _BEYOND_M
        rows = slice(self._route.row_at(ego.s_m), self._route.row_at(last_s_m) + 1)
        for aside_m in _ASIDE_M:
            for sign, side in ((1.0, self._layout.left), (-1.0, self._layout.right)):
                room_m = float((sign * side.edge_m[rows]).min()) - 0.5 * self._body.width_m - _EDGE_M
                if (side.kind[rows] == Beside.NOTHING).any() or aside_m > room_m:
                    continue
                swing = two_arcs(ego, sign * aside_m, last_s_m, self._body.turn_radius_m)
                if swing is not None and all(is_clear(swing.s_m, swing.offset_m, way, self._body) for way in standing):
                    yield swing


def two_arcs(ego: EgoOnRoad, aside_m: float, last_s_m: float, radius_m: float) -> Swing | None:
    """Two arcs to an offset, straight on past `last_s_m`, and back; None where the ego would have to turn too far."""
    sign = 1.0 if aside_m > ego.offset_m else -1.0
    turn_rad, way_m = sign * ego.turn_rad, abs(aside_m - ego.offset_m)
    cosine = 0.5 * (1.0 + np.cos(turn_rad) - way_m / radius_m)
    middle_rad = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
    if middle_rad < turn_rad:  # the ego is turned so far already that the second arc alone leads beyond the offset
        middle_rad = turn_rad
    if middle_rad > _TURN_MAX_RAD:
        return None
    first = np.linspace(turn_rad, middle_rad, 1 + math.ceil(radius_m * (middle_rad - turn_rad) / _POINT_M))
    second = np.linspace(middle_rad, 0.0, max(2, round(radius_m * middle_rad / _POINT_M)))
    s_1 = radius_m * (np.sin(first) - np.sin(turn_rad))
    d_1 = radius_m * (np.cos(turn_rad) - np.cos(first))
    s_2 = s_1[-1] + radius_m * (np.sin(middle_rad) - np.sin(second))
    d_2 = d_1[-1] + radius_m * (np.cos(second) - np.cos(middle_rad))
    s = ego.s_m + np.concatenate([s_1, s_2[1:]])
    offset_m = ego.offset_m + sign * np.concatenate([d_1, d_2[1:]])
    hold_m = np.arange(1, 1 + math.ceil(max(last_s_m - float(s[-1]), 0.0) / _POINT_M)) * _POINT_M
    back = np.linspace(0.0, 1.0, round(_RETURN_M / _POINT_M))[1:]
    s = np.concatenate([s, s[-1] + hold_m])
    offset_m = np.concatenate([offset_m, np.full(len(hold_m), offset_m[-1])])
    returning_m = 0.5 * offset_m[-1] * (1.0 + np.cos(np.pi * back))
    return Swing(np.concatenate([s, s[-1] + back * _RETURN_M]), np.concatenate([offset_m, returning_m]))


def is_clear(s_m: Float, offset_m: Float, way: OnRoad, body: Body) -> bool:
    """Whether an ego on a path, offsets (N,) at arc lengths (N,), touches no corner of what stands beside it."""
    near = np.abs(s_m - float(way.s_m[0])) < float(way.half_s_m[0]) + body.front_m + 1.0
    if not near.any():
        return True
    turn = np.arctan(np.gradient(offset_m, s_m))[near]
    along, across = _outline(body)
    c, s = np.cos(turn)[:, None], np.sin(turn)[:, None]
    beyond_s = np.abs(s_m[near, None] + along * c - across * s - float(way.s_m[0])) - float(way.half_s_m[0])
    beyond_d = np.abs(offset_m[near, None] + along * s + across * c - float(way.d_m[0])) - float(way.half_d_m[0])
    beyond_m = np.hypot(np.maximum(beyond_s, 0.0), np.maximum(beyond_d, 0.0))
    margin_m = np.where(np.abs(turn) > 0.1, _MARGIN_M, _PARALLEL_M)
    return bool((beyond_m > margin_m[:, None]).all())


def _outline(body: Body) -> tuple[Float, Float]:
    """Points around the ego's body, (M,) along and (M,) across, from its origin."""
    along = np.linspace(-body.rear_m, body.front_m, 17)
    across = np.linspace(-0.5 * body.width_m, 0.5 * body.width_m, 7)
    return (
        np.concatenate([along, along, np.full(7, -body.rear_m), np.full(7, body.front_m)]),
        np.concatenate([np.full(17, across[0]), np.full(17, across[-1]), across, across]),
    )
