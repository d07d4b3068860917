"""Whether the ego can get through a junction, and where it waits if it cannot.

An ego that follows a vehicle into a junction, and has to stop there, stands on the ways of others. These wait for the
ego, the vehicle waits for them, and none of them ever moves. So the ego enters only where it can leave, and if it has
to wait inside, it waits where it is in nobody's way. Those whose ways end in the ego's lane are no reason to wait: they
would stand in the same queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from av_core.types import Float, Lane, LaneGraph, SignalKind
from planning.config import BehaviorConfig
from planning.reference_path import Route
from planning.signals import EgoOnRoute, stop_position_m

STANDING_MPS = 1.0
"""Largest speed of a vehicle ahead, in the ego's direction, that may stop so that the ego has to stop behind it."""

_LINE_BEFORE_M = 25.0
"""A stop line belongs to the junction that begins at most this far behind it."""

_THEIR_HALF_WIDTH_M, _MARGIN_M = 1.0, 0.3
"""Half the width of a vehicle on another way, and the distance to the ego that its driver needs to go on."""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """A vehicle on the ego's path: its near end, as arc length of the route, and when it will have left the path, s.

    `clear_s` is infinite for a vehicle that stands, or that drives along the path so slowly that it may stop.
    `is_queue`: whether it heads where the ego goes, so that the ego stands behind it in a queue.
    """

    track_id: int
    low_s_m: float
    clear_s: float
    is_queue: bool = False


@dataclass(frozen=True, slots=True)
class Junction:
    """A stretch of a route inside a junction, and where the ego may wait; all are arc lengths.

    * `wait_s_m`: the front bumper's waiting place before the junction.
    * `free_s_m`: the last place inside at which the ego is on no other path through the junction.
    * `clear_s_m`: the last place at which the ego is on no path that leads elsewhere than its own; infinite if no such
      path meets the ego's.
    * `has_light`: whether a traffic light stops the traffic from other roads.
    """

    from_s_m: float
    to_s_m: float
    wait_s_m: float
    free_s_m: float
    clear_s_m: float
    has_light: bool

    def places_m(self, blocker: InTheWay) -> tuple[float, float, float]:
        """Where the front bumper may wait because of a vehicle, the best place first."""
        return self.wait_s_m, self.from_s_m, self.last_place_m(blocker)

    def last_place_m(self, blocker: InTheWay) -> float:
        """The last place in the junction at which the ego is in nobody's way while it waits because of a vehicle."""
        return self.clear_s_m if blocker.is_queue else self.free_s_m


def junctions_of(route: Route, graph: LaneGraph, width_m: float, config: BehaviorConfig) -> tuple[Junction, ...]:
    """The junctions on a route, in order, for an ego of this width. One that the route starts in is left out."""
    inside = np.append(route.is_junction.astype(np.int8), 0)
    starts, ends = np.flatnonzero(np.diff(inside) == 1) + 1, np.flatnonzero(np.diff(inside) == -1)
    last = len(route.s_m) - 1
    return tuple(
        _junction(route, graph, slice(first, int(ends[ends >= first][0]) + 1), width_m, config)
        for first in starts.tolist()
        if first <= last
    )


def _junction(route: Route, graph: LaneGraph, rows: slice, width_m: float, config: BehaviorConfig) -> Junction:
    from_s_m, to_s_m = float(route.s_m[rows.start]), float(route.s_m[rows.stop - 1])
    signals = [one for one in route.signals if from_s_m - _LINE_BEFORE_M < one.stop_s_m <= from_s_m]
    has_light = any(one.kind is SignalKind.TRAFFIC_LIGHT for one in signals)
    wait_s_m = stop_position_m(route, min((one.stop_s_m for one in signals), default=from_s_m), config)
    reach_m = 0.5 * width_m + _THEIR_HALF_WIDTH_M + _MARGIN_M
    joining, crossing = _other_ways(route, graph, rows)
    clear_s_m = max(_first_met_m(route, rows, crossing, reach_m), from_s_m)
    free_s_m = max(min(_first_met_m(route, rows, joining, reach_m), clear_s_m, to_s_m), from_s_m)
    return Junction(from_s_m, to_s_m, wait_s_m, free_s_m, clear_s_m, has_light)


def _other_ways(route: Route, graph: LaneGraph, rows: slice) -> tuple[list[Lane], list[Lane]]:
    """The lanes through a junction that begin on other roads: those that end in the route's lane, and the others."""
    own = {route.lanes[number] for number in np.unique(route.lane_index[rows]).tolist()}
    own_lanes = [graph.lanes[key] for key in own if key in graph.lanes]
    ids = {lane.junction_id for lane in own_lanes}
    before = {key for lane in own_lanes for key in lane.predecessors} | own
    behind = {key for lane in own_lanes for key in lane.successors} - own
    others = [
        lane
        for lane in graph.lanes.values()
        if lane.is_junction and lane.junction_id in ids and lane.key not in own and not before & {*lane.predecessors}
    ]
    joining = [lane for lane in others if behind & {*lane.successors}]
    crossing = [lane for lane in others if not behind & {*lane.successors}]
    return joining, crossing


def _first_met_m(route: Route, rows: slice, lanes: Iterable[Lane], reach_m: float) -> float:
    """Arc length at which the route first comes within `reach_m` of one of the lanes; infinite if it never does."""
    met = [route.s_m[rows][_distances_m(route, rows, lane) < reach_m] for lane in lanes]
    return min((float(s_m[0]) for s_m in met if len(s_m)), default=float("inf"))


def _distances_m(route: Route, rows: slice, lane: Lane) -> Float:
    """Distance of each point of the route to the nearest point of a lane."""
    x, y = route.curve.x_m[rows, None] - lane.points[:, 0], route.curve.y_m[rows, None] - lane.points[:, 1]
    return np.asarray(np.hypot(x, y).min(axis=1))


def waits_before(
    junctions: Sequence[Junction], arrives_s: Iterable[float], ego: EgoOnRoute, blocker: InTheWay, gap_m: float
) -> Junction | None:
    """The junction before which the ego waits since it could not leave one; None if it can leave all.

    `junctions` are those ahead of the ego, and it comes to them at the times `arrives_s`, if it does not wait. `gap_m`
    is the gap that it keeps behind the vehicle in its way. It does not wait for a queue whose end is before the ways
    that lead elsewhere.
    """
    room_m = ego.front_m + ego.rear_m + gap_m
    low_s_m, found = blocker.low_s_m, None
    for junction, time_s in reversed(list(zip(junctions, arrives_s, strict=True))):
        ends_early = blocker.is_queue and low_s_m - gap_m <= junction.clear_s_m
        if ends_early or junction.last_place_m(blocker) <= ego.front_s_m:
            continue
        if junction.from_s_m < low_s_m < junction.to_s_m + room_m and blocker.clear_s > time_s:
            low_s_m, found = junction.wait_s_m + gap_m, junction
    return found
