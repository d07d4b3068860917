"""Finds places where lanes of different roads come together or part: entries, slip roads and exits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from av_core.types import LaneKey
from scenarios.leaderboard.placing.movements import Junctions, Movement
from scenarios.leaderboard.placing.needs import Candidate, Merge, MergeNeeds, Missing, Option, Turn
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.placing.streams import place_along, stream_mps
from scenarios.leaderboard.placing.stretches import Run
from scenarios.leaderboard.placing.ways import Piece, Way, way_along

TRIGGER_M = 50.0
"""Distance from the trigger to the place where the entry leads into the road."""

EXIT_TRIGGER_M = 170.0
"""Distance from the trigger to the exit; between the two the ego crosses the stream."""

BEFORE_M, AFTER_M = 50.0, 110.0
STREAM_BEFORE_M, STREAM_AFTER_M = 90.0, 80.0
RAMP_MIN_M = 40.0
CUT_IN_TRIGGER_M = 90.0
"""Distance from the ego's trigger to the end of the slip road."""

CUT_IN_BEFORE_M = 70.0
"""Distance from the start of the car that cuts in to the end of the slip road."""


def merge_places(view: RoadView, needs: MergeNeeds, rng: np.random.Generator) -> Iterator[Option]:
    """All options of the map in random order: a `Candidate`, or a `Missing` that says which need it fails."""
    junctions = Junctions(view)
    place = _FINDERS[needs.merge]
    movements = [m for found in junctions.of_junction.values() for m in found]
    for number in rng.permutation(len(movements)).tolist():
        ego = movements[number]
        option = place(junctions, ego, needs)
        if isinstance(option, Candidate) and not _is_fast(view, ego, needs.limit_kmh):
            option = Missing(1)
        yield option


def _is_fast(view: RoadView, ego: Movement, limit_kmh: float) -> bool:
    fastest = max(view.lanes[key].speed_limit_mps for key in (ego.entry, ego.exit))
    return fastest * 3.6 >= limit_kmh - 0.5


def _into_lane(junctions: Junctions, ego: Movement, needs: MergeNeeds) -> Option:
    """The ego's lane ends in a lane that another road's or lane's traffic uses too."""
    view = junctions.view
    rivals = [m for m in _rivals(junctions, ego) if m.exit == ego.exit and _is_through(view, m, ego)]
    if not rivals:
        return Missing(0)
    way = _entry_way(view, ego)
    if way is None:
        return Missing(2)
    return _with_stream(view, way, rivals[0], rivals[0].exit)


def _own_lane(junctions: Junctions, ego: Movement, needs: MergeNeeds) -> Option:
    """The ego's entry goes on as a lane of its own beside a lane of another road, to which the ego changes."""
    view = junctions.view
    beside = _added_beside(junctions, ego)
    if beside is None:
        return Missing(0)
    through, exit_run = beside
    entry = _entry_way(view, ego, after_m=40.0)
    if entry is None or view.lanes[entry[0].pieces[-1].lane].is_junction:
        return Missing(2)
    last = entry[0].pieces[-1]
    there = view.same_way_beside(last.lane, last.end_s_m, 1.0)
    if there is None or exit_run.length_m < 150.0:
        return Missing(2)
    onward = way_along(view, (there[0],), there[1], 0.0, AFTER_M)
    if onward is None:
        return Missing(2)
    return _with_stream(view, (Way((*entry[0].pieces, *onward[0].pieces)), entry[1]), through, there[0])


def _cut_in(junctions: Junctions, ego: Movement, needs: MergeNeeds) -> Option:
    """The other car's entry goes on as a lane of its own to the right of the ego's."""
    view = junctions.view
    found = None
    for other in _rivals(junctions, ego):
        beside = _added_beside(junctions, other)
        if beside is not None and beside[0] == ego:
            found = other
    if found is None:
        return Missing(0)
    length_m = view.lanes[ego.entry].length_m
    if length_m < CUT_IN_TRIGGER_M or view.lanes[found.entry].length_m < RAMP_MIN_M:
        return Missing(2)
    row = (ego.entry, ego.inside, ego.exit)
    inside_m = view.lanes[ego.inside].length_m
    trigger_s_m = length_m - CUT_IN_TRIGGER_M
    way = way_along(view, row, trigger_s_m, BEFORE_M, CUT_IN_TRIGGER_M + inside_m + 140.0)
    if way is None or way[1] < 20.0:
        return Missing(2)
    start = place_along(view, found.entry, -min(CUT_IN_BEFORE_M, view.lanes[found.entry].length_m - 3.0))
    return Candidate(*way, (("other_actor_location", start),))


