"""Builds the input of the path search: which cells of the road ahead the ego may use, and when other road users
occupy them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float
from planning.local.lattice import (
    CELLS,
    CENTRE,
    COLUMN_M,
    COLUMNS,
    DURING,
    LAYERS,
    OFF_ROAD,
    ONCOMING_LANE,
    OWN_LANE,
    SAME_DIRECTION,
    TOP_MPS,
    RoadCells,
)
from planning.local.occupancy import TIMES_S, Body, EgoOnRoad, Gaps, OnRoad, is_in_line, take_cells
from planning.local.profile import EDGE_M, IN_LANE_M, OffsetProfile
from planning.local.road import Beside, RoadLayout
from planning.reference_path import Route

_ROOM_M, _SLOW_MPS, _MORE_ROOM_S = 11.0, 14.0, 2.5
"""Gap behind a standing obstacle that the ego needs to steer around it. On a road with a higher limit than the speed,
the gap grows by the excess times the time: the ego accelerates in it, since traffic on the next lane is fast.
"""

_BEFORE_M, _AFTER_M = 50.0, 35.0
"""Distance before and behind an obstacle within which the lanes beside the ego's may be used."""

_LATERAL_MPS2 = 3.0
"""Lateral acceleration on a path around something, as on a bend of the road."""

_BEFORE_S = 6.0
"""Time before an obstacle, at the speed limit, from which on a lane in the ego's direction may be used."""

_ROADSIDE_CELLS = 40
"""Metres in which an ego that pulls out may still be beside its lane."""

_STAYS_M = 0.5
"""Distance ahead beyond which an ego beside the road should not stand."""

_SEEN_M = 100.0
"""Distance to which the ego sees oncoming vehicles. Beyond it, a vehicle may come at the speed limit."""

_THEIR_BRAKING_MPS2, _THEIR_RESPONSE_S = 4.0, 1.0
"""Deceleration and reaction time of an oncoming driver who sees the ego."""


def room_to_pass_m(limit_mps: float) -> float:
    """The gap in which the ego waits behind what it wants to pass, on a road with this speed limit."""
    return _ROOM_M + _MORE_ROOM_S * max(limit_mps - _SLOW_MPS, 0.0)


@dataclass(frozen=True, slots=True)
class RoadAhead:
    """What is known of the road ahead in one step.

    * `ways`: the predicted motions of other road users.
    * `reasons`: the road users for which the ego leaves its lane; for those in `slow`, it only uses a lane in its
      direction.
    * `top_speed`: the highest speed without other road users, as arc lengths and m/s; `stop_s_m`: where the ego stops.
    * `pulls_out`: whether the ego comes from the side of the road.
    """

    ways: list[OnRoad]
    reasons: list[OnRoad]
    slow: list[OnRoad]
    top_speed: tuple[Float, Float]
    stop_s_m: float
    pulls_out: bool = False


def _open_roadside(zone: NDArray[np.uint8], shift_m: float, offset_m: float) -> None:
    """Make the way from an ego beside the road to its lane a part of the road, in place."""
    column = min(max(round((offset_m - shift_m) / COLUMN_M) + CENTRE, 0), COLUMNS - 1)
    way = zone[:_ROADSIDE_CELLS, min(column, CENTRE) : max(column, CENTRE) + 1]
    np.maximum(way, OWN_LANE, out=way)


def _bend_speed_mps(offset_m: Float) -> Float:
    """The highest speeds on a path with these offsets (CELLS,), whose bends come on top of those of the road."""
    bend_1pm = np.abs(np.gradient(np.gradient(offset_m)))
    return np.asarray(np.sqrt(_LATERAL_MPS2 / np.maximum(bend_1pm, _LATERAL_MPS2 / TOP_MPS**2)))


