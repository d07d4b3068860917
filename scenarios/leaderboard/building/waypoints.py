"""Finds the way through a Leaderboard route's waypoints.

A waypoint in a junction lies on several lanes at once, and one beside a lane change may be on the wrong lane. So each
waypoint has candidates, and the cheapest way through one candidate of each is taken (Viterbi's algorithm).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np

from av_core.errors import RouteError
from av_core.frames import carla_to_map_points, map_to_carla_points
from av_core.types import LaneGraph
from planning import PlanningConfig, Route
from planning.astar import shortest_path
from planning.config import RouteConfig
from planning.lanes.lane_index import LaneIndex, LaneMatch
from planning.route import LaneSearch, Node
from scenarios.ego_route import ego_route
from scenarios.leaderboard.routes import LeaderboardRoute, Waypoint
from scenarios.model import RouteTable

NEAR_M = 4.0
"""A waypoint belongs to a lane whose centre is within this distance."""

CANDIDATES_MAX = 4
"""Most lanes that are tried for a waypoint."""

OFF_CENTRE_S_PER_M = 3.0
"""Cost of a candidate for each metre that its lane's centre is farther away than the nearest one."""

SAME_M = 0.5
"""Two waypoints nearer to each other than this count as one."""

WIDE_M = 120.0
"""Between two waypoints, only lanes near the second one are searched: within this distance of it, plus `WIDE_SHARE`
times the straight distance between the two."""

WIDE_SHARE = 2.0
"""See `WIDE_M`."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The cheapest path to a candidate: its cost, and the index of the candidate of the waypoint before."""

    cost_s: float
    before: int


def plan(route: LeaderboardRoute, graph: LaneGraph) -> tuple[RouteTable, Route]:
    """The places that lead a route planner through the waypoints, and the route that it finds.

    Raises RouteError where a waypoint is on no lane, or is not connected with the one before.
    """
    waypoints = _distinct(route.waypoints)
    if len(waypoints) < 2:
        raise RouteError(f"route {route.route_id}: all waypoints are at one place")
    candidates = _candidates(graph, waypoints)
    chosen = _cheapest(graph, waypoints, candidates)
    kept = [match for match in chosen[1:-1] if not graph.lanes[match.lane].is_junction]
    places = [_place(graph, match) for match in (chosen[0], *kept, chosen[-1])]
    table = RouteTable(start=places[0], via=tuple(places[1:-1]), goal=places[-1])
    return table, ego_route(graph, table, PlanningConfig())


def _distinct(waypoints: Sequence[Waypoint]) -> list[Waypoint]:
    found = [waypoints[0]]
    for waypoint in waypoints[1:]:
        if np.hypot(waypoint.x_m - found[-1].x_m, waypoint.y_m - found[-1].y_m) > SAME_M:
            found.append(waypoint)
    return found


def _candidates(graph: LaneGraph, waypoints: Sequence[Waypoint]) -> list[list[LaneMatch]]:
    """The lanes of each waypoint, nearest first, whatever their direction."""
    xy = carla_to_map_points(np.array([(waypoint.x_m, waypoint.y_m) for waypoint in waypoints]))
    found = LaneIndex(graph).matches(xy, np.zeros(len(xy)), NEAR_M, np.pi)
    for waypoint, matches in zip(waypoints, found, strict=True):
        if not matches:
            raise RouteError(f"{_named(waypoint)} is not on a driving lane of {graph.name}")
    return [sorted(matches, key=lambda match: abs(match.offset_m))[:CANDIDATES_MAX] for matches in found]


def _cheapest(
    graph: LaneGraph, waypoints: Sequence[Waypoint], candidates: Sequence[Sequence[LaneMatch]]
) -> list[LaneMatch]:
    """One candidate of each waypoint: those with the cheapest way through them."""
    search = LaneSearch(graph, RouteConfig(), [(match.lane, match.s_m) for some in candidates for match in some])
    bests = [[_Best(_off_centre_s(match, candidates[0]), -1) for match in candidates[0]]]
    for number, (here, there) in enumerate(pairwise(candidates)):
        bests.append(_next(search, here, there, bests[-1]))
        if all(np.isinf(best.cost_s) for best in bests[-1]):
            one, other = waypoints[number], waypoints[number + 1]
            raise RouteError(f"no way leads from {_named(one)} to {_named(other)}")
    row = int(np.argmin([best.cost_s for best in bests[-1]]))
    chosen = []
    for some, level in zip(reversed(candidates), reversed(bests), strict=True):
        chosen.append(some[row])
        row = level[row].before
    return chosen[::-1]


def _next(
    search: LaneSearch, here: Sequence[LaneMatch], there: Sequence[LaneMatch], before: Sequence[_Best]
) -> list[_Best]:
    """The cheapest ways to the candidates of the next waypoint."""
    costs = np.array([[before[i].cost_s + _leg_s(search, one, other) for i, one in enumerate(here)] for other in there])
    return [
        _Best(float(row.min()) + _off_centre_s(other, there), int(row.argmin()))
        for other, row in zip(there, costs, strict=True)
    ]


def _leg_s(search: LaneSearch, here: LaneMatch, there: LaneMatch) -> float:
    """Time from one candidate to another; infinite where there is no way that stays near."""
    start, goal = search.node(here.lane, here.s_m), search.node(there.lane, there.s_m)
    gx, gy = search.position(goal)
    reach_m = WIDE_M + WIDE_SHARE * _distance_m(search, start, gx, gy)

    def edges(node: Node) -> Iterator[tuple[Node, float]]:
        return (edge for edge in search.edges(node) if _distance_m(search, edge[0], gx, gy) < reach_m)

    found = shortest_path(start, goal, edges, lambda node: _distance_m(search, node, gx, gy) / search.speed_max_mps)
    return found[1] if found is not None else np.inf


def _distance_m(search: LaneSearch, node: Node, x: float, y: float) -> float:
    at = search.position(node)
    return hypot(at[0] - x, at[1] - y)


def _off_centre_s(match: LaneMatch, some: Sequence[LaneMatch]) -> float:
    return OFF_CENTRE_S_PER_M * (abs(match.offset_m) - abs(some[0].offset_m))


def _place(graph: LaneGraph, match: LaneMatch) -> tuple[float, float]:
    x, y, _ = graph.lanes[match.lane].curve.pose_at(match.s_m)
    place = map_to_carla_points((float(x), float(y)))
    return float(place[0]), float(place[1])


def _named(waypoint: Waypoint) -> str:
    where = f" in line {waypoint.line}" if waypoint.line else ""
    return f"the waypoint ({waypoint.x_m:.1f}, {waypoint.y_m:.1f}){where}"
