"""Remembers which way vehicles took at forks: the next vehicle on the same lane may take it, too.

Without this, a vehicle is expected to turn only when it does. A stream of vehicles that all turn to the ego's lane
would look like one that passes.
"""

from __future__ import annotations

from collections.abc import Mapping

from av_core.types import LaneGraph, LaneKey

_REMEMBERED_S = 15.0
"""How long the last vehicle's way is remembered."""

_UNDERWAY_S = 10.0
"""A vehicle that has been in the junction for longer, or is no longer seen, tells nothing."""


class TurnsSeen:
    """For each lane that forks, the way of the last vehicle that drove on it.

    `ahead` has the lane straight on after each lane of the graph, as of `straight_on`.
    """

    def __init__(self, graph: LaneGraph, ahead: Mapping[LaneKey, LaneKey | None]) -> None:
        self._graph, self._ahead = graph, ahead
        self._came_by: dict[int, tuple[LaneKey, float]] = {}
        self._taken: dict[LaneKey, tuple[LaneKey, float]] = {}
        self._now_s = 0.0

    def see(self, time_s: float, lanes: Mapping[int, LaneKey]) -> None:
        """Take in the lanes on which vehicles are now, by their track ids."""
        self._now_s = time_s
        for track, key in lanes.items():
            lane = self._graph.lanes[key]
            if lane.is_junction:
                continue
            fork, _ = self._came_by.pop(track, (None, 0.0))
            if fork is not None and fork != key:
                taken = self._leading_to(fork, key)
                if taken is not None:
                    self._taken[fork] = (taken, time_s)
            if len(lane.successors) > 1:
                self._came_by[track] = (key, time_s)
        self._came_by = {track: one for track, one in self._came_by.items() if time_s - one[1] < _UNDERWAY_S}

    def ahead_of(self, key: LaneKey, within_m: float) -> LaneKey | None:
        """The lane to which the last vehicle turned at the next fork ahead of a lane, up to `within_m` beyond its end.

        None if it went straight on, or if no vehicle has been seen there for a while.
        """
        here: LaneKey | None = key
        beyond_m = 0.0
        while here is not None and beyond_m <= within_m:
            on = self._ahead[here]
            if len(self._graph.lanes[here].successors) > 1:
                taken, at_s = self._taken.get(here, (on, self._now_s))
                return taken if taken != on and self._now_s - at_s < _REMEMBERED_S else None
            here = on
            beyond_m += self._graph.lanes[on].length_m if on is not None else 0.0
        return None

    def _leading_to(self, fork: LaneKey, key: LaneKey) -> LaneKey | None:
        """The successor of `fork` that leads to the lane `key`, directly or through the junction."""
        lanes = self._graph.lanes
        return next((one for one in lanes[fork].successors if one in lanes and self._leads_to(one, key)), None)

    def _leads_to(self, start: LaneKey, key: LaneKey) -> bool:
        reached, ends = {start}, [start]
        while ends:
            lane = self._graph.lanes.get(ends.pop())
            if lane is not None and lane.is_junction:
                new = set(lane.successors) - reached
                reached |= new
                ends += new
        return key in reached
