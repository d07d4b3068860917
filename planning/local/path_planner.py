"""The local path: where on the road the ego drives, chosen by a search in space and time.

The route is the path by default. The search (`lattice`) finds another one where something blocks the route that may be
passed, or where a vehicle is beside a lane change of the route. It leads around it, within the ego's lane or through
the lane beside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from av_core.types import Behaviour, Decision, Float, LaneGraph, Manoeuvre, Prediction, TrafficLightView
from planning.behaviour import Path, Situation, decide
from planning.local.blockers import FrontView
from planning.local.candidates.finder import OUT_M, SLOWER_MPS, PathFinder
from planning.local.candidates.step import Candidate, Candidates, Step, start_of
from planning.local.candidates.surroundings import Observer
from planning.local.found_way import BACK_ON_ROUTE, PASSING, schedule, waits_at
from planning.local.lattice import CELLS, COLUMN_M, LatticePath
from planning.local.local_path import LocalPath
from planning.local.occupancy import Body, EgoOnRoad
from planning.local.profile import IN_LANE_M, OffsetProfile, shifted
from planning.local.pulling_out import PullingOut
from planning.local.road import RoadLayout, lanes_aside_m, road_layout
from planning.local.road_cells import RoadAhead
from planning.local.yielding import with_followers_slowing, with_yielding
from planning.reference_path import Route

_OFF_PROFILE_M = 1.2
"""Deviation from the planned offset beyond which the ego plans anew from its present position."""

_GIVING_UP_MPS2 = 4.0
"""Deceleration of the ego when its path through the oncoming lane is closed."""

_ROLLING_MPS = 5.0
"""Speed above which the ego keeps the planned times between others that drive in its direction, as an impatient ego
does. A slower, patient ego lets them go first.
"""

_BETTER_M = 5.0
"""A new path replaces the old one only if it saves more distance than this, or if the old one is no longer free."""

_SOON_SLOWER_MPS = 0.2
"""As `SLOWER_MPS`, for an ego that changes lanes soon."""


@dataclass(frozen=True, slots=True)
class _Decided:
    """One step with the paths on offer, and what the ego does."""

    step: Step
    candidates: Candidates
    situation: Situation
    decision: Decision


class LocalPlanner:
    """Chooses the local path along one route, step by step; each plan starts from the one before."""

    def __init__(self, route: Route, graph: LaneGraph, body: Body, view: FrontView | None = None) -> None:
        self._route, self._body = route, body
        self._layout: RoadLayout = road_layout(route, graph)
        self._profile = OffsetProfile(route, self._layout, body)
        self._observer = Observer(route, self._layout, body, view)
        self._finder = PathFinder(route, self._layout, lanes_aside_m(self._layout), body, self._profile)
        self._pulling_out = PullingOut(route, self._layout, body)
        self._has_made_room = False
        self._paths: Mapping[Behaviour, Callable[[_Decided], LocalPath]] = {
            Behaviour.FOLLOW_LANE: self._stay_in_lane,
            Behaviour.YIELD: self._stay_in_lane,
            Behaviour.STOP: self._stay_in_lane,
            Behaviour.CREEP: self._stay_in_lane,
            Behaviour.MERGE: self._drive_past,
            Behaviour.PASS_IN_LANE: self._pass_in_lane,
            Behaviour.CHANGE_LANE: self._change_lane,
            Behaviour.OVERTAKE: self._drive_past,
            Behaviour.LEAVE_PARKING_SPACE: self._drive_past,
            Behaviour.GIVE_WAY_TO_EMERGENCY_VEHICLE: self._make_room,
            Behaviour.SAFE_STOP: self._halt,
        }

    def plan(
        self,
        prediction: Prediction,
        lights: Mapping[str, TrafficLightView],
        ego: EgoOnRoad,
        top_speed: tuple[Float, Float],
        stop_s_m: float,
        now: Behaviour = Behaviour.FOLLOW_LANE,
    ) -> LocalPath:
        """The path from now on, for an ego that does `now`.

        `top_speed` is the highest speed without other road users: arc lengths and m/s. The ego will stop at `stop_s_m`.
        """
        step = self._look(prediction, lights, ego, top_speed, stop_s_m)
        candidates = self._search(step)
        situation = self._situation(step, candidates)
        decision = decide(now, situation)
        return self._paths[decision.behaviour](_Decided(step, candidates, situation, decision))

    @property
    def route(self) -> Route:
        return self._route

    def is_beside_oncoming(self, s_m: float) -> bool:
        """Whether an oncoming lane lies beside the ego's there."""
        return self._finder.has_oncoming_lane(np.array([s_m]))

    def _look(
        self,
        prediction: Prediction,
        lights: Mapping[str, TrafficLightView],
        ego: EgoOnRoad,
        top_speed: tuple[Float, Float],
        stop_s_m: float,
    ) -> Step:
        """Who concerns the path, and the road as the searches see it: others slow down where the ego expects this."""
        route, profile, planned_m = self._route, self._profile, float(self._profile.at(ego.s_m))
        pulls_out = self._pulling_out.update(ego, prediction.stamp.time_s)
        is_in_lane = abs(planned_m) < IN_LANE_M + COLUMN_M
        around = self._observer.update(prediction, lights, ego, pulls_out=pulls_out, is_in_lane=is_in_lane)
        rows = slice(route.row_at(ego.s_m - 5.0), route.row_at(ego.s_m + CELLS) + 1)
        if abs(ego.offset_m - planned_m) > _OFF_PROFILE_M:
            profile.start_from(ego, rows)
        start = start_of(ego)
        ways = [way for way in around.ways if way.one.item.track_id not in around.hurried_by]
        if abs(ego.offset_m) > OUT_M and self._finder.is_going(ego):
            ways = with_yielding(ways, ego, self._body)
        if around.blocking or pulls_out:
            beside_m = self._layout.from_nearest_middle_m(route.row_at(ego.s_m), ego.offset_m)
            out_m = self._pulling_out.reaches_m(ego) if pulls_out else abs(beside_m)
            if ego.is_brisk or out_m > OUT_M:
                ways = with_followers_slowing(ways, ego, self._body, out_m)
        road = RoadAhead(ways, around.blocking, around.slow, top_speed, stop_s_m, pulls_out)
        return Step(ego, start, float(profile.at(start.s_m)), planned_m, rows, road, around)

    def _search(self, step: Step) -> Candidates:
        """The paths that the ego could take: only those that the decision may need, since each search takes time."""
        around, finder = step.surroundings, self._finder
        finder.found = []
        aside = finder.keep_aside(step) if around.keeps_aside else None
        may_change = aside is None and not (around.hurried_by or around.pulls_out or step.is_on_route)
        if not may_change:
            finder.changes.end()
        if aside is not None:
            return Candidates(aside=aside)
        if around.hurried_by or step.is_on_route:
            return Candidates()
        found = finder.change_lanes(step, self._observer.gains_mps2()) if may_change else Candidates()
        return found if found.into_gap or found.waits_for_gap else self._onward(step)

    def _onward(self, step: Step) -> Candidates:
        """The paths past what is in the way, or back into the lane."""
        around = step.surroundings
        if not around.blocking and not around.slow and step.is_near_lane:
            return Candidates()
        return self._finder.pass_by(step, 0.0 if self._has_made_room else _BETTER_M)

    def _situation(self, step: Step, candidates: Candidates) -> Situation:
        around = step.surroundings
        in_lane = [(way.one.item.track_id, around.stands(way)) for way in around.in_lane]
        return Situation(
            blocked_by=tuple(dict.fromkeys(number for number, stands in in_lane if stands)),
            slowed_by=tuple(dict.fromkeys(number for number, stands in in_lane if not stands)),
            joins_beside=tuple(sorted(around.joining)),
            hurried_by=tuple(sorted(around.hurried_by)),
            beside=tuple(way.one.item.track_id for way in around.beside),
            keeps_aside=candidates.aside is not None,
            is_beside_road=around.pulls_out,
            is_out_of_lane=abs(step.ego.offset_m) > OUT_M,
            gap=candidates.gap,
            waits_for_gap=candidates.waits_for_gap,
            gap_comes=self._finder.changes.soon_mps is not None,
            onward=self._on_offer(step, candidates.onward),
            is_held=candidates.is_held,
            last_resort=self._on_offer(step, candidates.last_resort),
            returns=candidates.back is not None,
            is_lost=candidates.is_lost,
        )

    def _on_offer(self, step: Step, candidate: Candidate | None) -> Path | None:
        if candidate is None:
            return None
        waits = self._waits_at(step, candidate.found) is not None
        return Path(candidate.manoeuvre, waits=waits, is_complete=candidate.found.is_complete)

    def _stay_in_lane(self, decided: _Decided) -> LocalPath:
        """Along the lane, or back into it."""
        step, candidates = decided.step, decided.candidates
        if step.is_on_route:
            self._profile.clear()
            return self._in_lane(decided)
        return self._along(decided, candidates.back or candidates.onward)

    def _pass_in_lane(self, decided: _Decided) -> LocalPath:
        aside = decided.candidates.aside
        if aside is not None:
            self._take(aside)
            return self._in_lane(decided)
        return self._drive_past(decided)

    def _change_lane(self, decided: _Decided) -> LocalPath:
        into_gap = decided.candidates.into_gap
        return self._drive_past(decided) if into_gap is None else self._along(decided, into_gap)

    def _drive_past(self, decided: _Decided) -> LocalPath:
        """Along the path onward; without one, along the last resort until the ego can return."""
        candidates = decided.candidates
        return self._along(decided, candidates.onward or candidates.last_resort)

    def _make_room(self, decided: _Decided) -> LocalPath:
        found, slack_mps = self._finder.make_room(decided.step)
        return self._assemble(decided, found, slack_mps=slack_mps)

    def _halt(self, decided: _Decided) -> LocalPath:
        """Along the last resort, to a stop as soon as the ego can: others in the oncoming lane can stop before it."""
        ego = decided.step.ego
        path = self._along(decided, decided.candidates.last_resort)
        return replace(path, stop_s_m=ego.s_m + ego.speed_mps**2 / (2.0 * _GIVING_UP_MPS2))

    def _along(self, decided: _Decided, candidate: Candidate | None) -> LocalPath:
        """Along a candidate; None leads back to the route, or along it."""
        if candidate is None:
            return self._assemble(decided, self._return(decided.step))
        return self._assemble(decided, self._take(candidate), candidate.manoeuvre)

    def _take(self, candidate: Candidate) -> LatticePath:
        """Make a candidate the path that the ego drives."""
        self._profile.offset_m[:] = candidate.offset_m
        return candidate.found

    def _return(self, step: Step) -> LatticePath:
        """Lead the path back to the route, or along it."""
        self._profile.take_over(BACK_ON_ROUTE, step.start, step.rows)
        return BACK_ON_ROUTE

    def _in_lane(self, decided: _Decided) -> LocalPath:
        """The local path of an ego that stays in its lane, and has nobody to wait for or to pass there."""
        offset_m, around = self._profile.offset_m.copy(), decided.step.surroundings
        return LocalPath(
            situation=decided.situation,
            decision=decided.decision,
            route=shifted(self._route, 0, offset_m) if offset_m.any() else self._route,
            offset_m=offset_m,
            prediction=around.prediction,
            passed=self._observer.near_lanes(around.ways, around.standing.suspects),
            obstacles=around.standing.obstacles,
        )

    def _assemble(
        self,
        decided: _Decided,
        found: LatticePath,
        manoeuvre: Manoeuvre | None = None,
        *,
        slack_mps: float = SLOWER_MPS,
    ) -> LocalPath:
        """The local path of an ego that takes the way `found`: where and for whom it waits or slows down.

        `manoeuvre` is what the path does; None where this is not known yet. The ego slows down where the way is slower
        than the ego by more than the slack.
        """
        step = decided.step
        ego, around, profile, changes = step.ego, step.surroundings, self._profile, self._finder.changes
        slower_mps = float(found.speed_mps[min(2, len(found.speed_mps) - 1)])
        if changes.soon_mps is not None:
            slower_mps, slack_mps = changes.soon_mps, _SOON_SLOWER_MPS
        has_to_slow_down = slower_mps < ego.speed_mps - slack_mps
        has_reason = bool(around.blocking or around.slow or around.hurried_by)
        times, met = self._times(step, found)
        self._has_made_room = bool(around.hurried_by)
        return LocalPath(
            situation=decided.situation,
            decision=decided.decision,
            route=shifted(
                self._route,
                step.rows.start,
                profile.offset_m[step.rows.start :] if around.hurried_by else profile.offset_m[step.rows],
            ),
            offset_m=profile.offset_m.copy(),
            prediction=around.prediction,
            manoeuvre=Manoeuvre.PULL_OUT if around.pulls_out else manoeuvre or profile.manoeuvre(ego.s_m),
            passed=self._observer.near_lanes(around.ways, around.standing.suspects | around.slow_standing),
            stop_s_m=self._waits_at(step, found),
            slower_mps=slower_mps if has_reason and has_to_slow_down else None,
            schedule=times,
            met=met,
            let_by=around.hurried_by,
            clear_of=frozenset(way.one.item.track_id for way in around.ways if self._finder.is_clear_of(way, ego)),
            obstacles=around.standing.obstacles,
            pulls_out=around.pulls_out,
            room_m=self._observer.gap_ahead_m(around.to_pass, ego),
            faces_oncoming=self.is_beside_oncoming(ego.s_m),
            alternatives=self._alternatives(step.start.s_m),
            is_about_to_pass=changes.soon_mps is not None,
        )

    def _waits_at(self, step: Step, found: LatticePath) -> float | None:
        """The arc length where the ego waits on the way `found`; None where it does not."""
        time_s = step.surroundings.prediction.stamp.time_s
        beside_road_s_m = self._pulling_out.waits_at(found, step.ego, time_s)
        if beside_road_s_m is not None:
            return beside_road_s_m
        return waits_at(found, step.ego, step.start, step.road.stop_s_m)

    def _times(self, step: Step, found: LatticePath) -> tuple[tuple[Float, Float] | None, frozenset[int]]:
        """Arc lengths and speeds of the way `found`, and the track ids of those that its times take into account."""
        ego, around = step.ego, step.surroundings
        if found is PASSING:  # the ego changes lanes before those behind it
            return (np.array([ego.s_m, ego.s_m + CELLS]), np.full(2, 99.0)), self._finder.changes.behind(
                around.ways, ego
            )
        is_timed = ego.speed_mps > _ROLLING_MPS or ego.is_brisk or around.pulls_out
        return schedule(found, step.start, around.ways, ego.s_m + self._body.front_m if is_timed else -np.inf)

    def _alternatives(self, from_s_m: float) -> tuple[Float, ...]:
        """The complete ways that the search found, but for those beside the path: places (M, 2) in the map frame."""
        ways = []
        for found in self._finder.found:
            s_m = np.minimum(from_s_m + found.along_m, self._route.length_m)
            is_beside = np.abs(found.offset_m - self._profile.at(s_m)).max() > IN_LANE_M
            if found.is_complete and is_beside:
                x_m, y_m, _ = self._route.curve.pose_at(s_m, found.offset_m)
                ways.append(np.column_stack([x_m, y_m]))
        return tuple(ways)
