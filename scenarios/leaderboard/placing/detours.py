"""Finds out whether a route planner that starts inside a junction could take another way than the placed one."""

from __future__ import annotations

import math

from av_core.types import LaneKey
from scenarios.leaderboard.placing.roads import RoadView

EDGE_M = 1.0
"""A place within this distance behind a junction also lies on the lanes inside the junction."""

MARGIN = 1.1
"""A path up to this factor longer counts as equally long, because planners count steps of 2 m, not metres."""


def may_miss(view: RoadView, first: LaneKey, s_m: float, goal: LaneKey) -> bool:
    """Whether a planner from `s_m` on the lane `first` to the lane `goal` could drive around `first`.

    CARLA's planner looks for the shortest way from the beginning of the lane that it finds at the start. At the edge of
    a junction that may be a lane inside it, whose beginning has ways to other arms.
    """
    if s_m >= EDGE_M or goal == first:
        return False
    inside = [key for key in view.lanes[first].predecessors if key in view.lanes and view.lanes[key].is_junction]
    onward_m = view.lanes[first].length_m + _shortest_m(view, first, goal, first)
    for through in inside:
        for entry in view.lanes[through].predecessors:
            if entry in view.lanes:
                direct_m = view.lanes[through].length_m + onward_m
                if _shortest_m(view, entry, goal, first) <= MARGIN * direct_m:
                    return True
    return False


def _shortest_m(view: RoadView, start: LaneKey, goal: LaneKey, avoided: LaneKey) -> float:
    """Length of the shortest way between the end of a lane and the beginning of another; lane changes have none."""
    lengths_m = dict.fromkeys(_following(view, start), 0.0)
    done: set[LaneKey] = {avoided}
    while open_lanes := lengths_m.keys() - done:
        key = min(open_lanes, key=lambda lane: lengths_m[lane])
        if key == goal:
            return lengths_m[key]
        done.add(key)
        length_m = view.lanes[key].length_m
        ways = [(after, lengths_m[key] + length_m) for after in _following(view, key)]
        if not view.lanes[key].is_junction:
            beside = [view.same_way_beside(key, length_m / 2.0, side) for side in (1.0, -1.0)]
            ways += [(found[0], lengths_m[key]) for found in beside if found is not None]
        for lane, way_m in ways:
            lengths_m[lane] = min(way_m, lengths_m.get(lane, math.inf))
    return math.inf


def _following(view: RoadView, key: LaneKey) -> list[LaneKey]:
    return [after for after in view.lanes[key].successors if after in view.lanes]
