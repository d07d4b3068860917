"""The traffic that the ego meets at a junction, and the parameters that describe it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from av_core.types import LaneKey, SideKind
from scenarios.leaderboard.placing.movements import CROSSING_M, Junctions, Movement, distance_m
from scenarios.leaderboard.placing.needs import JunctionNeeds, Stream, Turn, Value
from scenarios.leaderboard.placing.places import location
from scenarios.leaderboard.placing.roads import RoadView
from scenarios.leaderboard.routes import Location

ARM_MIN_M = 25.0
"""Least length of the lane on which a stream comes to the junction."""

STREAM_BEFORE_M = 70.0
"""Distance before the junction at which a stream starts, if its road is long enough."""

STREAM_AFTER_M = 50.0
"""Distance behind the junction at which a stream ends, if its road is long enough."""

BICYCLES_BEFORE_M = 45.0
BICYCLE_MPS = 5.0

SPEEDS_MPS = (6.0, 20.0)
"""Smallest and largest speed of a stream."""

SPEED_RATIO = 0.8
"""Speed of a stream as a fraction of the speed limit, before it is clipped to `SPEEDS_MPS`."""


@dataclass(frozen=True, slots=True)
class Met:
    """Traffic that the ego meets: a movement that comes from an `arm`, or bicycles that start at a place."""

    arm: str = ""
    movement: Movement | None = None
    bicycles: Location | None = None


def streams(junctions: Junctions, junction_id: int, ego: Movement, stream: Stream) -> list[Met]:
    """All traffic of the kind `stream` that the movement `ego` meets in the junction."""
    if stream is Stream.BICYCLES:
        return [Met(bicycles=place) for place in _bicycle_lanes(junctions.view, ego)]
    if stream is Stream.OPPOSITE_TURN:
        turning = junctions.others(junction_id, ego, "opposite")
        found = [m for m in turning if m.turn is Turn.RIGHT and m.exit.road_id == ego.exit.road_id]
        return [Met("opposite", m) for m in found]
    crossing = {
        arm: [
            other
            for other in junctions.others(junction_id, ego, arm)
            if other.turn is Turn.STRAIGHT
            and junctions.cross(ego, other)
            and junctions.view.lanes[other.entry].length_m >= ARM_MIN_M
        ]
        for arm in ("left", "right", "opposite")
    }
    if stream is Stream.OPPOSITE:
        return [Met("opposite", m) for m in crossing["opposite"]]
    if stream is Stream.FROM_LEFT:
        return [Met("left", m) for m in crossing["left"] if m.exit == ego.exit]
    if stream is Stream.ACROSS:
        is_joined = any(other.exit == ego.exit for other in crossing["right"])
        return [Met("left", m) for m in crossing["left"] if is_joined]
    return [Met(arm, m) for arm, found in crossing.items() for m in found]


def stream_values(view: RoadView, needs: JunctionNeeds, met: Met) -> Iterator[tuple[str, Value]]:
    """The scenario's parameters, as (name, value), that describe the traffic `met`."""
    if met.bicycles is not None:
        yield "start_actor_flow", met.bicycles
        yield "flow_speed", BICYCLE_MPS
    elif needs.stream is Stream.ANY_ARM:
        yield "direction", met.arm
    elif met.movement is not None:
        if needs.has_flow_points:
            yield "start_actor_flow", place_along(view, met.movement.entry, -STREAM_BEFORE_M)
            yield "end_actor_flow", place_along(view, met.movement.exit, STREAM_AFTER_M)
        yield "flow_speed", stream_mps(view, met.movement.entry)


def stream_mps(view: RoadView, key: LaneKey) -> float:
    """The speed of a stream on a lane, in whole metres per second."""
    return float(round(float(np.clip(SPEED_RATIO * view.lanes[key].speed_limit_mps, *SPEEDS_MPS))))


def place_along(view: RoadView, key: LaneKey, ahead_m: float) -> Location:
    """The place `ahead_m` after the start of a lane, or, where negative, before its end.

    It may lie on the lanes straight before or behind, but not beyond a junction.
    """
    s_m = view.lanes[key].length_m + ahead_m if ahead_m < 0.0 else ahead_m
    for _ in range(8):
        lane = view.lanes[key]
        beyond = lane.predecessors if s_m < 0.0 else lane.successors if s_m > lane.length_m else ()
        following = [other for other in beyond if other in view.lanes and not view.lanes[other].is_junction]
        if not following:
            break
        s_m = s_m + view.lanes[following[0]].length_m if s_m < 0.0 else s_m - lane.length_m
        key = following[0]
    lane = view.lanes[key]
    edge_m = min(2.0, lane.length_m / 2.0)
    return location(lane.curve, lane.points, float(np.clip(s_m, edge_m, lane.length_m - edge_m)))


def _bicycle_lanes(view: RoadView, ego: Movement) -> Iterator[Location]:
    """The places to start on each bicycle lane whose path through the junction crosses the ego's."""
    own = view.lanes[ego.inside].points[:, :2]
    bicycle = {key: lane for key, lane in view.graph.side_lanes.items() if lane.kind is SideKind.BICYCLE}
    for lane in bicycle.values():
        inside = [key for key in lane.successors if key in bicycle and bicycle[key].is_junction]
        if not lane.is_junction and any(distance_m(own, bicycle[k].points[:, :2]) < CROSSING_M for k in inside):
            yield location(lane.curve, lane.points, max(float(lane.s_m[-1]) - BICYCLES_BEFORE_M, 2.0))
