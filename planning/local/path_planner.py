"""The local path: where on the road the ego drives, chosen by a search in space and time.

The route is the path by default. Where something blocks it that may be passed, or where a vehicle is beside a lane
change of the route, the search (`lattice`) finds the way around, within the ego's lane or through the lane beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from av_core.types import Float, LaneGraph, Manoeuvre, ObjectKind, Prediction, TrafficLightView
from planning.local.blockers import Blockers, FrontView, PassedObstacles, Standing
from planning.local.changing_lanes import LaneChanges
from planning.local.found_way import (
    BACK_ON_ROUTE,
    PASSING,
    SOON,
    back_to_lane,
    goes_on,
    held_lane,
    schedule,
    undecided,
    waits_at,
)
from planning.local.hurry import HurryMemory, followers, update_hurry
from planning.local.keeping_aside import BesideWay, OncomingTooNear, offsets_aside, offsets_from_oncoming
from planning.local.lattice import CELLS, CENTRE, COLUMN_M, LatticePath, SearchMemory, column_of, search
from planning.local.local_path import LocalPath
from planning.local.making_room import SLOW_SHARE, along_edge, leave_lane, ways_to_leave
from planning.local.occupancy import ALONG, SLOW_MPS, TIGHT, WIDE, Body, EgoOnRoad, Gaps, OnRoad, is_in_line, on_road
from planning.local.profile import IN_LANE_M, OUT_OF_LANE_M, OffsetProfile, shifted
from planning.local.pulling_out import PullingOut
from planning.local.road import Beside, RoadLayout, lanes_aside_m, road_layout
from planning.local.road_cells import CellBuilder, RoadAhead
from planning.local.slow_vehicles import SlowVehicles
from planning.local.swinging_out import SwingOut, is_clear
from planning.local.yielding import with_followers_slowing, with_yielding
from planning.reference_path import Route

_BEHIND_M = 40.0
"""Distance behind the ego beyond which road users are ignored."""

_BESIDE_M = 30.0
"""A road user within this distance along the road may be in the way of a lane change."""

_OFF_PROFILE_M = 1.2
"""Deviation from the planned offset beyond which the ego plans anew from its present position."""

_KEEP_M, _KEEP_S = 0.3, 0.3
"""A new plan keeps the old path for this distance plus the ego's speed times this time."""

_ROOM_IN_LANE_M = 0.8
"""Offset from the lane's centre beyond which a standing object may leave room to pass within the lane."""

_GOING_MPS, _OUT_M = 2.0, 0.5
"""Speed and offset from which on an ego that passes an obstacle does not give up for an oncoming vehicle that can slow
down.
"""

_GIVING_UP_MPS2 = 4.0
"""Deceleration of the ego when its path through the oncoming lane is closed."""

_ROLLING_MPS = 5.0
"""Speed above which the ego keeps the planned times between others that drive in its direction, as an impatient ego
does. A slower, patient ego lets them go first.
"""

_KEPT_STEPS = 6
"""Steps for which an ego that passes something keeps its path although the search finds none: when others just pass by,
the search may find one again at once.
"""

_STANDS_MPS = 0.3
"""Speed below which the ego may swing out around an obstacle close ahead."""

_SEEMS_MPS = 1.0
"""Speed up to which a vehicle that stands may seem to move."""

_SLOWER_MPS = 1.5
"""The ego slows down if a plan, after one second, is slower than the ego by more than this."""

_BESIDE_CELLS, _LOOKS_EVERY = 60, 5
"""Metres ahead in which a lane beside has to begin; and steps from one search for a gap to the next, since a search
that finds none takes ten times as long as another.
"""

_SHIFT_M = 15.0
"""Distance in which the columns of the search move from the ego's offset to whole columns beside the route."""

_BETTER_M = 5.0
"""A new path replaces the old one only if it saves more distance than this, or if the old one is no longer free."""

_SLOW_SHARE, _OPEN_ROAD_M = 0.4, 100.0
"""A vehicle slower than this share of the limit is passed on a lane in the ego's direction, unless a junction comes so
soon behind it: it may wait there."""

_ASIDE_NOISE_M = 0.15
"""The path beside vehicles that stand changes only if their places change by more than this."""

_GETS_BY_M = 0.35
"""How far the ego moves aside within its lane, less the distance that it keeps."""

_ON_ROUTE_M = 0.02
"""Offsets of the path below this count as none."""


