"""Searches the fastest legal route from pose to pose on the lane graph: `find_route` returns a `Route`.

The search is A* (`astar`) with travel time as its cost, plus a charge for each lane change. `reference_path` turns the
lanes that it finds into the `Route`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import hypot

import numpy as np
from numpy.typing import NDArray

from av_core.errors import RouteError
from av_core.types import Float, Lane, LaneGraph, LaneKey, Pose2D
from planning.astar import shortest_path
from planning.config import RouteConfig
from planning.lanes.lane_index import LaneIndex, LaneMatch
from planning.reference_path import Route, RoutePiece, build_route
from planning.route_tracker import RouteProgress, RouteTracker

__all__ = ["LaneSearch", "Route", "RoutePiece", "RouteProgress", "RouteTracker", "find_route"]

Node = int
"""A node of the search graph: a place on a lane, by a number that `LaneSearch` gives it."""

_AS_GOOD_M = 0.5
"""Lane matches whose score is within this of the best count as equally good."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A lane change from a node's lane to `other`.

    It ends at `end_s_m` on the first lane, runs from `other_start_s_m` to `other_end_s_m` on the other, and leads to
    the node `arrival`.
    """

    end_s_m: float
    other: LaneKey
    other_start_s_m: float
    other_end_s_m: float
    arrival: Node


@dataclass(slots=True)
class _LaneNodes:
    """The nodes of a lane, which have numbers in a row from `first` on.

    `s_m` (M,) are their arc lengths, from 0 to the lane's length, `xy_m` (M, 2) their positions; `steps_s` are the
    costs from each node but the last to the next. `changes` are the lane changes that may begin at each node, with
    their costs; None before the search asks for them.
    """

    lane: Lane
    first: Node
    s_m: Float
    xy_m: Float
    steps_s: list[float]
    changes: list[list[tuple[_Change, float]]] | None = None


class LaneSearch:
    """The search graph: a node is a place on a lane, about every `cell_m` and at every place in `stops`.

    Edges lead to the next node of the lane, and to its successors. They lead to a neighbour lane where the marking
    allows a change over a sufficient length. Costs are seconds: distance over the lane's speed limit, plus
    `lane_change_cost_s` for each lane change. Nodes and lane changes are computed for whole lanes, when the search
    comes to them.
    """

    def __init__(self, graph: LaneGraph, config: RouteConfig, stops: Sequence[tuple[LaneKey, float]]) -> None:
        self._graph = graph
        self._config = config
        self._stops: dict[LaneKey, list[float]] = {}
        for key, s in stops:
            self._stops.setdefault(key, []).append(s)
        self._lane_nodes: dict[LaneKey, _LaneNodes] = {}
        self._nodes: list[_LaneNodes] = []  # by node, like the next two: those of its lane
        self._positions: list[tuple[float, float]] = []
        self._edges: list[list[tuple[Node, float]] | None] = []
        self.speed_max_mps = max(lane.speed_limit_mps for lane in graph.lanes.values())

    def node(self, key: LaneKey, s_m: float) -> Node:
        """The node at one of the `stops`."""
        nodes = self._nodes_of(key)
        return nodes.first + int(np.argmin(np.abs(nodes.s_m - s_m)))

    def position(self, node: Node) -> tuple[float, float]:
        """(x, y) of a node."""
        return self._positions[node]

    def edges(self, node: Node) -> list[tuple[Node, float]]:
        """The neighbours of `node` with their costs in seconds."""
        found = self._edges[node]
        if found is None:
            found = self._edges[node] = self._edges_from(node)
        return found

    def _nodes_of(self, key: LaneKey) -> _LaneNodes:
        nodes = self._lane_nodes.get(key)
        if nodes is None:
            lane = self._graph.lanes[key]
            regular = np.linspace(0.0, lane.length_m, max(1, int(np.ceil(lane.length_m / self._config.cell_m))) + 1)
            s = np.unique(np.concatenate([regular, self._stops.get(key, [])]))
            x, y, _ = lane.curve.pose_at(s)
            steps = np.maximum(np.diff(s), np.hypot(np.diff(x), np.diff(y))) / lane.speed_limit_mps
            nodes = _LaneNodes(lane, len(self._nodes), s, np.column_stack([x, y]), steps.tolist())
            self._lane_nodes[key] = nodes
            self._nodes += [nodes] * len(s)
            self._positions += zip(x.tolist(), y.tolist(), strict=True)
            self._edges += [None] * len(s)
        return nodes

    def _edges_from(self, node: Node) -> list[tuple[Node, float]]:
        nodes = self._nodes[node]
        lane = nodes.lane
        number = node - nodes.first
        found: list[tuple[Node, float]] = []
        if number < len(nodes.steps_s):
            found.append((node + 1, nodes.steps_s[number]))
        else:
            for successor in lane.successors:
                if successor in self._graph.lanes:
                    gap = np.hypot(*(self._graph.lanes[successor].points[0, :2] - lane.points[-1, :2]))
                    found.append((self._nodes_of(successor).first, float(gap) / lane.speed_limit_mps))
        found += [(change.arrival, cost) for change, cost in self._changes(node)]
        return found

    def _changes(self, node: Node) -> list[tuple[_Change, float]]:
        """The lane changes that may begin at `node`, with their costs."""
        nodes = self._nodes[node]
        if nodes.changes is None:
            lane = nodes.lane
            nodes.changes = [[] for _ in nodes.s_m]
            for other, allowed in ((lane.left, lane.left_change), (lane.right, lane.right_change)):
                if other is not None and other in self._graph.lanes:
                    for number, change, cost in self._changes_to(nodes, self._nodes_of(other), allowed):
                        nodes.changes[number].append((change, cost))
        return nodes.changes[node - nodes.first]

    def _changes_to(
        self, here: _LaneNodes, there: _LaneNodes, allowed: NDArray[np.bool_]
    ) -> Iterator[tuple[int, _Change, float]]:
        """The changes from one lane to another: at which of the lane's nodes each begins, and its cost."""
        config, lane, other = self._config, here.lane, there.lane
        first = np.searchsorted(lane.s_m, here.s_m - 1e-6)
        barred = np.append(np.flatnonzero(~allowed), len(allowed))
        last = barred[np.searchsorted(barred, first)] - 1
        room = np.where(last >= first, lane.s_m[last] - here.s_m, 0.0)
        wanted = min(
            max(lane.speed_limit_mps * config.lane_change_time_s, config.lane_change_min_m), config.lane_change_max_m
        )
        length = np.minimum(wanted, room)
        begins = np.flatnonzero(length >= config.lane_change_min_m)
        start, length = here.s_m[begins], length[begins]
        other_start, other_end = _beside(other, lane, start), _beside(other, lane, start + length)
        arrival = np.searchsorted(there.s_m, other_end - 1e-6)
        fits = (arrival < len(there.s_m)) & (other_end - other_start >= 0.5 * length)
        begins, start, length, arrival = begins[fits], start[fits], length[fits], arrival[fits]
        other_start, other_end = other_start[fits], other_end[fits]
        on = np.maximum(0.0, there.s_m[arrival] - other_end) / other.speed_limit_mps
        chord = np.hypot(*(there.xy_m[arrival] - here.xy_m[begins]).T)
        driven = np.maximum(length / lane.speed_limit_mps + on, chord / self.speed_max_mps)
        rows = (begins, start + length, other_start, other_end, arrival, driven + config.lane_change_cost_s)
        for number, end, beside_start, beside_end, at, cost in zip(*(row.tolist() for row in rows), strict=True):
            yield number, _Change(end, other.key, beside_start, beside_end, there.first + at), cost

    def pieces(self, path: Sequence[Node]) -> list[RoutePiece]:
        """The lanes and lane changes along a path of nodes."""
        result: list[RoutePiece] = []
        for here, there in pairwise(path):
            key, next_key = self._nodes[here].lane.key, self._nodes[there].lane.key
            s, s_next = self._s_m(here), self._s_m(there)
            if key == next_key and there == here + 1:
                _extend(result, key, s, s_next)
                continue
            change = next((c for c, _ in self._changes(here) if c.arrival == there), None)
            if change is not None:
                result.append(
                    RoutePiece(next_key, change.other_start_s_m, change.other_end_s_m, key, s, change.end_s_m)
                )
                _extend(result, next_key, change.other_end_s_m, s_next)
        return result

    def _s_m(self, node: Node) -> float:
        nodes = self._nodes[node]
        return float(nodes.s_m[node - nodes.first])


