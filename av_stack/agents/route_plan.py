"""Describes a route by lane changes, turns and way points, for agents that cannot follow a path of points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import wrap_angle
from av_core.types import LaneGraph
from planning import Route

TURN_MIN_RAD = float(np.radians(30.0))
"""Change of heading over a junction above which the path through it counts as a turn."""

BEHIND_JUNCTION_M = 8.0
"""Least distance of a way point behind a junction, so that only one exit of the junction leads to it."""

BEFORE_JUNCTION_M = 6.0
"""Least distance of a way point before a junction.

The TrafficManager drives to its own place nearest to a way point, and its places are 5 m apart. At the edge of a
junction, that place could already belong to another turn."""


@dataclass(frozen=True, slots=True)
class LaneChange:
    """A lane change of the route between two positions on it."""

    start_m: float
    end_m: float
    is_left: bool


def lane_changes(route: Route, graph: LaneGraph) -> tuple[LaneChange, ...]:
    """The lane changes of the route, in order."""
    return tuple(
        LaneChange(float(route.s_m[first]), float(route.s_m[last]), _leads_left(route, graph, first))
        for first, last in _changes(route)
    )


def road_options(route: Route, graph: LaneGraph) -> tuple[str, ...]:
    """For each point of the route, the name of the `RoadOption` by which CARLA's agents describe the path there."""
    options = ["LANEFOLLOW"] * len(route.s_m)
    for first, last in _stretches(route.is_junction):
        turn_rad = float(wrap_angle(route.curve.yaw_rad[last] - route.curve.yaw_rad[first]))
        name = "STRAIGHT" if abs(turn_rad) < TURN_MIN_RAD else "LEFT" if turn_rad > 0.0 else "RIGHT"
        options[first : last + 1] = [name] * (last + 1 - first)
    for first, last in _changes(route):
        name = "CHANGELANELEFT" if _leads_left(route, graph, first) else "CHANGELANERIGHT"
        options[first : last + 1] = [name] * (last + 1 - first)
    return tuple(options)


def rows_every(route: Route, gap_m: float) -> NDArray[np.int64]:
    """Rows of points of the route about `gap_m` apart, with the last point."""
    wanted = np.arange(0.0, route.length_m, gap_m)
    rows: NDArray[np.int64] = np.unique(np.append(np.searchsorted(route.s_m, wanted), len(route.s_m) - 1))
    return rows


def rows_outside_junctions(route: Route, gap_m: float) -> NDArray[np.int64]:
    """As `rows_every`, without points in and near junctions; at least one between two junctions."""
    chosen: list[int] = []
    for first, last in _stretches(~route.is_junction):
        length_m = route.s_m[last] - route.s_m[first]
        start_m = 0.0 if first == 0 else min(BEHIND_JUNCTION_M, length_m / 2)
        end_m = length_m if last == len(route.s_m) - 1 else max(length_m - BEFORE_JUNCTION_M, start_m)
        wanted = route.s_m[first] + np.arange(start_m, end_m + 1e-9, gap_m)
        chosen += np.searchsorted(route.s_m, wanted).tolist() or [last]
    return np.array(chosen, dtype=np.int64)


def _stretches(marks: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last row of each run of marked points."""
    edges = np.diff(np.concatenate([[0], marks.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), (np.flatnonzero(edges == -1) - 1).tolist(), strict=True))


def _changes(route: Route) -> list[tuple[int, int]]:
    """First and last row of each lane change; one may follow on another."""
    pieces = np.unique(route.lane_index[route.is_change])
    return [run for piece in pieces for run in _stretches(route.is_change & (route.lane_index == piece))]


def _leads_left(route: Route, graph: LaneGraph, row: int) -> bool:
    """Whether the lane change at this row leads to the lane on the left."""
    piece = route.pieces[int(route.lane_index[row])]
    assert piece.change_from is not None
    return graph.lanes[piece.change_from].left == piece.lane