class LocalPlanner:
    """Chooses the local path along one route, step by step; each plan starts from the one before."""

    def __init__(self, route: Route, graph: LaneGraph, body: Body, view: FrontView | None = None) -> None:
        self._route, self._body = route, body
        self._layout: RoadLayout = road_layout(route, graph)
        self._lanes_m = lanes_aside_m(self._layout)
        self._profile = OffsetProfile(route, self._layout, body)
        self._cells = CellBuilder(route, self._layout, body, self._profile)
        self._blockers, self._passed = Blockers(), PassedObstacles(view, body.front_m)
        self._memory, self._hurry, self._steady = SearchMemory(), HurryMemory(), SlowVehicles()
        self._beside_way, self._oncoming = BesideWay(), OncomingTooNear()
        self._let_by: frozenset[int] = frozenset()
        self._steps_without_room = self._steps_without_way = 0
        self._pulling_out = PullingOut(route, self._layout, body)
        self._swing_out = SwingOut(route, self._layout, body)
        self._changes = LaneChanges(route, self._layout, body)
        self._found: list[LatticePath] = []

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
        route, profile = self._route, self._profile
        self._found = []
        first, last = route.row_at(ego.s_m - _BEHIND_M), route.row_at(ego.s_m + CELLS + 20.0)
        curve = route.curve.part(slice(first, max(last, first + 2), 2))
        seen = on_road(curve, prediction)
        ways = self._passed.settle(seen, ego.s_m, ego.offset_m, prediction.stamp.time_s)
        prediction = _with_objects_of(prediction, ways)
        standing = self._blockers.update(ways, route, lights, ego.s_m, prediction.stamp.time_s)
        rows = slice(route.row_at(ego.s_m - 5.0), route.row_at(ego.s_m + CELLS) + 1)
        planned_m = float(profile.at(ego.s_m))
        if abs(ego.offset_m - planned_m) > _OFF_PROFILE_M:
            profile.start_from(ego, rows)
        self._passed.hold(ways, standing.obstacles)
        reasons = [way for way in ways if self._is_reason(way, ego, standing.obstacles)]
        reasons = [way for way in reasons if float(way.s_m[0]) < self._ends_before_m(ways, ego, standing.not_passed)]
        steady = self._steady.update(ways, ego.speed_mps, prediction.stamp.time_s)
        slow = [way for way in ways if way.one.item.track_id in steady and self._is_slow(way, ego)]
        let_by = self._in_hurry(prediction, ego)
        pulls_out = self._pulling_out.update(ego, prediction.stamp.time_s)
        start = replace(ego, s_m=ego.s_m + _KEEP_M + _KEEP_S * ego.speed_mps, time_s=_KEEP_S)
        stays = not slow and not let_by and not pulls_out and abs(planned_m) < IN_LANE_M + COLUMN_M
        beside = self._beside_way.update(ways, ego, self._body) if stays else []
        near_m = self._oncoming.update(ways, ego, self._body, prediction.stamp.time_s) if stays else None
        ids = {way.one.item.track_id for way in beside}
        only_beside = all(way.one.item.track_id in ids for way in reasons)
        if (beside or near_m is not None) and only_beside and self._keep_aside(beside, near_m, start, rows):
            self._changes.end()
            return self._in_lane(prediction, ways, standing)
        if not reasons and not slow and not let_by and not pulls_out and abs(planned_m) < _ON_ROUTE_M:
            profile.clear()
            self._changes.end()
            return self._in_lane(prediction, ways, standing)
        start_offset_m = float(profile.at(start.s_m))
        others = [way for way in ways if way.one.item.track_id not in let_by]
        if self._is_going(ego) and abs(ego.offset_m) > _OUT_M:
            others = with_yielding(others, ego, self._body)
        out_m = self._pulling_out.reaches_m(ego) if pulls_out else self._out_of_lane_m(ego)
        if (reasons or pulls_out) and (ego.is_brisk or out_m > _OUT_M):
            others = with_followers_slowing(others, ego, self._body, out_m)
        road = RoadAhead(others, reasons, slow, top_speed, stop_s_m, pulls_out)
        stands = frozenset(way.one.item.track_id for way in slow if way.one.item.speed_mps < _SEEMS_MPS)
        known = frozenset(way.one.item.track_id for way in reasons)
        wanted = reasons + [way for way in slow if way.one.item.track_id in (stands & standing.stood) - known]
        slack_mps = _SLOWER_MPS
        if let_by or pulls_out:
            self._changes.end()
            changing = None
        else:
            changing = self._change_lanes(road, ego, start, rows)
        if let_by:
            found, slack_mps = self._make_room(road, start, start_offset_m, rows)
        elif changing is not None:
            found = changing
        elif not reasons and not slow and abs(start_offset_m) < IN_LANE_M + COLUMN_M:
            found = BACK_ON_ROUTE
            profile.take_over(found, start, rows)
        else:
            found = self._search(road, start, start_offset_m, rows, _BETTER_M if not self._let_by else 0.0)
            if not goes_on(found) and ego.speed_mps < _STANDS_MPS:
                found = self._swing(replace(road, reasons=wanted), ego) or found
        self._let_by = let_by
        waits_s_m = self._gives_up_at(found, ego)
        if waits_s_m is None:
            waits_s_m = self._pulling_out.waits_at(found, ego, prediction.stamp.time_s)
        if waits_s_m is None:
            waits_s_m = waits_at(found, ego, start, stop_s_m)
        is_timed = ego.speed_mps > _ROLLING_MPS or ego.is_brisk or pulls_out
        timed_to_s_m = ego.s_m + self._body.front_m if is_timed else -np.inf
        slower = float(found.speed_mps[min(2, len(found.speed_mps) - 1)])
        if self._changes.soon_mps is not None:
            slower, slack_mps = self._changes.soon_mps, 0.2
        return LocalPath(
            shifted(route, rows.start, profile.offset_m[rows.start :] if let_by else profile.offset_m[rows]),
            profile.offset_m.copy(),
            prediction,
            Manoeuvre.PULL_OUT if pulls_out else profile.manoeuvre(ego.s_m),
            self._near_lanes(ways, standing.suspects | stands),
            waits_s_m,
            slower if (reasons or slow or let_by) and slower < ego.speed_mps - slack_mps else None,
            *(schedule(found, start, ways, timed_to_s_m) if found is not PASSING else self._goes_before(ways, ego)),
            let_by,
            frozenset(way.one.item.track_id for way in ways if self._is_clear_of(way, ego)),
            standing.obstacles,
            pulls_out,
            min(self._gaps_m(wanted, ego), default=float("inf")),
            self.is_beside_oncoming(ego.s_m),
            self._alternatives(start.s_m),
            self._changes.soon_mps is not None,
        )

    def is_beside_oncoming(self, s_m: float) -> bool:
        """Whether an oncoming lane lies beside the ego's there."""
        return self._has_oncoming_lane(np.array([s_m]))

    def _in_lane(self, prediction: Prediction, ways: list[OnRoad], standing: Standing) -> LocalPath:
        """The path of an ego that stays in its lane."""
        offset_m = self._profile.offset_m.copy()
        route = shifted(self._route, 0, offset_m) if offset_m.any() else self._route
        passed = self._near_lanes(ways, standing.suspects)
        return LocalPath(route, offset_m, prediction, passed=passed, obstacles=standing.obstacles)

    def _keep_aside(self, beside: list[OnRoad], oncoming_m: float | None, start: EgoOnRoad, rows: slice) -> bool:
        """Lead the ego past those beside its way with room for their doors, or stay where that would be too sudden.

        Oncoming ones come as near as `oncoming_m`, if any come too near. False where the path touches one that stands.
        """
        profile, before_m = self._profile, self._profile.offset_m.copy()
        s_m = self._route.s_m
        wanted_m = offsets_aside(s_m, beside, start.speed_mps, self._layout, self._body)
        if oncoming_m is not None:
            wanted_m += offsets_from_oncoming(s_m, oncoming_m, start, self._layout, self._body)
        ahead = slice(self._route.row_at(start.s_m), rows.stop)
        if np.abs(wanted_m[ahead] - before_m[ahead]).max() > _ASIDE_NOISE_M:
            profile.lead_along_if_gentle(wanted_m, start, rows)
        if all(is_clear(self._route.s_m[rows], profile.offset_m[rows], way, self._body) for way in beside):
            return True
        profile.offset_m[:] = before_m
        return False

    def _alternatives(self, from_s_m: float) -> tuple[Float, ...]:
        """The complete ways that the search found, but for those beside the path: places (M, 2) in the map frame."""
        ways = []
        for found in self._found:
            s_m = np.minimum(from_s_m + found.along_m, self._route.length_m)
            is_beside = np.abs(found.offset_m - self._profile.at(s_m)).max() > IN_LANE_M
            if found.is_complete and is_beside:
                x_m, y_m, _ = self._route.curve.pose_at(s_m, found.offset_m)
                ways.append(np.column_stack([x_m, y_m]))
        return tuple(ways)

    def _gaps_m(self, reasons: list[OnRoad], ego: EgoOnRoad) -> list[float]:
        """The gaps between the ego's front and those of `reasons` that stand in its lane before it."""
        front_m = ego.s_m + self._body.front_m
        gaps_m = (float(way.s_m[0] - way.half_s_m[0]) - front_m for way in reasons if not way.is_moving)
        return [gap_m for gap_m in gaps_m if gap_m > -1.0]

    def _gives_up_at(self, found: LatticePath, ego: EgoOnRoad) -> float | None:
        """Where the ego halts in the oncoming lane, if there is no way on: the others can stop before it."""
        if found.is_complete or not self._is_through(ego) or self._steps_without_way < _KEPT_STEPS:
            return None
        return ego.s_m + ego.speed_mps**2 / (2.0 * _GIVING_UP_MPS2)

    def _is_going(self, ego: EgoOnRoad, *others: Manoeuvre) -> bool:
        """Whether the ego already drives through the oncoming lane, or performs one of the other manoeuvres."""
        wanted = (Manoeuvre.PASS_THROUGH_ONCOMING_LANE, *others)
        return ego.speed_mps > _GOING_MPS and self._profile.manoeuvre(ego.s_m) in wanted

    def _is_through(self, ego: EgoOnRoad) -> bool:
        """Whether the ego's path leads through the oncoming lane now or soon."""
        return self._profile.manoeuvre(ego.s_m) is Manoeuvre.PASS_THROUGH_ONCOMING_LANE

    def _in_hurry(self, prediction: Prediction, ego: EgoOnRoad) -> frozenset[int]:
        """The track ids of the vehicles in a hurry behind the ego, which want to get past it."""
        seen = followers(self._route, ego.s_m, ego.offset_m, prediction)
        limit_mps = float(self._route.speed_limit_mps[self._route.row_at(ego.s_m)])
        self._hurry = update_hurry(self._hurry, seen, ego.speed_mps, limit_mps, prediction.stamp.time_s)
        return frozenset(one.track_id for one in self._hurry.in_hurry)

    def _make_room(
        self, road: RoadAhead, start: EgoOnRoad, start_offset_m: float, rows: slice
    ) -> tuple[LatticePath, float]:
        """The way out of the lane, along the old path or a new one; where there is none, along its edge, and slower.

        And how much slower than now the way may be without the ego slowing down for it.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        old = self._cells.build(road, start, self._profile.at(s), TIGHT, only_centre=True)
        kept = search(leave_lane(old, start_offset_m, start.speed_mps), CENTRE, start.speed_mps, self._memory)
        # Out of its lane, the ego looks for another way if it would soon have to slow down on the old one: it would
        # have to wait with its return. Before that, another way would begin later and later.
        is_slow = kept.speed_mps[:SOON].min() < start.speed_mps - _SLOWER_MPS
        if kept.is_complete and not (is_slow and abs(start_offset_m) > OUT_OF_LANE_M):
            return kept, _SLOWER_MPS
        column, shift_m = _columns_through(start_offset_m)
        for leaving in ways_to_leave(start_offset_m) if self._looks_for_room(s) else ():
            cells = leave_lane(
                self._cells.build(road, start, shift_m, ALONG, anywhere=True), start_offset_m, start.speed_mps, leaving
            )
            found = search(cells, column, start.speed_mps, self._memory)
            if found.is_complete:
                self._profile.take_over(found, start, rows)
                self._profile.hold_lane(start, rows, leaving.side)
                self._steps_without_room = 0
                return found, _SLOWER_MPS
        self._steps_without_room += 1
        if kept.is_complete:
            return kept, _SLOWER_MPS
        right_m = self._layout.right_m[self._route.curve.rows_at(s)]
        edge_m = along_edge(s, start_offset_m, right_m, 0.5 * self._body.width_m)
        found = self._along(road, start, edge_m)
        if not found.is_complete:
            found = BACK_ON_ROUTE
        self._profile.take_over(found, start, rows)
        slow_mps = SLOW_SHARE * float(self._route.speed_limit_mps[self._route.row_at(start.s_m)])
        return replace(found, speed_mps=np.minimum(found.speed_mps, slow_mps)), -1.0

    def _search(
        self, road: RoadAhead, start: EgoOnRoad, start_offset_m: float, rows: slice, better_m: float
    ) -> LatticePath:
        """The way along the old path, or a new one that is better by so much; the profile is then the new one.

        Where neither lasts to the end, the ego stays in its lane, or else on the old path.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        old = self._along(self._beside_swing(road, start), start, self._profile.at(s), is_brisk=start.is_brisk)
        column, shift_m = _columns_through(start_offset_m)
        gaps = WIDE if self._has_oncoming_lane(s) else ALONG
        cells = self._cells.build(road, start, shift_m, gaps)
        new = search(cells, column, start.speed_mps, self._memory, is_brisk=start.is_brisk)
        self._found += [old, new]
        self._steps_without_way = 0 if goes_on(old) else self._steps_without_way + 1
        if 0 < self._steps_without_way < _KEPT_STEPS and self._is_going(start, Manoeuvre.PASS_THROUGH_NEXT_LANE):
            taken = self._taken(new, road, start, rows, gaps) if goes_on(new) else None
            return taken or undecided(old)
        if old.is_complete and not (new.is_complete and new.cost < old.cost - better_m):
            return old
        taken = self._taken(new, road, start, rows, gaps) if new.is_complete else None
        if taken is not None or old.is_complete:
            return taken or old
        if abs(start_offset_m) > IN_LANE_M + COLUMN_M:
            if self._is_through(start):
                return self._go_back(road, start, start_offset_m, rows) or old
            return self._stay_aside(road, start, start_offset_m, rows, old) or old
        self._profile.take_over(BACK_ON_ROUTE, start, rows)
        return BACK_ON_ROUTE

    def _change_lanes(self, road: RoadAhead, ego: EgoOnRoad, start: EgoOnRoad, rows: slice) -> LatticePath | None:
        """The way into a gap in the traffic beside, or along the lane while there is no gap. It becomes the profile.

        None where there is no such traffic: the search finds the way.
        """
        changes, was_changing = self._changes, self._changes.change is not None
        changes.soon_mps = None
        blockers = [way for way in road.reasons + road.slow if self._blocks_lane(way, ego)]
        is_in_lane = abs(ego.offset_m) < _OUT_M
        if not was_changing and not (is_in_lane and changes.is_in_traffic(road.ways, blockers, ego)):
            return None
        top_mps = float(np.interp(ego.s_m + _KEEP_M, *road.top_speed))
        change = changes.update(road.ways, blockers, ego, top_mps, self._steady.gains_mps2())
        if change is not None:
            first = self._route.row_at(change.from_s_m)
            s_m = self._route.s_m[first : rows.stop]
            self._profile.take_exactly(s_m, changes.offsets(change, s_m, ego.speed_mps))
            return PASSING
        if not is_in_lane or changes.is_stuck(blockers, ego):
            changes.soon_mps = None
            return None
        self._profile.take_over(BACK_ON_ROUTE, start, rows)
        return BACK_ON_ROUTE

    def _blocks_lane(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether the ego cannot get past one ahead or beside it within its lane."""
        is_passed = float(way.s_m[0] + way.half_s_m[0]) < ego.s_m - self._body.rear_m
        return not is_passed and abs(float(way.d_m[0])) < float(way.half_d_m[0]) + 0.5 * self._body.width_m - _GETS_BY_M

    def _goes_before(self, ways: list[OnRoad], ego: EgoOnRoad) -> tuple[tuple[Float, Float], frozenset[int]]:
        """As `schedule`, for an ego that changes lanes before those behind it."""
        return (np.array([ego.s_m, ego.s_m + CELLS]), np.full(2, 99.0)), self._changes.behind(ways, ego)

    def _along(self, road: RoadAhead, start: EgoOnRoad, offset_m: Float, *, is_brisk: bool = False) -> LatticePath:
        """The way along a path as it is, whose offsets (CELLS,) are one a metre from the start."""
        cells = self._cells.build(road, start, offset_m, TIGHT, only_centre=True)
        return search(cells, CENTRE, start.speed_mps, self._memory, is_brisk=is_brisk)

    def _taken(
        self, new: LatticePath, road: RoadAhead, start: EgoOnRoad, rows: slice, gaps: Gaps
    ) -> LatticePath | None:
        """The way along the path that the ego makes of a new one, which is the profile then.

        None where the ego cannot follow it. Where the search had no more than the gaps `ALONG` to spare, the smoothed
        path has to be free for the turned ego, too. A slow ego takes it anyway, and one that has to change lanes.
        """
        before_m = self._profile.offset_m.copy()
        if not self._profile.take_over_if_gentle(new, start, rows):
            return None
        if gaps is not ALONG or start.speed_mps < SLOW_MPS or self._has_to_change(start):
            return new
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        found = self._along(road, start, self._profile.at(s), is_brisk=start.is_brisk)
        if found.is_complete:
            return found
        self._profile.offset_m[:] = before_m
        return None

    def _out_of_lane_m(self, ego: EgoOnRoad) -> float:
        """The ego's distance to the middle of the nearest lane, on the assumption that all lanes are as wide as
        the route's."""
        row = self._route.row_at(ego.s_m)
        width_m = float(self._route.width_m[row])
        beside_m = ego.offset_m - float(self._layout.middle_m[row])
        return abs((beside_m + 0.5 * width_m) % width_m - 0.5 * width_m)

    def _has_to_change(self, start: EgoOnRoad) -> bool:
        """Whether the route changes lanes soon."""
        soon = slice(self._route.row_at(start.s_m), self._route.row_at(start.s_m + _BESIDE_CELLS) + 1)
        return bool(self._route.is_change[soon].any())

    def _swing(self, road: RoadAhead, ego: EgoOnRoad) -> LatticePath | None:
        """A path that swings out around the obstacles close ahead of the ego and becomes the profile; None if
        there is none."""
        s = ego.s_m + np.arange(CELLS, dtype=np.float64)
        before_m = self._profile.offset_m.copy()
        for swing in self._swing_out.swings(road.reasons, ego):
            self._profile.take_exactly(swing.s_m, swing.offset_m)
            self._swing_out.begin(swing)
            found = self._along(self._beside_swing(road, ego), ego, self._profile.at(s), is_brisk=ego.is_brisk)
            if goes_on(found):
                return found
            self._profile.offset_m[:] = before_m
            self._swing_out.end()
        return None

    def _beside_swing(self, road: RoadAhead, ego: EgoOnRoad) -> RoadAhead:
        """`road` without the standing ones that an ego which swings out does not touch: that was checked exactly."""
        if not self._swing_out.is_on(ego):
            return road
        return replace(road, ways=[way for way in road.ways if way.is_moving or not self._is_clear_of(way, ego)])

    def _is_clear_of(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether the ego's path leads past a road user that stays where it is now."""
        if self._swing_out.is_on(ego):
            rows = slice(self._route.row_at(ego.s_m), self._route.row_at(ego.s_m + CELLS) + 1)
            return is_clear(self._route.s_m[rows], self._profile.offset_m[rows], way, self._body)
        return self._profile.is_clear_of(way)

    def _stay_aside(
        self, road: RoadAhead, start: EgoOnRoad, start_offset_m: float, rows: slice, old: LatticePath
    ) -> LatticePath | None:
        """The way that keeps the ego in the lane where it is, and leads back then; None where the old one lasts longer.

        On the old path the ego would drive on into what is beside it.
        """
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        lanes_m = np.interp(s, self._route.s_m, self._lanes_m)
        held = held_lane(start, start_offset_m + lanes_m - lanes_m[0])
        found = self._along(road, start, held.offset_m)
        if not found.is_complete and len(found.time_s) <= len(old.time_s):
            return None
        self._profile.take_over(held, start, rows)
        return found

    def _go_back(self, road: RoadAhead, start: EgoOnRoad, start_offset_m: float, rows: slice) -> LatticePath | None:
        """The way out of the oncoming lane, as soon as nothing stands in between; None before."""
        before_m = self._profile.offset_m.copy()
        self._profile.take_over(back_to_lane(start, start_offset_m), start, rows)
        ahead = slice(self._route.row_at(start.s_m), rows.stop)
        s_m, offset_m = self._route.s_m[ahead], self._profile.offset_m[ahead]
        if not all(way.is_moving or is_clear(s_m, offset_m, way, self._body) for way in road.ways):
            self._profile.offset_m[:] = before_m
            return None
        s = start.s_m + np.arange(CELLS, dtype=np.float64)
        return self._along(road, start, self._profile.at(s))

    def _looks_for_room(self, s_m: Float) -> bool:
        """Whether a lane in the ego's direction lies beside it, and it is time to look for a gap there again."""
        rows = self._route.curve.rows_at(s_m[:_BESIDE_CELLS])
        kinds = np.stack([self._layout.left.kind[rows], self._layout.right.kind[rows]])
        return self._steps_without_room % _LOOKS_EVERY == 0 and bool((kinds == Beside.SAME).any())

    def _has_oncoming_lane(self, s_m: Float) -> bool:
        """Whether an oncoming lane lies beside the ego's."""
        rows = self._route.curve.rows_at(s_m)
        kinds = np.stack([self._layout.left.kind[rows], self._layout.right.kind[rows]])
        return bool((kinds == Beside.ONCOMING).any())

    def _is_slow(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether a vehicle ahead is so slow that the ego passes it on the next lane in its direction."""
        s_m, item = float(way.s_m[0]), way.one.item
        row = self._route.row_at(s_m)
        beside = self._layout.left.kind[row], self._layout.right.kind[row]
        if Beside.SAME not in beside or item.kind is ObjectKind.PEDESTRIAN or s_m < ego.s_m:
            return False
        open_road = slice(row, self._route.row_at(s_m + _OPEN_ROAD_M) + 1)
        if self._route.is_junction[open_road].any():
            return False
        is_in_lane = abs(float(way.d_m[0])) < float(way.half_d_m[0]) + 0.5 * self._body.width_m
        return is_in_lane and item.speed_mps < _SLOW_SHARE * float(self._route.speed_limit_mps[row])

    def _near_lanes(self, ways: list[OnRoad], ids: frozenset[int]) -> frozenset[int]:
        """Those of `ids` that stand where another lane lies beside the ego's."""
        named = (way for way in ways if way.one.item.track_id in ids)
        return frozenset(way.one.item.track_id for way in named if self._has_lane_beside(float(way.s_m[0])))

    def _has_lane_beside(self, s_m: float) -> bool:
        row = self._route.row_at(s_m)
        return bool(self._layout.left.kind[row] or self._layout.right.kind[row])

    def _ends_before_m(self, ways: list[OnRoad], ego: EgoOnRoad, not_passed: frozenset[int]) -> float:
        """Arc length of the first vehicle in the ego's way that is not passed: what is beyond is no reason yet.

        One across the way stands where the ego does not see exactly. A path beside it may end at it, in the junction.
        """
        first = (way for way in ways if way.one.item.track_id in not_passed and self._in_way(way, ego).any())
        return min((float(way.s_m[0]) for way in first if way.s_m[0] > ego.s_m), default=float("inf"))

    def _in_way(self, way: OnRoad, ego: EgoOnRoad) -> NDArray[np.bool_]:
        """When a road user is near the route's line and near the ego, (LAYERS + 1,)."""
        near = (way.s_m > ego.s_m - 10.0) & (way.s_m < ego.s_m + CELLS)
        reach = way.half_d_m + 0.5 * self._body.width_m + 0.8
        return np.asarray(near & (np.abs(way.d_m) < reach))

    def _is_reason(self, way: OnRoad, ego: EgoOnRoad, passable: frozenset[int]) -> bool:
        """Whether a road user is a reason to leave the route: it is in the way, and may be passed."""
        in_way = self._in_way(way, ego)
        if not in_way.any():
            return False
        rows = self._route.curve.rows_at(way.s_m)
        if way.one.item.track_id in passable:
            return abs(float(way.d_m[0])) > _ROOM_IN_LANE_M or self._has_lane_beside(float(way.s_m[0]))
        is_beside = abs(float(way.s_m[0]) - ego.s_m) < _BESIDE_M and not is_in_line(way, ego, self._body)
        return is_beside and bool((in_way & self._route.is_change[rows]).any())


def _columns_through(offset_m: float) -> tuple[int, Float]:
    """The column that is nearest to an offset, and the shift of the columns by which it goes through it."""
    column = column_of(offset_m)
    beside_m = offset_m - (column - CENTRE) * COLUMN_M
    return column, beside_m * np.clip(1.0 - np.arange(CELLS) / _SHIFT_M, 0.0, 1.0)


def _with_objects_of(prediction: Prediction, ways: list[OnRoad]) -> Prediction:
    """`prediction` with the road users of `ways` instead of its own."""
    objects = {way.one.item.track_id: way.one for way in ways}
    return replace(prediction, objects=tuple(objects.values()))
