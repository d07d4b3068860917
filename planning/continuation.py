"""The way on beyond the end of a route that the ego passes without a stop, as the Leaderboard's routes end."""

from __future__ import annotations

from dataclasses import replace

from av_core.types import LaneGraph, LaneKey
from planning.config import RouteConfig
from planning.lanes.straight_on import turn_rad
from planning.reference_path import Route, RoutePiece, build_route

CONTINUED_M = 250.0
"""The way on is so long that a stop at its end slows nobody down at the end of the route, up to 130 km/h."""


def continued(graph: LaneGraph, route: Route, config: RouteConfig, by_m: float = CONTINUED_M) -> Route:
    """`route`, and the straightest way on from its end for up to `by_m`; less where the lanes end."""
    pieces = list(route.pieces)
    left_m = by_m
    lane, from_m = graph.lanes[pieces[-1].lane], pieces[-1].end_s_m
    seen = {lane.key}
    while left_m > 0.0:
        to_m = min(lane.length_m, from_m + left_m)
        if to_m > from_m:
            _add(pieces, lane.key, from_m, to_m)
        left_m -= to_m - from_m
        following = [graph.lanes[key] for key in lane.successors if key not in seen]
        if not following:
            break
        lane, from_m = min(following, key=turn_rad), 0.0
        seen.add(lane.key)
    return build_route(graph, pieces, route.cost_s, config)


def _add(pieces: list[RoutePiece], lane: LaneKey, from_m: float, to_m: float) -> None:
    last = pieces[-1]
    if last.lane == lane and last.end_s_m == from_m and last.change_from is None:
        pieces[-1] = replace(last, end_s_m=to_m)
    else:
        pieces.append(RoutePiece(lane, from_m, to_m))
