"""The local path: where on the road the ego drives, chosen by a search in space and time.

The route is the path by default. Where something blocks it that may be passed, or where a vehicle is beside a lane
change of the route, the search (`lattice`) finds the way around, within the ego's lane or through the lane beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, Indicator, LaneGraph, Manoeuvre, Prediction, TrafficLightView
from planning.local.blockers import Blockers, FrontView, PassedObstacles
from planning.local.hurry import HurryMemory, followers, update_hurry
from planning.local.lattice import (
    CELLS,
    CENTRE,
    COLUMN_M,
    COLUMNS,
    LAYERS,
    OFF_ROAD,
    ONCOMING_LANE,
    OWN_LANE,
    SAME_DIRECTION,
    LatticePath,
    RoadCells,
    SearchMemory,
    column_of,
    search,
)
from planning.local.making_room import SLOW_SHARE, Side, along_edge, leave_lane, ways_to_leave
from planning.local.occupancy import ALONG, TIGHT, TIMES_S, WIDE, Body, Gaps, OnRoad, on_road, take_cells
from planning.local.profile import shifted, smooth_offset
from planning.local.road import Beside, RoadLayout, road_layout
from planning.reference_path import Route
from planning.speed import Motion

_BEHIND_M = 40.0
"""Road users that are farther behind the ego than this do not matter."""

_BEFORE_M, _AFTER_M = 50.0, 35.0
"""The lanes beside the ego's may be used from this far before an obstacle to this far behind it."""

_BESIDE_M = 30.0
"""A road user within this distance along the road may be in the way of a lane change."""

_EDGE_M = 0.1
"""How far the ego's body may reach over the edge of what it may drive on."""

_SEEN_M = 100.0
"""Distance to which the ego sees oncoming vehicles. Beyond it, one may come at the speed limit."""

_THEIR_BRAKING_MPS2, _THEIR_RESPONSE_S = 4.0, 1.0
"""An oncoming driver who sees the ego brakes like this."""

_OFF_PROFILE_M = 1.2
"""Farther than this from its planned offset, the ego plans anew from where it is."""

_KEEP_M, _KEEP_S = 0.3, 0.3
"""The way ahead of the ego, as a distance plus what it drives in a time, on which a new plan keeps the old path."""

ROOM_TO_PASS_M = 11.0
"""Gap behind a standing obstacle that the ego needs to steer around it."""

_STANDING_MPS, _STEP_UP_M = 0.3, 1.5
"""An ego that stands does not start for less than this way to the place where it waits."""

_ROOM_IN_LANE_M = 0.8
"""What stands farther from the lane's centre than this may leave room to pass within the lane."""

_STOP_SLACK_M = 3.0
"""A place to wait that is so near to the stop of a light or sign is that stop."""

_SLOWER_MPS = 1.5
"""The ego slows down for a plan that is slower than it by more than this after a second."""

_SOON = 9
"""Layers of the next 4 s. Out of its lane, the ego looks for another way if it had to slow down on the old one in them:
it would have to wait with its return. Before that, another way would begin later and later."""

_OUT_OF_LANE_M = 2.5

_BACK_S = 3.0
"""The return from a lane beside the route takes at least this time."""

_BESIDE_CELLS, _LOOKS_EVERY = 60, 5
"""Metres ahead in which a lane beside has to begin; and steps from one search for a gap to the next, since a search
that finds none takes ten times as long as another.
"""

_CLEAR_M, _CLEAR_POINTS = 0.1, 9
"""A path is clear of what it is farther away from than this, at so many places along it."""

_GENTLE_MPS2, _GENTLE_S = 5.0, 2.0
"""A new path is not taken if it needs more than this lateral acceleration within this time: the ego brakes instead."""

_SHIFT_M = 15.0
"""Distance in which the columns of the search move from the ego's offset to whole columns beside the route."""

_BETTER_M = 5.0
"""A new path replaces the old one only if it saves more way than this, or if the old one is no longer free."""

_BACK_M = 30.0
"""Distance in which the path returns to the route beyond the end of a plan."""

_AGAINST_M = 0.5
"""Way against the ego's direction, in a step of the search, of an oncoming vehicle."""

