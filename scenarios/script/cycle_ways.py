"""Ways along bicycle lanes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from av_core.curve import Curve
from av_core.errors import RouteError
from av_core.types import LaneGraph, LaneKey, Pose2D, SideKind, SideLane
from scenarios.script.ways import LaneWay

WITHIN_M = 10.0
"""A bicycle lane farther away than this from the start is another one."""

STEP_M = 1.0
LANES_MAX = 100


def cycle_way(graph: LaneGraph, start: Pose2D, what: str) -> LaneWay:
    """The way along the bicycle lane that is nearest to `start`, from there on, as far as it goes.

    Raises RouteError that names `what` where there is no bicycle lane.
    """
    lanes = [lane for lane in graph.side_lanes.values() if lane.kind is SideKind.BICYCLE]
    gap_m = [float(np.hypot(*(lane.points[:, :2] - (start.x_m, start.y_m)).T).min()) for lane in lanes]
    if not lanes or min(gap_m) > WITHIN_M:
        place = f"({start.x_m:.1f}, {start.y_m:.1f}) of the map frame"
        raise RouteError(f"{what}: there is no bicycle lane within {WITHIN_M:g} m of {place}")
    row = list(_lanes_on(graph, lanes[int(np.argmin(gap_m))]))
    whole = Curve.joined([lane.curve for lane in row])
    inside = np.concatenate([np.full(len(lane.s_m), lane.is_junction) for lane in row])
    from_m = min(max(float(row[0].curve.project(start.x_m, start.y_m).s_m), 0.0), whole.length_m - STEP_M)
    s = np.append(np.arange(from_m, whole.length_m, STEP_M), whole.length_m)
    x, y, _ = whole.pose_at(s)
    return LaneWay(Curve.through(x, y), inside[np.minimum(whole.s_m.searchsorted(s), len(inside) - 1)])


def cycle_way_between(graph: LaneGraph, start: Pose2D, end: Pose2D, what: str) -> LaneWay:
    """The part of `cycle_way` up to the point nearest to `end`. Raises RouteError where it does not lead there."""
    way = cycle_way(graph, start, what)
    last = int(way.curve.nearest(end.x_m, end.y_m))
    gap_m = float(np.hypot(way.curve.x_m[last] - end.x_m, way.curve.y_m[last] - end.y_m))
    if last < 1 or gap_m > WITHIN_M:
        raise RouteError(f"{what}: the bicycle lane does not lead from its start to its end")
    return LaneWay(way.curve.part(slice(0, last + 1)), way.is_junction[: last + 1])


def _lanes_on(graph: LaneGraph, lane: SideLane) -> Iterator[SideLane]:
    """A bicycle lane, and those that follow, straight on where it forks."""
    seen: set[LaneKey] = set()
    while lane.key not in seen and len(seen) < LANES_MAX:
        seen.add(lane.key)
        yield lane
        following = [graph.side_lanes[key] for key in lane.successors if key in graph.side_lanes]
        following = [one for one in following if one.kind is SideKind.BICYCLE and one.key not in seen]
        if not following:
            return
        end_rad = float(lane.yaw_rad[-1])
        lane = min(following, key=lambda one: abs(np.angle(np.exp(1j * (float(one.yaw_rad[-1]) - end_rad)))))
