"""Finds places on stretches of road without junctions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.types import LaneKey, MarkingKind
from scenarios.leaderboard.placing.needs import Beside, Candidate, ChangeNeeds, Missing, Option, StretchNeeds, Value
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.placing.ways import Piece, Way, way_along

STEP_M = 12.0
"""Distance between the triggers that are tried along a lane, and between the points that are checked."""

BEFORE_M = 50.0
"""Length of the route before the trigger, where there is room."""

STRAIGHT_MAX_DEG = 25.0
"""Largest change of heading on a stretch that counts as straight."""

PARKING_MIN_M = 1.9
SPAWN_ROOM_M = 20.0
"""Distance between the start of the ego and that of a vehicle that comes from behind; both are spawned at once."""

CHANGES = 3
"""Number of lane changes on a route with several."""

CHANGE_M = 60.0
"""Least distance between two lane changes."""

CHANGE_S = 3.0
"""At high speed limits two lane changes are farther apart: by the distance driven at the limit in this time (70 m at
most), plus `CHANGE_ROOM_M`."""

CHANGE_ROOM_M = 15.0
"""See `CHANGE_S`."""


class Run:
    """A chain of lanes without a junction; distances count from the start of the first lane."""

    def __init__(self, view: RoadView, keys: tuple[LaneKey, ...]) -> None:
        self.view, self.keys = view, keys
        self._ends_m = np.cumsum([view.lanes[key].length_m for key in keys])
        self.length_m = float(self._ends_m[-1])

    def at(self, run_m: float) -> tuple[LaneKey, float]:
        number = min(int(np.searchsorted(self._ends_m, run_m)), len(self.keys) - 1)
        start_m = float(self._ends_m[number - 1]) if number else 0.0
        return self.keys[number], run_m - start_m

    def turn_deg(self, from_m: float, to_m: float) -> float:
        """Difference between the largest and the smallest heading on the part from `from_m` to `to_m`, degrees."""
        steps = np.linspace(from_m, to_m, max(2, int((to_m - from_m) / STEP_M) + 1))
        yaw_rad = np.unwrap([self.view.pose(*self.at(float(s))).yaw_rad for s in steps])
        return float(np.degrees(np.ptp(yaw_rad)))

    def way(self, trigger_m: float, back_m: float, ahead_m: float) -> tuple[Way, float] | None:
        key, s_m = self.at(trigger_m)
        return way_along(self.view, self.keys[self.keys.index(key) :], s_m, back_m, ahead_m)


def stretches(view: RoadView, needs: StretchNeeds, rng: np.random.Generator) -> Iterator[Option]:
    """All options of the map in random order: a `Candidate`, or a `Missing` that says which need it fails."""
    runs = [Run(view, keys) for keys in view.runs]
    places = [(run, float(s)) for run in runs for s in np.arange(0.0, run.length_m, STEP_M)]
    for number in rng.permutation(len(places)).tolist():
        run, trigger_m = places[number]
        yield _best(run, trigger_m, needs)


def _best(run: Run, trigger_m: float, needs: StretchNeeds) -> Option:
    """The candidate with the first distance that fits; else the `Missing` of the distance that comes closest."""
    closest = Missing(0)
    for distance_m in needs.distances_m or (needs.at_m,):
        option = _place(run, trigger_m, distance_m, needs)
        if isinstance(option, Candidate):
            return option
        closest = max(closest, option, key=lambda missing: missing.number)
    return closest


def _place(run: Run, trigger_m: float, distance_m: float, needs: StretchNeeds) -> Option:
    view = run.view
    ahead_m = 0.0 if needs.is_behind else distance_m
    before_m = max(needs.before_m, distance_m + SPAWN_ROOM_M) if needs.is_behind else needs.before_m
    at_m = trigger_m + ahead_m
    low_m, high_m = at_m + needs.clear_m[0], at_m + needs.clear_m[1]
    fits = low_m >= 0.0 and high_m <= run.length_m
    part_m = (min(low_m, trigger_m), high_m) if fits else (trigger_m, trigger_m)
    directions = _directions(view, run, part_m, trigger_m, needs)
    for number, beside in enumerate(needs.beside):
        if not directions[beside]:
            return Missing(number)
    checks = len(needs.beside)
    if not fits:
        return Missing(checks)
    if view.lanes[run.at(at_m)[0]].speed_limit_mps * 3.6 > needs.limit_max_kmh:
        return Missing(checks + 1)
    turn_deg = run.turn_deg(trigger_m, at_m) if needs.bend_deg else run.turn_deg(low_m, high_m)
    if turn_deg < needs.bend_deg or (turn_deg > STRAIGHT_MAX_DEG and not needs.bend_deg):
        return Missing(checks + 2)
    found = run.way(trigger_m, max(BEFORE_M, before_m) if before_m else 0.0, ahead_m + needs.after_m)
    if found is None or found[1] < before_m - 0.5 or found[0].length_m < found[1] + ahead_m + needs.after_m - 1.0:
        return Missing(checks + 3)
    direction = next((directions[beside] for beside in needs.beside), "right")
    values: tuple[tuple[str, Value], ...] = (("direction", direction),)
    return Candidate(*found, (("distance", distance_m), *values) if needs.distances_m else values)


def _directions(
    view: RoadView, run: Run, part_m: tuple[float, float], trigger_m: float, needs: StretchNeeds
) -> dict[Beside, str]:
    """For each of `needs.beside`, the side ("left" or "right") on which the road has it; "" if on neither side."""
    steps = np.linspace(*part_m, int((part_m[1] - part_m[0]) / STEP_M) + 2)
    places = [run.at(float(s)) for s in steps]
    found = {}
    for beside in needs.beside:
        words = [
            word
            for word, side in (("right", -1.0), ("left", 1.0))
            if _has(view, places, beside, side) and (not needs.has_sign or view.is_edge(*run.at(trigger_m), side))
        ]
        found[beside] = words[0] if words else ""
    return found


def _has(view: RoadView, places: list[tuple[LaneKey, float]], beside: Beside, side: float) -> bool:
    """Whether all `places` have `beside`, for a scenario whose direction is `side`."""
    if beside is Beside.ONCOMING:  # the obstacle stands on the right
        return side < 0.0 and all(
            view.same_way_beside(*at, 1.0) is None and view.oncoming_beside(*at) is not None for at in places
        )
    if beside is Beside.PARKING:
        return all(view.has_parking(*at, side, PARKING_MIN_M) for at in places)
    if beside is Beside.PAVEMENT:
        return all(view.beside(*at, side) is None and view.has_pavement(*at, side) for at in places)
    lane_side = -side if beside is Beside.FREE_LANE else side
    return all(view.same_way_beside(*at, lane_side) is not None for at in places) and any(
        _may_change(view, at, lane_side) for at in places
    )


def _may_change(view: RoadView, at: tuple[LaneKey, float], side: float) -> bool:
    lane = view.lanes[at[0]]
    row = min(int(np.searchsorted(lane.s_m, at[1])), len(lane.s_m) - 1)
    return bool((lane.left_change if side > 0.0 else lane.right_change)[row])


# ---------------------------------------------------------------- lane changes


def lane_changes(view: RoadView, needs: ChangeNeeds, rng: np.random.Generator) -> Iterator[Option]:
    """Routes that change lanes several times, to one side and back, in random order."""
    runs = [Run(view, keys) for keys in view.runs]
    places = [(run, float(s)) for run in runs for s in np.arange(0.0, run.length_m, 3.0 * STEP_M)]
    for number in rng.permutation(len(places)).tolist():
        run, trigger_m = places[number]
        yield _changes(run, trigger_m, needs)


def _changes(run: Run, trigger_m: float, needs: ChangeNeeds) -> Option:
    view = run.view
    start = run.at(trigger_m)
    if view.same_way_beside(*start, 1.0) is not None or view.same_way_beside(*start, -1.0) is None:
        return Missing(0)  # the route begins in the innermost lane
    step_m = max(CHANGE_M, min(CHANGE_S * view.lanes[start[0]].speed_limit_mps, 70.0) + CHANGE_ROOM_M)
    if run.length_m < trigger_m + max(needs.clear_m, (CHANGES + 1) * step_m):
        return Missing(1)
    before = run.way(trigger_m, BEFORE_M, step_m)
    if before is None or before[1] < 20.0:
        return Missing(2)
    pieces, side = list(before[0].pieces), -1.0
    for _ in range(CHANGES):
        here = _sideways(view, pieces[-1], side)
        if here is None and side < 0.0:
            side = 1.0
            here = _sideways(view, pieces[-1], side)
        if here is None:
            return Missing(1)
        key, s_m = here
        end_s_m = s_m + step_m
        while end_s_m > view.lanes[key].length_m:
            following = view.straightest(view.lanes[key].successors)
            if following is None:
                return Missing(2)
            pieces.append(Piece(key, s_m, view.lanes[key].length_m))
            end_s_m -= view.lanes[key].length_m
            key, s_m = following, 0.0
        pieces.append(Piece(key, s_m, end_s_m))
    if view.lanes[pieces[-1].lane].is_junction:
        return Missing(2)
    return Candidate(Way(tuple(pieces)), before[1])


def _sideways(view: RoadView, last: Piece, side: float) -> tuple[LaneKey, float] | None:
    """The place beside the end of a piece to which the ego may change."""
    place = last.lane, last.end_s_m
    lane = view.lanes[last.lane]
    row = min(int(np.searchsorted(lane.s_m, last.end_s_m)), len(lane.s_m) - 1)
    marking = (lane.left_marking if side > 0.0 else lane.right_marking)[row]
    return view.same_way_beside(*place, side) if marking is MarkingKind.BROKEN else None