class CellBuilder:
    """Makes the cells of the search along one route; the search prefers the offsets of `profile`.

    The arrays of one `RoadCells` are valid until the next is built.
    """

    def __init__(self, route: Route, layout: RoadLayout, body: Body, profile: OffsetProfile) -> None:
        self._route, self._layout, self._body, self._profile = route, layout, body, profile
        self._blocked = np.zeros((LAYERS, CELLS, COLUMNS), dtype=np.uint8)

    def build(
        self,
        road: RoadAhead,
        start: EgoOnRoad,
        shift_m: Float,
        gaps: Gaps,
        *,
        only_centre: bool = False,
        anywhere: bool = False,
    ) -> RoadCells:
        """What the search knows of the road from `start` on, with `only_centre` of the middle column alone.

        With `anywhere`, the lanes beside the ego's may be used without an obstacle.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        top_mps = np.interp(s, *road.top_speed)
        if only_centre:
            top_mps = np.minimum(top_mps, _bend_speed_mps(shift_m))
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(start.s_m)])
        may_pass = self._may_pass(s, road.reasons, _BEFORE_M) | anywhere
        before_m = max(_BEFORE_M, _BEFORE_S * limit_mps)
        may_change = self._may_pass(s, road.reasons + road.slow, before_m) | self._may_change(s)
        zone = self._zone(s, shift_m, may_pass, may_change)
        if road.pulls_out:
            _open_roadside(zone, float(shift_m[0]), start.offset_m)
        if only_centre:
            zone[:, :CENTRE] = zone[:, CENTRE + 1 :] = OFF_ROAD
        self._blocked[:] = 0
        # Who follows the ego keeps its distance by itself.
        others = [way for way in road.ways if float(way.s_m[0]) > start.s_m or not is_in_line(way, start, self._body)]
        take_cells(self._blocked, start, shift_m, others, self._body, gaps)
        self._block_unseen(zone, limit_mps)
        rears = (float((way.s_m - way.half_s_m).min()) for way in road.reasons)
        wait_s_m = min(rears, default=np.inf) - self._body.front_m - room_to_pass_m(limit_mps)
        if road.pulls_out:  # it waits where it stands, and keeps the room ahead for its start
            wait_s_m = min(wait_s_m, start.s_m + _STAYS_M)
        return RoadCells(
            blocked=self._blocked,
            zone=zone,
            speed_mps=np.maximum(top_mps, 1.0),
            before_m=self._profile.at(s),
            shift_m=shift_m,
            stop_m=road.stop_s_m - start.s_m,
            wait_m=wait_s_m - start.s_m,
        )

    def _may_pass(self, s: Float, reasons: list[OnRoad], before_m: float) -> NDArray[np.bool_]:
        """(CELLS,) Where the ego may use a lane beside its own: near what it passes, and while it is there."""
        allowed = np.zeros(CELLS, dtype=bool)
        for way in reasons:
            low, high = (way.s_m - way.half_s_m).min(), (way.s_m + way.half_s_m).max()
            allowed |= (s > low - before_m) & (s < high + _AFTER_M)
        outside = np.abs(self._profile.at(s)) > IN_LANE_M
        if outside.any():
            allowed |= s < s[outside][-1] + _AFTER_M
        return allowed

    def _may_change(self, s: Float) -> NDArray[np.bool_]:
        """(CELLS,) Where the ego may use a lane in its direction: on a lane change of the route, and late after it."""
        rows = self._route.curve.rows_at(s)
        changes = s[self._route.is_change[rows]]
        if len(changes) == 0:
            return np.zeros(CELLS, dtype=bool)
        return np.asarray((s > changes[0] - 5.0) & (s < changes[-1] + _BEFORE_M))

    def _zone(
        self, s: Float, shift_m: Float, may_pass: NDArray[np.bool_], may_change: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """(CELLS, COLUMNS) What the ego's body lies on; off the road where it may not be."""
        layout = self._layout
        rows = self._route.curve.rows_at(s)
        offset = (np.arange(COLUMNS) - CENTRE) * COLUMN_M
        half = 0.5 * self._body.width_m - EDGE_M
        left, right = offset + half + shift_m[:, None], offset - half + shift_m[:, None]
        own_left, own_right = layout.left_m[rows, None], layout.right_m[rows, None]
        zone = np.zeros((CELLS, COLUMNS), dtype=np.uint8)
        zone[(left <= own_left) & (right >= own_right)] = OWN_LANE
        for side, is_over, is_inside in (
            (layout.left, left > own_left, (left <= layout.left.edge_m[rows, None]) & (right >= own_right)),
            (layout.right, right < own_right, (right >= layout.right.edge_m[rows, None]) & (left <= own_left)),
        ):
            kind = side.kind[rows, None]
            is_open = is_over & is_inside
            zone[is_open & (kind == Beside.SAME) & (may_pass | may_change)[:, None]] = SAME_DIRECTION
            zone[is_open & (kind == Beside.ONCOMING) & may_pass[:, None]] = ONCOMING_LANE
        zone[:, CENTRE] = np.maximum(zone[:, CENTRE], OWN_LANE)  # the route itself, also through narrow lanes
        return zone

    def _block_unseen(self, zone: NDArray[np.uint8], limit_mps: float) -> None:
        """Take the oncoming lane where a vehicle may be that the ego does not see yet."""
        brakes_m = limit_mps * _THEIR_RESPONSE_S + limit_mps**2 / (2.0 * _THEIR_BRAKING_MPS2)
        oncoming = zone == ONCOMING_LANE
        for layer, time_s in enumerate(TIMES_S[1:]):
            from_m = max(_SEEN_M - min(limit_mps * float(time_s), brakes_m), 0.0)
            self._blocked[layer, int(from_m) :][oncoming[int(from_m) :]] = DURING