_ON_ROUTE_M = 0.02
_IN_LANE_M = 0.3
"""Offsets below these count as none: of the path, and of a manoeuvre."""

_LOOK_AHEAD_M = 40.0

_INDICATED_S, _INDICATED_M = 3.0, 1.0
"""The ego indicates when its offset changes by more than this distance in this time."""


_BACK_ON_ROUTE = LatticePath(np.array([0.0, 2.0]), np.array([0.0, 15.0]), np.zeros(2), np.full(2, 99.0), 0.0, True)
"""The way of an ego that has nothing to pass and is in its lane."""


@dataclass(frozen=True, slots=True)
class EgoOnRoad:
    """The ego in coordinates of the route: arc length and offset of its origin, and its speed."""

    s_m: float
    offset_m: float
    speed_mps: float


@dataclass(frozen=True, slots=True)
class LocalPath:
    """The path that the ego drives: `route` with its curve moved to the side.

    `offset_m` (N,) is how far, for the points of the route. `passed` are the track ids of those that it leads around,
    now or soon. `prediction` has the obstacles beside the ego where they were last seen whole. The search may want the
    ego to wait at `stop_s_m`, or to be slower for the next metres.

    `schedule` are arc lengths and speeds, m/s, that keep the times of a pass: an ego that is not faster meets none of
    those `met`, which are the track ids of oncoming vehicles. The ego makes room for those `let_by`. The path is
    `clear_of` those of `passed` that it does not touch.
    """

    route: Route
    offset_m: Float
    prediction: Prediction
    manoeuvre: Manoeuvre = Manoeuvre.FOLLOW_LANE
    passed: frozenset[int] = frozenset()
    stop_s_m: float | None = None
    slower_mps: float | None = None
    schedule: tuple[Float, Float] | None = None
    met: frozenset[int] = frozenset()
    let_by: frozenset[int] = frozenset()
    clear_of: frozenset[int] = frozenset()

    @property
    def is_passing(self) -> bool:
        """Whether the ego drives around what stands in its way now: it neither waits nor stays in its lane."""
        return self.schedule is not None and self.stop_s_m is None

    def indicator(self, s_m: float, motion: Motion) -> Indicator:
        """The side to which the ego moves in the next seconds, if it moves far."""
        then_s_m = float(np.interp(_INDICATED_S, motion.time_s, motion.s_m))
        now_m, then_m = np.interp([s_m, then_s_m], self.route.s_m, self.offset_m)
        if abs(then_m - now_m) < _INDICATED_M:
            return Indicator.OFF
        return Indicator.LEFT if then_m > now_m else Indicator.RIGHT


@dataclass(frozen=True, slots=True)
class _Road:
    """What is known of the road ahead in this step. `reasons` are those of `ways` that the ego leaves its route for."""

    ways: list[OnRoad]
    reasons: list[OnRoad]
    top_speed: tuple[Float, Float]
    stop_s_m: float


