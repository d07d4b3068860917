"""Finds places at junctions: approaches from which the ego turns or goes straight on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.types import LaneKey
from scenarios.leaderboard.placing.movements import Junctions, Movement
from scenarios.leaderboard.placing.needs import Candidate, JunctionNeeds, Missing, Option, Stream
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.placing.streams import Met, stream_values, streams
from scenarios.leaderboard.placing.ways import Way, way_along

BEFORE_M = 50.0
BEFORE_MIN_M = 20.0
"""Usual length of the route before the trigger, and its least length where the road is shorter."""


def junction_places(view: RoadView, needs: JunctionNeeds, rng: np.random.Generator) -> Iterator[Option]:
    """All options of the map in random order: a `Candidate`, or a `Missing` that says which need it fails."""
    junctions = Junctions(view)
    movements = [(number, m) for number, found in junctions.of_junction.items() for m in found]
    for number in rng.permutation(len(movements)).tolist():
        junction_id, ego = movements[number]
        yield _place(junctions, junction_id, ego, needs, rng)


def _place(
    junctions: Junctions, junction_id: int, ego: Movement, needs: JunctionNeeds, rng: np.random.Generator
) -> Option:
    view, arms = junctions.view, junctions.arms(junction_id)
    if len(arms) < 3 or (needs.arms is not None and len(arms) != needs.arms):
        return Missing(0)
    if ego.turn not in needs.turns:
        return Missing(1)
    if needs.control is not None and not junctions.is_controlled(junction_id, ego, needs.control):
        return Missing(2)
    met = streams(junctions, junction_id, ego, needs.stream) if needs.stream is not None else [Met()]
    if needs.stream is not None and not met:
        return Missing(3)
    trunk = ego.exit if needs.stream is Stream.ACROSS else ego.entry
    if view.lanes[trunk].speed_limit_mps * 3.6 < needs.limit_kmh - 0.5:
        return Missing(4)
    entry = view.lanes[ego.entry]
    if needs.pavement_before and not view.has_pavement(ego.entry, max(entry.length_m - 2.0, 0.0), -1.0):
        return Missing(5)
    if needs.pavement_after and not view.has_pavement(ego.exit, min(8.0, view.lanes[ego.exit].length_m), -1.0):
        return Missing(5)
    found = _way(view, ego, needs)
    if found is None:
        return Missing(6)
    chosen = met[int(rng.integers(len(met)))]
    return Candidate(*found, tuple(stream_values(view, needs, chosen)))


def _way(view: RoadView, ego: Movement, needs: JunctionNeeds) -> tuple[Way, float] | None:
    """The ego's way through the junction; the trigger lies before it on the same lanes."""
    inside = view.lanes[ego.inside].length_m
    row, to_end_m = [ego.entry], view.lanes[ego.entry].length_m
    while to_end_m < needs.trigger_m:
        before = [key for key in view.lanes[row[0]].predecessors if key in view.lanes]
        if len(before) != 1 or view.lanes[before[0]].is_junction or before[0] in row:
            break
        row.insert(0, before[0])
        to_end_m += view.lanes[before[0]].length_m
    trigger_s_m = to_end_m - needs.trigger_m
    if trigger_s_m < 0.0:
        if to_end_m < 0.6 * needs.trigger_m:
            return None
        trigger_s_m = 1.0
    ahead_m = to_end_m - trigger_s_m + inside + needs.after_m
    found = way_along(view, (*row, ego.inside, *_through(view, ego)), trigger_s_m, BEFORE_M, ahead_m)
    if found is None or found[1] < BEFORE_MIN_M or found[0].length_m < found[1] + ahead_m - 0.5 * needs.after_m:
        return None
    return found


def _through(view: RoadView, ego: Movement) -> Iterator[LaneKey]:
    """The lanes from inside the junction to its exit, without the first."""
    key: LaneKey | None = ego.inside
    while key is not None and key != ego.exit:
        key = view.straightest(view.lanes[key].successors)
        if key is not None:
            yield key
