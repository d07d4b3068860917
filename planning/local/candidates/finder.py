"""Finds the paths that the ego could take in one step. `path_planner` decides which of them it takes.

A candidate is tried on the path of the earlier steps (`OffsetProfile`), which is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from av_core.types import Float, Manoeuvre
from planning.behaviour import Gap
from planning.local.candidates.step import KEEP_M, Candidate, Candidates, Step
from planning.local.changing_lanes import Change, LaneChanges
from planning.local.found_way import BACK_ON_ROUTE, PASSING, SOON, back_to_lane, goes_on, held_lane, undecided
from planning.local.keeping_aside import offsets_aside, offsets_from_oncoming
from planning.local.lattice import CELLS, CENTRE, COLUMN_M, LatticePath, SearchMemory, column_of, search
from planning.local.making_room import SLOW_SHARE, along_edge, is_brisk, leave_lane, ways_to_leave
from planning.local.occupancy import ALONG, MAKES_ROOM, ROOM_MADE, SLOW_MPS, TIGHT, WIDE, Body, EgoOnRoad, Gaps, OnRoad
from planning.local.profile import IN_LANE_M, OUT_OF_LANE_M, OffsetProfile
from planning.local.road import Beside, RoadLayout
from planning.local.road_cells import CellBuilder, RoadAhead
from planning.local.swinging_out import SwingOut, is_clear
from planning.reference_path import Route

_GOING_MPS = 2.0
"""Speed from which on an ego that passes an obstacle does not give up for an oncoming vehicle that can slow down."""

_KEPT_STEPS = 6
"""Steps for which an ego that passes something keeps its path although the search finds none: when others just pass by,
the search may find one again at once.
"""

_STANDS_MPS = 0.3
"""Speed below which the ego may swing out around an obstacle close ahead."""

SLOWER_MPS = 1.5
"""The ego slows down if a plan, after one second, is slower than the ego by more than this."""

_BESIDE_CELLS, _LOOKS_EVERY = 60, 5
"""Metres ahead in which a lane beside has to begin; and steps from one search for a gap to the next, since a search
that finds none takes ten times as long as another.
"""

_SHIFT_M = 15.0
"""Distance in which the columns of the search move from the ego's offset to whole columns beside the route."""

_ASIDE_NOISE_M = 0.15
"""The path beside vehicles that stand changes only if their places change by more than this."""

_GETS_BY_M = 0.35
"""How far the ego moves aside within its lane, less the distance that it keeps."""

OUT_M = 0.5
"""Offset from which on the ego begins to leave its lane."""