class LocalPlanner:
    """Chooses the local path along one route, step by step; each plan starts from the one before."""

    def __init__(self, route: Route, graph: LaneGraph, body: Body, view: FrontView | None = None) -> None:
        self._route, self._body = route, body
        self._layout: RoadLayout = road_layout(route, graph)
        self._offset_m: Float = np.zeros(len(route.s_m))
        self._blockers, self._passed = Blockers(), PassedObstacles(view)
        self._memory, self._hurry = SearchMemory(), HurryMemory()
        self._let_by: frozenset[int] = frozenset()
        self._steps_without_room = 0
        self._blocked = np.zeros((LAYERS, CELLS, COLUMNS), dtype=np.uint8)

    def plan(
        self,
        prediction: Prediction,
        lights: Mapping[str, TrafficLightView],
        ego: EgoOnRoad,
        top_speed: tuple[Float, Float],
        stop_s_m: float,
    ) -> LocalPath:
        """The path from now on.

        `top_speed` is the highest speed without other road users: arc lengths and m/s. The ego will stop at `stop_s_m`.
        """
        route = self._route
        first, last = route.row_at(ego.s_m - _BEHIND_M), route.row_at(ego.s_m + CELLS + 20.0)
        curve = route.curve.part(slice(first, max(last, first + 2), 2))
        seen = on_road(curve, prediction)
        ways = self._passed.settle(seen, ego.s_m, ego.offset_m, prediction.stamp.time_s)
        prediction = _with_objects_of(prediction, ways)
        standing = self._blockers.update(ways, route, lights, prediction.stamp.time_s)
        rows = slice(route.row_at(ego.s_m - 5.0), route.row_at(ego.s_m + CELLS) + 1)
        planned_m = float(np.interp(ego.s_m, route.s_m, self._offset_m))
        if abs(ego.offset_m - planned_m) > _OFF_PROFILE_M:
            self._offset_m[rows] = ego.offset_m * np.clip(1.0 - (route.s_m[rows] - ego.s_m) / _BACK_M, 0.0, 1.0)
        self._passed.hold(ways, standing.obstacles)
        reasons = [way for way in ways if self._is_reason(way, ego, standing.obstacles)]
        let_by = self._in_hurry(prediction, ego)
        if not reasons and not let_by and abs(planned_m) < _ON_ROUTE_M:
            self._offset_m[:] = 0.0
            return LocalPath(route, self._offset_m, prediction, passed=self._near_lanes(ways, standing.suspects))
        start = replace(ego, s_m=ego.s_m + _KEEP_M + _KEEP_S * ego.speed_mps)
        start_offset_m = float(np.interp(start.s_m, route.s_m, self._offset_m))
        others = [way for way in ways if way.one.item.track_id not in let_by]
        road = _Road(others, reasons, top_speed, stop_s_m)
        slack_mps = _SLOWER_MPS
        if let_by:
            found, slack_mps = self._make_room(road, start, start_offset_m, rows)
        elif not reasons and abs(start_offset_m) < _IN_LANE_M + COLUMN_M:
            found = _BACK_ON_ROUTE
            self._take_over(found, start, rows)
        else:
            found = self._search(road, start, start_offset_m, rows, _BETTER_M if not self._let_by else 0.0)
        self._let_by = let_by
        slower = float(found.speed_mps[min(2, len(found.speed_mps) - 1)])
        return LocalPath(
            shifted(route, rows.start, self._offset_m[rows.start :] if let_by else self._offset_m[rows]),
            self._offset_m.copy(),
            prediction,
            self._manoeuvre(ego),
            self._near_lanes(ways, standing.suspects),
            _waits_at(found, ego, start, stop_s_m),
            slower if (reasons or let_by) and slower < ego.speed_mps - slack_mps else None,
            *_schedule(found, start, ways),
            let_by,
            frozenset(way.one.item.track_id for way in ways if self._is_clear_of(way)),
        )

    def _in_hurry(self, prediction: Prediction, ego: EgoOnRoad) -> frozenset[int]:
        """The track ids of those behind the ego that want to get past it."""
        seen = followers(self._route, ego.s_m, ego.offset_m, prediction)
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(ego.s_m)])
        self._hurry = update_hurry(self._hurry, seen, ego.speed_mps, limit_mps, prediction.stamp.time_s)
        return frozenset(one.track_id for one in self._hurry.in_hurry)

    def _make_room(
        self, road: _Road, start: EgoOnRoad, start_offset_m: float, rows: slice
    ) -> tuple[LatticePath, float]:
        """The way out of the lane, along the old path or a new one; where there is none, along its edge, and slower.

        And how much slower than now the way may be without the ego slowing down for it.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        old_m = np.interp(s, self._route.s_m, self._offset_m)
        old = self._cells(road, start, old_m, TIGHT, only_centre=True)
        kept = search(leave_lane(old, start_offset_m, start.speed_mps), CENTRE, start.speed_mps, self._memory)
        is_slow = kept.speed_mps[:_SOON].min() < start.speed_mps - _SLOWER_MPS
        if kept.is_complete and not (is_slow and abs(start_offset_m) > _OUT_OF_LANE_M):
            return kept, _SLOWER_MPS
        column, shift_m = _columns_through(start_offset_m)
        for leaving in ways_to_leave(start_offset_m) if self._looks_for_room(s) else ():
            cells = leave_lane(
                self._cells(road, start, shift_m, ALONG, anywhere=True), start_offset_m, start.speed_mps, leaving
            )
            found = search(cells, column, start.speed_mps, self._memory)
            if found.is_complete:
                self._take_over(found, start, rows)
                self._hold_lane(start, rows, leaving.side)
                self._steps_without_room = 0
                return found, _SLOWER_MPS
        self._steps_without_room += 1
        if kept.is_complete:
            return kept, _SLOWER_MPS
        right_m = self._layout.right_m[self._route.curve.rows_at(s)]
        edge_m = along_edge(s, start_offset_m, right_m, 0.5 * self._body.width_m)
        found = search(self._cells(road, start, edge_m, TIGHT, only_centre=True), CENTRE, start.speed_mps, self._memory)
        if not found.is_complete:
            found = _BACK_ON_ROUTE
        self._take_over(found, start, rows)
        slow_mps = SLOW_SHARE * float(self._route.speed_limit_mps[self._route.row_at(start.s_m)])
        return replace(found, speed_mps=np.minimum(found.speed_mps, slow_mps)), -1.0

    def _search(
        self, road: _Road, start: EgoOnRoad, start_offset_m: float, rows: slice, better_m: float
    ) -> LatticePath:
        """The way along the old path, or a new one that is better by so much; the profile is then the new one.

        Where neither lasts to the end, the ego stays in its lane, or else on the old path.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        old_m = np.interp(s, self._route.s_m, self._offset_m)
        old = search(self._cells(road, start, old_m, TIGHT, only_centre=True), CENTRE, start.speed_mps, self._memory)
        column, shift_m = _columns_through(start_offset_m)
        new = search(self._cells(road, start, shift_m, WIDE), column, start.speed_mps, self._memory)
        if old.is_complete and not (new.is_complete and new.cost < old.cost - better_m):
            return old
        if not new.is_complete and abs(start_offset_m) > _IN_LANE_M + COLUMN_M:
            return old
        before_m = self._offset_m[rows].copy()
        if new.is_complete:
            self._take_over(new, start, rows)
            if self._is_gentle(new, start, rows):
                return new
            self._offset_m[rows] = before_m
        if old.is_complete or abs(start_offset_m) > _IN_LANE_M + COLUMN_M:
            return old
        self._take_over(_BACK_ON_ROUTE, start, rows)
        return _BACK_ON_ROUTE

    def _is_gentle(self, found: LatticePath, start: EgoOnRoad, rows: slice) -> bool:
        """Whether the ego can follow the smoothed path from now on: later it can still slow down for a bend of it."""
        s, offset_m = self._route.s_m[rows], self._offset_m[rows]
        soon = (s >= start.s_m) & (s <= start.s_m + _GENTLE_S * start.speed_mps)
        speed_mps = np.interp(s, start.s_m + found.along_m, found.speed_mps)
        lateral_mps2 = speed_mps**2 * np.abs(np.gradient(np.gradient(offset_m, s), s))
        return not soon.any() or bool(lateral_mps2[soon].max() < _GENTLE_MPS2)

    def _looks_for_room(self, s_m: Float) -> bool:
        """Whether a lane in the ego's direction lies beside it, and it is time to look for a gap there again."""
        rows = self._route.curve.rows_at(s_m[:_BESIDE_CELLS])
        kinds = np.stack([self._layout.left.kind[rows], self._layout.right.kind[rows]])
        return self._steps_without_room % _LOOKS_EVERY == 0 and bool((kinds == Beside.SAME).any())

    def _near_lanes(self, ways: list[OnRoad], ids: frozenset[int]) -> frozenset[int]:
        """Those of `ids` that stand where another lane lies beside the ego's."""
        named = (way for way in ways if way.one.item.track_id in ids)
        return frozenset(way.one.item.track_id for way in named if self._has_lane_beside(float(way.s_m[0])))

    def _has_lane_beside(self, s_m: float) -> bool:
        row = self._route.row_at(s_m)
        return bool(self._layout.left.kind[row] or self._layout.right.kind[row])

    def _is_reason(self, way: OnRoad, ego: EgoOnRoad, passable: frozenset[int]) -> bool:
        """Whether a road user is a reason to leave the route: it is in the way, and may be passed."""
        near = (way.s_m > ego.s_m - 10.0) & (way.s_m < ego.s_m + CELLS)
        if not near.any():
            return False
        rows = self._route.curve.rows_at(way.s_m)
        reach = way.half_d_m + 0.5 * self._body.width_m + 0.8
        in_way = near & (np.abs(way.d_m) < reach)
        if way.one.item.track_id in passable:
            has_room = abs(float(way.d_m[0])) > _ROOM_IN_LANE_M or self._has_lane_beside(float(way.s_m[0]))
            return has_room and bool(in_way.any())
        is_beside = abs(float(way.s_m[0]) - ego.s_m) < _BESIDE_M and not self._is_on_path(way, ego)
        return is_beside and bool((in_way & self._route.is_change[rows]).any())

    def _is_clear_of(self, way: OnRoad) -> bool:
        """Whether the path leads past a road user that stays where it is now."""
        reach_m = float(way.half_s_m[0]) + self._body.front_m
        s = np.linspace(float(way.s_m[0]) - reach_m, float(way.s_m[0]) + reach_m, _CLEAR_POINTS)
        beside_m = np.abs(float(way.d_m[0]) - np.interp(s, self._route.s_m, self._offset_m))
        return bool((beside_m > float(way.half_d_m[0]) + 0.5 * self._body.width_m + _CLEAR_M).all())

    def _is_on_path(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether a road user is now before or behind the ego, not beside its path."""
        aside = abs(float(way.d_m[0]) - ego.offset_m)
        return aside < float(way.half_d_m[0]) + 0.5 * self._body.width_m

    def _cells(
        self,
        road: _Road,
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
        may_pass = self._may_pass(s, road.reasons) | anywhere
        zone = self._zone(s, shift_m, may_pass, self._may_change(s))
        if only_centre:
            zone[:, :CENTRE] = zone[:, CENTRE + 1 :] = OFF_ROAD
        self._blocked[:] = 0
        # Who follows the ego keeps its distance by itself.
        others = [way for way in road.ways if float(way.s_m[0]) > start.s_m or not self._is_on_path(way, start)]
        take_cells(self._blocked, start.s_m, shift_m, others, self._body, gaps)
        self._block_unseen(zone, float(self._route.speed_limit_mps[self._route.row_at(start.s_m)]))
        rears = (float((way.s_m - way.half_s_m).min()) for way in road.reasons)
        wait_s_m = min(rears, default=np.inf) - self._body.front_m - ROOM_TO_PASS_M
        return RoadCells(
            blocked=self._blocked,
            zone=zone,
            speed_mps=np.maximum(np.interp(s, *road.top_speed), 1.0),
            before_m=np.interp(s, self._route.s_m, self._offset_m),
            shift_m=shift_m,
            stop_m=road.stop_s_m - start.s_m,
            wait_m=wait_s_m - start.s_m,
        )

    def _may_pass(self, s: Float, reasons: list[OnRoad]) -> NDArray[np.bool_]:
        """(CELLS,) Where the ego may use any lane beside its own: near what it passes, and while it is there."""
        allowed = np.zeros(CELLS, dtype=bool)
        for way in reasons:
            low, high = (way.s_m - way.half_s_m).min(), (way.s_m + way.half_s_m).max()
            allowed |= (s > low - _BEFORE_M) & (s < high + _AFTER_M)
        outside = np.abs(np.interp(s, self._route.s_m, self._offset_m)) > _IN_LANE_M
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
        half = 0.5 * self._body.width_m - _EDGE_M
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
            self._blocked[layer, int(from_m) :][oncoming[int(from_m) :]] = 1

    def _take_over(self, found: LatticePath, start: EgoOnRoad, rows: slice) -> None:
        """Make the found way the new profile, from its start on."""
        s, old = self._route.s_m[rows], self._offset_m[rows]
        along = start.s_m + found.along_m
        last = np.append(np.diff(along) > 0.0, True)  # of several moments at one place, the last
        last &= along < max(s[-1] - 1.5 * _BACK_M, along[1])  # the path has to return before the profile ends
        along, offset_m = along[last], found.offset_m[last]
        ends = along[-1] + np.array([10.0, 10.0 + _BACK_M])
        knots = np.concatenate([along, ends])
        offsets = np.concatenate([offset_m, [offset_m[-1], 0.0]])
        wanted = np.interp(s, knots, offsets)
        keep = int(np.searchsorted(s, start.s_m))
        wanted[:keep] = old[:keep]
        spacing_m = self._route.length_m / (len(self._route.s_m) - 1)
        if len(s) >= 8:
            wanted = smooth_offset(wanted, max(keep, 3), spacing_m, start.speed_mps)
        self._offset_m[rows], self._offset_m[rows.stop :] = wanted, 0.0

    def _hold_lane(self, start: EgoOnRoad, rows: slice, side: Side) -> None:
        """Keep the offset of a new way for as long as its lane lies beside the route; then it leads back.

        So the ego does not slow down for a return that it will not make.
        """
        s = self._route.s_m
        beside = self._layout.left if side is Side.LEFT else self._layout.right
        aside_m = side * self._offset_m[rows]
        out = np.flatnonzero(aside_m > max(_OUT_OF_LANE_M, 0.98 * float(aside_m.max()))) + rows.start
        if len(out) == 0:
            return
        without = np.flatnonzero(beside.kind[out[0] :] != Beside.SAME)
        back_m = max(_BACK_M, _BACK_S * start.speed_mps)
        end_m = float(s[out[0] + without[0]] if len(without) else s[-1]) - back_m - _BACK_M
        last = out[-1]
        if s[last] < end_m:
            offset_m = float(self._offset_m[last])
            self._offset_m[last:] = np.interp(s[last:], [end_m, end_m + back_m], [offset_m, 0.0])

    def _manoeuvre(self, ego: EgoOnRoad) -> Manoeuvre:
        """What the path does in the next metres."""
        s = ego.s_m + np.arange(_LOOK_AHEAD_M)
        offset = np.interp(s, self._route.s_m, self._offset_m)
        if np.abs(offset).max() < _IN_LANE_M:
            return Manoeuvre.FOLLOW_LANE
        rows, half = self._route.curve.rows_at(s), 0.5 * self._body.width_m
        layout = self._layout
        used = {Beside.NOTHING}
        used |= set(layout.left.kind[rows][offset + half > layout.left_m[rows] + _EDGE_M].tolist())
        used |= set(layout.right.kind[rows][offset - half < layout.right_m[rows] - _EDGE_M].tolist())
        if Beside.ONCOMING in used:
            return Manoeuvre.PASS_THROUGH_ONCOMING_LANE
        return Manoeuvre.PASS_THROUGH_NEXT_LANE if Beside.SAME in used else Manoeuvre.PASS_IN_LANE


def _columns_through(offset_m: float) -> tuple[int, Float]:
    """The column that is nearest to an offset, and the shift of the columns by which it goes through it."""
    column = column_of(offset_m)
    beside_m = offset_m - (column - CENTRE) * COLUMN_M
    return column, beside_m * np.clip(1.0 - np.arange(CELLS) / _SHIFT_M, 0.0, 1.0)


def _schedule(
    found: LatticePath, start: EgoOnRoad, ways: list[OnRoad]
) -> tuple[tuple[Float, Float] | None, frozenset[int]]:
    """Arc lengths and speeds of a pass, and the track ids of the oncoming vehicles that its times take into account."""
    if found is _BACK_ON_ROUTE or not found.is_complete:
        return None, frozenset()
    met = frozenset(way.one.item.track_id for way in ways if way.is_moving and way.s_m[1] < way.s_m[0] - _AGAINST_M)
    return (start.s_m + found.along_m, found.speed_mps), met


def _waits_at(found: LatticePath, ego: EgoOnRoad, start: EgoOnRoad, stop_s_m: float) -> float | None:
    """The arc length at which the ego waits on the way `found`; None if it does not, or only for its stop."""
    stands = np.flatnonzero(found.speed_mps[1:] == 0.0) + 1
    if len(stands) == 0:
        return None
    along_m = float(found.along_m[stands[0]])
    if start.s_m + along_m > stop_s_m - _STOP_SLACK_M:
        return None
    return ego.s_m if ego.speed_mps < _STANDING_MPS and along_m < _STEP_UP_M else start.s_m + along_m


def _with_objects_of(prediction: Prediction, ways: list[OnRoad]) -> Prediction:
    """`prediction` with the road users of `ways` instead of its own."""
    objects = {way.one.item.track_id: way.one for way in ways}
    return replace(prediction, objects=tuple(objects.values()))
