"""Searches the fastest legal route from pose to pose on the lane graph: `find_route` returns a `Route`.

The search is A* (`astar`) with travel time as its cost, plus a charge for each lane change. `reference_path` turns the
lanes that it finds into the `Route`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

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

Node = tuple[LaneKey, int]
"""A node of the search graph: a lane, and the number of a break on it (`LaneSearch.node_arc_lengths`)."""

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


class LaneSearch:
    """The search graph: a node is a place on a lane, about every `cell_m` and at every place in `stops`.

    Edges lead to the next node of the lane, to its successors, and to a neighbour lane where the marking allows a
    change over a sufficient length. Costs are seconds: distance over the lane's speed limit, plus `lane_change_cost_s`
    for each lane change.
    """

    def __init__(self, graph: LaneGraph, config: RouteConfig, stops: Sequence[tuple[LaneKey, float]]) -> None:
        self._graph = graph
        self._config = config
        self._stops: dict[LaneKey, list[float]] = {}
        for key, s in stops:
            self._stops.setdefault(key, []).append(s)
        self._node_arc_lengths: dict[LaneKey, Float] = {}
        self._node_positions: dict[LaneKey, list[tuple[float, float]]] = {}
        self._changes: dict[Node, list[tuple[_Change, float]]] = {}
        self.speed_max_mps = max(lane.speed_limit_mps for lane in graph.lanes.values())

    def node_arc_lengths(self, key: LaneKey) -> Float:
        """Arc lengths (M,) of the lane's nodes, from 0 to its length."""
        if key not in self._node_arc_lengths:
            length = self._graph.lanes[key].length_m
            regular = np.linspace(0.0, length, max(1, int(np.ceil(length / self._config.cell_m))) + 1)
            self._node_arc_lengths[key] = np.unique(np.concatenate([regular, self._stops.get(key, [])]))
        return self._node_arc_lengths[key]

    def node(self, key: LaneKey, s_m: float) -> Node:
        """The node at one of the `stops`."""
        return key, int(np.argmin(np.abs(self.node_arc_lengths(key) - s_m)))

    def position(self, node: Node) -> tuple[float, float]:
        """(x, y) of a node."""
        key, number = node
        if key not in self._node_positions:
            x, y, _ = self._graph.lanes[key].curve.pose_at(self.node_arc_lengths(key))
            self._node_positions[key] = list(zip(x.tolist(), y.tolist(), strict=True))
        return self._node_positions[key][number]

    def edges(self, node: Node) -> Iterator[tuple[Node, float]]:
        """The neighbours of `node` with their costs in seconds."""
        key, number = node
        lane = self._graph.lanes[key]
        node_arc_lengths = self.node_arc_lengths(key)
        if number + 1 < len(node_arc_lengths):
            here, there = self.position(node), self.position((key, number + 1))
            chord = float(np.hypot(there[0] - here[0], there[1] - here[1]))
            yield (
                (key, number + 1),
                max(float(node_arc_lengths[number + 1] - node_arc_lengths[number]), chord) / lane.speed_limit_mps,
            )
        else:
            for successor in lane.successors:
                if successor in self._graph.lanes:
                    gap = np.hypot(*(self._graph.lanes[successor].points[0, :2] - lane.points[-1, :2]))
                    yield (successor, 0), float(gap) / lane.speed_limit_mps
        for change, cost in self.changes(node):
            yield change.arrival, cost

    def changes(self, node: Node) -> list[tuple[_Change, float]]:
        """The lane changes that may begin at `node`, with their costs."""
        if node not in self._changes:
            lane = self._graph.lanes[node[0]]
            sides = ((lane.left, lane.left_change), (lane.right, lane.right_change))
            self._changes[node] = [
                found
                for other, allowed in sides
                if other is not None and other in self._graph.lanes
                for found in self._change(node, lane, self._graph.lanes[other], allowed)
            ]
        return self._changes[node]

    def _change(
        self, node: Node, lane: Lane, other: Lane, allowed: NDArray[np.bool_]
    ) -> Iterator[tuple[_Change, float]]:
        config = self._config
        start_s = float(self.node_arc_lengths(lane.key)[node[1]])
        first = int(np.searchsorted(lane.s_m, start_s - 1e-6))
        barred = np.flatnonzero(~allowed[first:])
        last = first + int(barred[0]) - 1 if len(barred) else len(allowed) - 1
        room = float(lane.s_m[last]) - start_s if last >= first else 0.0
        wanted = float(
            np.clip(
                lane.speed_limit_mps * config.lane_change_time_s, config.lane_change_min_m, config.lane_change_max_m
            )
        )
        length = min(wanted, room)
        if length < config.lane_change_min_m:
            return
        other_start, other_end = (_beside(other, lane, s) for s in (start_s, start_s + length))
        node_arc_lengths = self.node_arc_lengths(other.key)
        arrival = int(np.searchsorted(node_arc_lengths, other_end - 1e-6))
        if arrival >= len(node_arc_lengths) or other_end - other_start < 0.5 * length:
            return
        here, there = self.position(node), self.position((other.key, arrival))
        on = max(0.0, float(node_arc_lengths[arrival]) - other_end) / other.speed_limit_mps
        driven = max(
            length / lane.speed_limit_mps + on, np.hypot(there[0] - here[0], there[1] - here[1]) / self.speed_max_mps
        )
        change = _Change(start_s + length, other.key, other_start, other_end, (other.key, arrival))
        yield change, float(driven) + config.lane_change_cost_s

    def pieces(self, path: Sequence[Node]) -> list[RoutePiece]:
        """The lanes and lane changes along a path of nodes."""
        result: list[RoutePiece] = []
        for here, there in pairwise(path):
            s = float(self.node_arc_lengths(here[0])[here[1]])
            s_next = float(self.node_arc_lengths(there[0])[there[1]])
            if here[0] == there[0] and there[1] == here[1] + 1:
                _extend(result, here[0], s, s_next)
                continue
            change = next((c for c, _ in self.changes(here) if c.arrival == there), None)
            if change is not None:
                result.append(
                    RoutePiece(there[0], change.other_start_s_m, change.other_end_s_m, here[0], s, change.end_s_m)
                )
                _extend(result, there[0], change.other_end_s_m, s_next)
        return result


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


def _beside(other: Lane, lane: Lane, s_m: float) -> float:
    """Arc length on `other` beside the place at `s_m` on `lane`."""
    x, y, _ = lane.curve.pose_at(s_m)
    return min(max(float(other.curve.project(x, y).s_m), 0.0), other.length_m)


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
        return float(np.hypot(gx - x, gy - y)) / search.speed_max_mps

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