def _exit(junctions: Junctions, ego: Movement, needs: MergeNeeds) -> Option:
    """The ego leaves by a lane that it reaches across the outermost lane of the road that goes on."""
    view = junctions.view
    siblings = [m for m in _rivals(junctions, ego) if m.exit.road_id != ego.exit.road_id and m.turn is Turn.STRAIGHT]
    onward = [m for m in siblings if m.entry.road_id == ego.entry.road_id]
    entry = view.lanes[ego.entry]
    if ego.turn is not Turn.STRAIGHT or not onward or not _is_right_of(view, ego, onward):
        return Missing(0)
    end_s_m = entry.length_m - 1.0
    lanes = [(ego.entry, end_s_m)]
    while (beside := view.same_way_beside(*lanes[-1], 1.0)) is not None:
        lanes.append(beside)
    has_own_lane = not any(m.entry == ego.entry for m in onward)
    crossed = 1 if has_own_lane else 0
    if len(lanes) < crossed + 2:
        return Missing(0)
    inner, stream = lanes[crossed + 1][0], lanes[crossed][0]
    through = next((m for m in onward if m.entry == stream), None)
    way = _exit_way(view, ego, inner)
    if through is None or way is None:
        return Missing(2)
    return _with_stream(view, way, through, through.exit)


_FINDERS: dict[Merge, Callable[[Junctions, Movement, MergeNeeds], Option]] = {
    Merge.INTO_LANE: _into_lane,
    Merge.OWN_LANE: _own_lane,
    Merge.CUT_IN: _cut_in,
    Merge.EXIT: _exit,
}


# ---------------------------------------------------------------- helpers


def _rivals(junctions: Junctions, ego: Movement) -> list[Movement]:
    """The other movements of the ego's junction."""
    junction_id = junctions.view.lanes[ego.inside].junction_id
    assert junction_id is not None
    return [m for m in junctions.of_junction[junction_id] if m != ego]


def _is_through(view: RoadView, other: Movement, ego: Movement) -> bool:
    """Whether the other traffic goes straight on, and the ego comes to it from the side or from a lane that ends."""
    return other.turn is Turn.STRAIGHT and abs(view.turn_rad(other.inside)) < abs(view.turn_rad(ego.inside)) + 1e-3


def _added_beside(junctions: Junctions, ego: Movement) -> tuple[Movement, Run] | None:
    """Where the ego's entry goes on as a lane of its own to the right of traffic of another road: that traffic's
    movement, and the run of the ego's exit."""
    view = junctions.view
    if ego.turn is not Turn.STRAIGHT or any(m.exit == ego.exit for m in _rivals(junctions, ego)):
        return None
    there = view.same_way_beside(ego.exit, min(10.0, view.lanes[ego.exit].length_m), 1.0)
    if there is None:
        return None
    for other in _rivals(junctions, ego):
        if other.exit == there[0] and other.entry.road_id != ego.entry.road_id and other.turn is Turn.STRAIGHT:
            return other, Run(view, next(keys for keys in view.runs if ego.exit in keys))
    return None


def _is_right_of(view: RoadView, ego: Movement, others: list[Movement]) -> bool:
    """Whether the ego's exit lies to the right of where the others leave the junction."""
    at = view.pose(ego.exit, 0.0)
    offsets_m = [float(view.lanes[m.inside].curve.project(at.x_m, at.y_m).d_m) for m in others]
    return all(offset_m < 0.0 for offset_m in offsets_m)


def _entry_way(view: RoadView, ego: Movement, after_m: float = AFTER_M) -> tuple[Way, float] | None:
    """The way on an entry into the road; the trigger lies before the junction."""
    entry_m, inside_m = view.lanes[ego.entry].length_m, view.lanes[ego.inside].length_m
    trigger_m = min(TRIGGER_M, entry_m - 5.0)
    if trigger_m < 0.4 * TRIGGER_M:
        return None
    row = (ego.entry, ego.inside, ego.exit)
    found = way_along(view, row, entry_m - trigger_m, BEFORE_M, trigger_m + inside_m + after_m)
    return found if found is not None and found[1] >= 15.0 else None


def _exit_way(view: RoadView, ego: Movement, inner: LaneKey) -> tuple[Way, float] | None:
    """The way from the inner lane across the others to the exit."""
    run = Run(view, next(keys for keys in view.runs if inner in keys))
    end_m = sum(view.lanes[key].length_m for key in run.keys[: run.keys.index(inner) + 1])
    start_m = end_m - EXIT_TRIGGER_M - BEFORE_M
    leave = way_along(view, (ego.exit,), 0.0, 0.0, 70.0)
    if start_m < 0.0 or leave is None:
        return None
    first, first_s_m = run.at(start_m)
    keys = run.keys[run.keys.index(first) : run.keys.index(inner) + 1]
    pieces = [Piece(key, first_s_m if key == first else 0.0, view.lanes[key].length_m) for key in keys]
    pieces[-1] = Piece(inner, pieces[-1].start_s_m, max(pieces[-1].end_s_m - 20.0, pieces[-1].start_s_m))
    entry_m = view.lanes[ego.entry].length_m
    aside = [
        Piece(ego.entry, max(entry_m - 20.0, 0.0), entry_m),
        Piece(ego.inside, 0.0, view.lanes[ego.inside].length_m),
    ]
    return Way((*pieces, *aside, *leave[0].pieces)), BEFORE_M


def _with_stream(view: RoadView, way: tuple[Way, float], stream: Movement, end: LaneKey) -> Candidate:
    values = (
        ("start_actor_flow", place_along(view, stream.entry, -STREAM_BEFORE_M)),
        ("end_actor_flow", place_along(view, end, STREAM_AFTER_M)),
        ("flow_speed", stream_mps(view, stream.entry)),
    )
    return Candidate(*way, values)