class PathFinder:
    """Finds the candidates along one route, step by step. `found` are the ways of the step's searches."""

    def __init__(self, route: Route, layout: RoadLayout, lanes_m: Float, body: Body, profile: OffsetProfile) -> None:
        self._route, self._layout, self._lanes_m, self._body = route, layout, lanes_m, body
        self._profile = profile
        self._cells = CellBuilder(route, layout, body, profile)
        self._memory = SearchMemory()
        self._steps_without_room = self._steps_without_way = 0
        self._swing_out = SwingOut(route, layout, body)
        self.changes = LaneChanges(route, layout, body)
        self.found: list[LatticePath] = []

    def keep_aside(self, step: Step) -> Candidate | None:
        """Past those beside the way with room for their doors; the old path where that would be too sudden.

        Oncoming ones come as near as `oncoming_m` says. None where the path touches one that stands.
        """
        profile, before_m = self._profile, self._profile.offset_m.copy()
        start, rows, around, s_m = step.start, step.rows, step.surroundings, self._route.s_m
        wanted_m = offsets_aside(s_m, around.beside, start.speed_mps, self._layout, self._body)
        if around.oncoming_m is not None:
            wanted_m += offsets_from_oncoming(s_m, around.oncoming_m, start, self._layout, self._body)
        ahead = slice(self._route.row_at(start.s_m), rows.stop)
        if np.abs(wanted_m[ahead] - before_m[ahead]).max() > _ASIDE_NOISE_M:
            profile.lead_along_if_gentle(wanted_m, start, rows)
        is_free = all(is_clear(s_m[rows], profile.offset_m[rows], way, self._body) for way in around.beside)
        aside = Candidate(BACK_ON_ROUTE, profile.offset_m.copy(), Manoeuvre.PASS_IN_LANE) if is_free else None
        profile.offset_m[:] = before_m
        return aside

    def change_lanes(self, step: Step, gains_mps2: dict[int, float]) -> Candidates:
        """A lane change into a gap in the traffic beside; empty where there is no such traffic, or none to wait for."""
        changes, ego, road = self.changes, step.ego, step.road
        was_changing = changes.change is not None
        changes.soon_mps = None
        blockers = [way for way in road.reasons + road.slow if self._blocks_lane(way, ego)]
        is_in_lane = abs(ego.offset_m) < OUT_M
        if not was_changing and not (is_in_lane and changes.is_in_traffic(road.ways, blockers, ego)):
            return Candidates()
        top_mps = float(np.interp(ego.s_m + KEEP_M, *road.top_speed))
        change = changes.update(road.ways, blockers, ego, top_mps, gains_mps2)
        if change is not None:
            into_gap = self._try(lambda: self._take_change(change, step), step)
            return Candidates(into_gap=into_gap, gap=self._gap(road.ways, ego, change.side))
        if not is_in_lane or changes.is_stuck(blockers, ego):
            changes.soon_mps = None
            return Candidates()
        return Candidates(waits_for_gap=True)

    def pass_by(self, step: Step, better_m: float) -> Candidates:
        """The path onward: that of the earlier steps, or a new one that is better by so much.

        Without one, the last resorts of an ego that is out of its lane, or whose route leads out of it now.
        """
        road, start = step.road, step.start
        old = self._along(self._beside_swing(road, start), start, self._profile.at(step.s_m), is_brisk=start.is_brisk)
        column, shift_m = _columns_through(step.start_offset_m)
        gaps = WIDE if self.has_oncoming_lane(step.s_m) else ALONG
        cells = self._cells.build(road, start, shift_m, gaps)
        new = search(cells, column, start.speed_mps, self._memory, is_brisk=start.is_brisk)
        self.found += [old, new]
        self._steps_without_way = 0 if goes_on(old) else self._steps_without_way + 1
        if 0 < self._steps_without_way < _KEPT_STEPS and self.is_going(start, Manoeuvre.PASS_THROUGH_NEXT_LANE):
            taken = self._taken(new, step, gaps) if goes_on(new) else None
            return Candidates(onward=taken or self._kept(undecided(old), step), is_held=taken is None)
        taken = None
        if not old.is_complete or (new.is_complete and new.cost < old.cost - better_m):
            taken = self._taken(new, step, gaps) if new.is_complete else None
        if taken is not None or old.is_complete:
            found = Candidates(onward=taken or self._kept(old, step))
        elif abs(step.start_offset_m) > IN_LANE_M + COLUMN_M:
            found = self._last_resorts(step, old)
        elif step.surroundings.joining:  # the route itself leads into those beside its lane change
            found = Candidates(beside=self._try(lambda: self._stay_in_lane(step), step))
        else:
            found = Candidates()
        return self._or_swing(found, step)

    def make_room(self, step: Step) -> tuple[LatticePath, float]:
        """The way out of the lane, along the old path or a new one; where there is none, along its edge, and slower.

        And how much slower than now the way may be without the ego slowing down for it. The profile is the new path.
        """
        road, start, rows, s = step.road, step.start, step.rows, step.s_m
        old = self._cells.build(road, start, self._profile.at(s), ROOM_MADE, only_centre=True)
        kept = search(leave_lane(old, step.start_offset_m, start.speed_mps), CENTRE, start.speed_mps, self._memory)
        # Out of its lane, the ego looks for another way if it would soon have to slow down on the old one: it would
        # have to wait with its return. Before that, another way would begin later and later.
        is_slow = kept.speed_mps[:SOON].min() < start.speed_mps - SLOWER_MPS
        if kept.is_complete and not (is_slow and abs(step.start_offset_m) > OUT_OF_LANE_M):
            return kept, SLOWER_MPS
        column, shift_m = _columns_through(step.start_offset_m)
        for leaving in ways_to_leave(step.start_offset_m) if self._looks_for_room(s) else ():
            cells = self._cells.build(road, start, shift_m, MAKES_ROOM, anywhere=True)
            cells = leave_lane(cells, step.start_offset_m, start.speed_mps, leaving)
            found = search(cells, column, start.speed_mps, self._memory)
            if found.is_complete and is_brisk(found):
                self._profile.take_over(found, start, rows)
                self._profile.hold_lane(start, rows, leaving.side)
                self._steps_without_room = 0
                return found, SLOWER_MPS
        self._steps_without_room += 1
        if kept.is_complete:
            return kept, SLOWER_MPS
        if abs(step.start_offset_m) > OUT_OF_LANE_M:  # the vehicle in a hurry passes in its lane
            return undecided(kept), SLOWER_MPS
        right_m = self._layout.right_m[self._route.curve.rows_at(s)]
        edge_m = along_edge(s, step.start_offset_m, start.speed_mps, right_m, 0.5 * self._body.width_m)
        found = self._along(road, start, edge_m)
        if not found.is_complete:
            found = BACK_ON_ROUTE
        self._profile.take_over(found, start, rows)
        slow_mps = SLOW_SHARE * float(self._route.speed_limit_mps[self._route.row_at(start.s_m)])
        return replace(found, speed_mps=np.minimum(found.speed_mps, slow_mps)), -1.0

    def is_going(self, ego: EgoOnRoad, *others: Manoeuvre) -> bool:
        """Whether the ego already drives through the oncoming lane, or performs one of the other manoeuvres."""
        wanted = (Manoeuvre.PASS_THROUGH_ONCOMING_LANE, *others)
        return ego.speed_mps > _GOING_MPS and self._profile.manoeuvre(ego.s_m) in wanted

    def is_clear_of(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether the ego's path leads past a road user that stays where it is now."""
        if self._swing_out.is_on(ego):
            rows = slice(self._route.row_at(ego.s_m), self._route.row_at(ego.s_m + CELLS) + 1)
            return is_clear(self._route.s_m[rows], self._profile.offset_m[rows], way, self._body)
        return self._profile.is_clear_of(way)

    def has_oncoming_lane(self, s_m: Float) -> bool:
        """Whether an oncoming lane lies beside the ego's."""
        rows = self._route.curve.rows_at(s_m)
        kinds = np.stack([self._layout.left.kind[rows], self._layout.right.kind[rows]])
        return bool((kinds == Beside.ONCOMING).any())

    def _try(self, make: Callable[[], LatticePath | None], step: Step) -> Candidate | None:
        """The candidate of a path that `make` tries on the profile, which is as before afterwards."""
        before_m = self._profile.offset_m.copy()
        found = make()
        candidate = None if found is None else self._kept(found, step)
        self._profile.offset_m[:] = before_m
        return candidate

    def _kept(self, found: LatticePath, step: Step) -> Candidate:
        """The candidate that keeps the profile as it is."""
        return Candidate(found, self._profile.offset_m.copy(), self._profile.manoeuvre(step.ego.s_m))

    def _take_change(self, change: Change, step: Step) -> LatticePath:
        """The path of a lane change into a gap."""
        s_m = self._route.s_m[self._route.row_at(change.from_s_m) : step.rows.stop]
        self._profile.take_exactly(s_m, self.changes.offsets(change, s_m, step.ego.speed_mps))
        return PASSING

    def _last_resorts(self, step: Step, old: LatticePath) -> Candidates:
        """The paths of an ego that is out of its lane and finds none onward."""
        is_lost, kept = self._steps_without_way >= _KEPT_STEPS, self._kept(old, step)
        if self._profile.manoeuvre(step.start.s_m) is Manoeuvre.PASS_THROUGH_ONCOMING_LANE:
            return Candidates(back=self._try(lambda: self._go_back(step), step), kept=kept, is_lost=is_lost)
        beside = self._try(lambda: self._stay_beside(step, old), step)
        return Candidates(beside=beside, kept=kept, is_lost=is_lost)

    def _or_swing(self, found: Candidates, step: Step) -> Candidates:
        """`found`; for an ego that stands and does not get on, a path that swings out, if there is one."""
        likely = found.onward or found.last_resort
        if likely is None or goes_on(likely.found) or step.ego.speed_mps >= _STANDS_MPS:
            return found
        swing = self._try(lambda: self._swing(step), step)
        return found if swing is None else Candidates(onward=swing)

    def _along(self, road: RoadAhead, start: EgoOnRoad, offset_m: Float, *, is_brisk: bool = False) -> LatticePath:
        """The way along a path as it is, whose offsets (CELLS,) are one a metre from the start."""
        cells = self._cells.build(road, start, offset_m, TIGHT, only_centre=True)
        return search(cells, CENTRE, start.speed_mps, self._memory, is_brisk=is_brisk)

    def _taken(self, new: LatticePath, step: Step, gaps: Gaps) -> Candidate | None:
        """The path that the ego makes of a new way; None where it cannot follow it.

        Where the search had no more than the gaps `ALONG` to spare, the smoothed path has to be free for the turned
        ego, too. A slow ego takes it anyway, and one that has to change lanes.
        """

        def take() -> LatticePath | None:
            start = step.start
            if not self._profile.take_over_if_gentle(new, start, step.rows):
                return None
            if gaps is not ALONG or start.speed_mps < SLOW_MPS or self._has_to_change(start):
                return new
            found = self._along(step.road, start, self._profile.at(step.s_m), is_brisk=start.is_brisk)
            return found if found.is_complete else None

        return self._try(take, step)

    def _swing(self, step: Step) -> LatticePath | None:
        """A path that swings out around the obstacles close ahead of the ego; None if there is none."""
        ego, road = step.ego, replace(step.road, reasons=step.surroundings.to_pass)
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
        return replace(road, ways=[way for way in road.ways if way.is_moving or not self.is_clear_of(way, ego)])

    def _stay_beside(self, step: Step, old: LatticePath) -> LatticePath | None:
        """The way that keeps the ego in the lane where it is, and leads back then; None where the old one lasts longer.

        On the old path the ego would drive on into what is beside it.
        """
        held = self._held_lane(step)
        found = self._along(step.road, step.start, held.offset_m)
        if not found.is_complete and len(found.time_s) <= len(old.time_s):
            return None
        self._profile.take_over(held, step.start, step.rows)
        return found

    def _stay_in_lane(self, step: Step) -> LatticePath:
        """The way that keeps the ego in its lane where the route leaves it, however long it lasts."""
        held = self._held_lane(step)
        self._profile.take_over(held, step.start, step.rows)
        return self._along(step.road, step.start, held.offset_m)

    def _held_lane(self, step: Step) -> LatticePath:
        """The way to the middle of the lane where the ego is most of all, and on along it."""
        lanes_m = np.interp(step.s_m, self._route.s_m, self._lanes_m)
        row = self._route.row_at(step.start.s_m)
        beside_m = self._layout.from_nearest_middle_m(row, step.start_offset_m)
        return held_lane(step.start, step.start_offset_m - beside_m + lanes_m - lanes_m[0], beside_m)

    def _go_back(self, step: Step) -> LatticePath | None:
        """The way out of the oncoming lane, as soon as nothing stands in between; None before."""
        start = step.start
        self._profile.take_over(back_to_lane(start, step.start_offset_m), start, step.rows)
        ahead = slice(self._route.row_at(start.s_m), step.rows.stop)
        s_m, offset_m = self._route.s_m[ahead], self._profile.offset_m[ahead]
        if not all(way.is_moving or is_clear(s_m, offset_m, way, self._body) for way in step.road.ways):
            return None
        return self._along(step.road, start, self._profile.at(step.s_m))

    def _blocks_lane(self, way: OnRoad, ego: EgoOnRoad) -> bool:
        """Whether the ego cannot get past one ahead or beside it within its lane."""
        is_passed = float(way.s_m[0] + way.half_s_m[0]) < ego.s_m - self._body.rear_m
        return not is_passed and abs(float(way.d_m[0])) < float(way.half_d_m[0]) + 0.5 * self._body.width_m - _GETS_BY_M

    def _gap(self, ways: list[OnRoad], ego: EgoOnRoad, side: int) -> Gap:
        """The gap beside the ego on the lane on one side (1: left, -1: right)."""
        layout, row = self._layout, self._route.row_at(ego.s_m)
        near_m, far_m = (layout.left_m, layout.left.edge_m) if side > 0 else (layout.right_m, layout.right.edge_m)
        middle_m, half_m = 0.5 * float(near_m[row] + far_m[row]), 0.5 * abs(float(far_m[row] - near_m[row]))
        there = [way for way in ways if abs(float(way.d_m[0]) - middle_m) < half_m]
        ahead = [way for way in there if float(way.s_m[0]) > ego.s_m]
        behind = [way for way in there if float(way.s_m[0]) <= ego.s_m]
        return Gap(
            ahead=min(ahead, key=lambda way: float(way.s_m[0])).one.item.track_id if ahead else None,
            behind=max(behind, key=lambda way: float(way.s_m[0])).one.item.track_id if behind else None,
        )

    def _has_to_change(self, start: EgoOnRoad) -> bool:
        """Whether the route changes lanes soon."""
        soon = slice(self._route.row_at(start.s_m), self._route.row_at(start.s_m + _BESIDE_CELLS) + 1)
        return bool(self._route.is_change[soon].any())

    def _looks_for_room(self, s_m: Float) -> bool:
        """Whether a lane in the ego's direction lies beside it, and it is time to look for a gap there again."""
        rows = self._route.curve.rows_at(s_m[:_BESIDE_CELLS])
        kinds = np.stack([self._layout.left.kind[rows], self._layout.right.kind[rows]])
        return self._steps_without_room % _LOOKS_EVERY == 0 and bool((kinds == Beside.SAME).any())


def _columns_through(offset_m: float) -> tuple[int, Float]:
    """The column that is nearest to an offset, and the shift of the columns by which it goes through it."""
    column = column_of(offset_m)
    beside_m = offset_m - (column - CENTRE) * COLUMN_M
    return column, beside_m * np.clip(1.0 - np.arange(CELLS) / _SHIFT_M, 0.0, 1.0)