def _extend(pieces: list[RoutePiece], key: LaneKey, start_s_m: float, end_s_m: float) -> None:
    if end_s_m - start_s_m < 1e-6:
        return
    if (
        pieces
        and pieces[-1].lane == key
        and pieces[-1].change_from is None
        and abs(pieces[-1].end_s_m - start_s_m) < 1e-6
    ):
        start_s_m = pieces.pop().start_s_m
    pieces.append(RoutePiece(key, start_s_m, end_s_m))


def _beside(other: Lane, lane: Lane, s_m: Float) -> Float:
    """Arc lengths (N,) on `other` beside the places at `s_m` (N,) on `lane`."""
    x, y, _ = lane.curve.pose_at(s_m)
    rows = np.array([other.curve.nearest(*place) for place in zip(x.tolist(), y.tolist(), strict=True)], dtype=np.int64)
    return np.clip(other.curve.project(x, y, rows).s_m, 0.0, other.length_m)


def find_route(
    graph: LaneGraph,
    start: Pose2D,
    goal: Pose2D,
    via: Sequence[Pose2D] = (),
    config: RouteConfig | None = None,
) -> Route:
    """The fastest legal route from `start` through every `via` to `goal`.

    Raises `RouteError`, naming the pose, when a pose is on no lane or no route leads to it, and when the route is
    shorter than 1 m.
    """
    config = config or RouteConfig()
    index = LaneIndex(graph)
    names = ["start", *(f"via point {i + 1}" for i in range(len(via))), "goal"]
    places = [snap(index, pose, name, config) for pose, name in zip([start, *via, goal], names, strict=True)]
    search = LaneSearch(graph, config, [(match.lane, match.s_m) for place in places for match in place])
    pieces: list[RoutePiece] = []
    cost_s = 0.0
    here = places[0]
    for i in range(len(places) - 1):
        path, cost, reached = _route_leg(search, here, places[i + 1], f"{names[i]} to {names[i + 1]}")
        here = [reached]
        for piece in search.pieces(path):
            if piece.change_from is None:
                _extend(pieces, piece.lane, piece.start_s_m, piece.end_s_m)
            else:
                pieces.append(piece)
        cost_s += cost
    if sum(piece.length_m for piece in pieces) < 1.0:
        raise RouteError("the route from start to goal is shorter than 1 m")
    return build_route(graph, pieces, cost_s, config)


