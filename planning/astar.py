"""A* shortest path search over any graph that can list its edges."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def shortest_path(
    start: Node,
    goal: Node,
    edges: Callable[[Node], Iterable[tuple[Node, float]]],
    heuristic: Callable[[Node], float],
) -> tuple[list[Node], float] | None:
    """Cheapest path from `start` to `goal` and its cost, or None where there is none.

    `edges(node)` lists (neighbour, cost >= 0); `heuristic(node)` must never exceed the true cost to the goal (nodes
    are reopened, so it need not be consistent). Ties are broken by the order of discovery: the same input gives the
    same path. Hart, Nilsson, Raphael (1968), "A Formal Basis for the Heuristic Determination of Minimum Cost Paths".
    """
    best: dict[Node, float] = {start: 0.0}
    parent: dict[Node, Node] = {}
    queue: list[tuple[float, int, float, Node]] = [(heuristic(start), 0, 0.0, start)]
    pushed = 0
    while queue:
        _, _, cost, node = heapq.heappop(queue)
        if cost > best[node]:
            continue
        if node == goal:
            return _path_to(parent, node), cost
        for neighbour, step in edges(node):
            total = cost + step
            if total < best.get(neighbour, float("inf")):
                best[neighbour] = total
                parent[neighbour] = node
                pushed += 1
                heapq.heappush(queue, (total + heuristic(neighbour), pushed, total, neighbour))
    return None


def _path_to(parent: dict[Node, Node], node: Node) -> list[Node]:
    path = [node]
    while node in parent:
        node = parent[node]
        path.append(node)
    path.reverse()
    return path