def _route_leg(
    search: LaneSearch, here: Sequence[LaneMatch], there: Sequence[LaneMatch], name: str
) -> tuple[list[Node], float, LaneMatch]:
    """Path and cost between the best pair of candidates of two places that are connected, and the candidate reached."""
    for origin, target in product(here, there):
        found = _search_path(search, origin, target)
        if found is not None:
            return *found, target
    raise RouteError(f"no way from {name}: {here[0].lane} at {here[0].s_m:.1f} m does not lead to {there[0].lane}")


def _search_path(search: LaneSearch, here: LaneMatch, there: LaneMatch) -> tuple[list[Node], float] | None:
    goal = search.node(there.lane, there.s_m)
    gx, gy = search.position(goal)

    def heuristic(node: Node) -> float:
        x, y = search.position(node)
        return hypot(gx - x, gy - y) / search.speed_max_mps

    return shortest_path(search.node(here.lane, here.s_m), goal, search.edges, heuristic)


def snap(index: LaneIndex, pose: Pose2D, name: str, config: RouteConfig) -> list[LaneMatch]:
    """The lanes that `pose` may be on, best first: where lanes overlap, all that fit about as well as the best.

    Raises `RouteError`, naming the pose, when no lane in its direction is near.
    """
    at = np.array([[pose.x_m, pose.y_m]])
    found = index.matches(at, np.array([pose.yaw_rad]), config.snap_distance_m, config.snap_heading_rad)[0]
    if not found:
        raise RouteError(
            f"{name} ({pose.x_m:.1f}, {pose.y_m:.1f}, {np.degrees(pose.yaw_rad):.0f} deg) is on no lane: in the map "
            f"frame, none within {config.snap_distance_m:g} m heads that way"
        )
    return [match for match in found if match.score <= found[0].score + _AS_GOOD_M]
