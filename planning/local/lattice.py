"""A* over a space-time lattice of a road: station, offset, speed and time. Compiled (numba).

The lattice is exact: in a step of 0.5 s the speed changes by a whole number of m/s, so every station is a multiple of
0.25 m. A node is a layer in time, a station, a speed and a column of offset; nodes in one metre of station count as the
same. Ziegler, Stiller (2009), "Spatiotemporal state lattices for fast trajectory planning in dynamic on-road driving
scenarios".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64, uint8
from numpy.typing import NDArray

from av_core.compiled import compiled, inner, named
from av_core.types import Float

STEP_S = 0.5
"""Time between two layers."""

COLUMN_M = 0.5
"""Distance between two columns of offset."""

LAYERS, CELLS, COLUMNS = 24, 160, 21
"""Layers after the first one; cells of station, 1 m each, from the ego on; columns of offset, the middle one at 0."""

CENTRE = COLUMNS // 2
TOP_MPS = 40
MOST_NODES = 60_000
RUNS_MAX = 255
"""Number of searches after which `SearchMemory.closed` is cleared."""

_CHANGES, _SIDESTEPS = (2, 1, 0, -1, -2), 5
"""Changes of the speed in one step, and the most columns to which one may lead: a node has at most their product of
followers."""

OFF_ROAD, OWN_LANE, SAME_DIRECTION, ONCOMING_LANE = range(4)
"""Zones of the road: what the ego's body lies on, in a cell and column."""

DURING, AT_END = 1, 2
"""When a cell is taken: in the whole time of a layer, or at its end, when the ego is on the cell where it arrives."""

_QUARTER_M = 0.25
_SLOPE_MAX = 0.6
"""Largest sideways motion per metre driven: what a car can do at walking speed."""

_SWIFT_MAX_MPS = 9
"""Up to this speed the ego may move two columns sideways in a step; above it, that would be a jerk."""

_SWIFT = 2.0
"""Cost of moving two columns in one step: only where time is short."""

_ASIDE_PER_M_S = 0.35
"""Cost of each metre of offset from the lane's centre, per second. All costs are in metres of lost distance."""

_SAME_PER_S, _ONCOMING_PER_S = 0.4, 1.5
_INTO_ONCOMING = 2.0
_MOVE = 0.6
"""Cost of each column that the ego moves sideways."""

_CHANGE_PER_M_S = 0.2
"""Cost of each metre between this plan and the one before, per second: hysteresis."""

_FIRM = 0.5
"""Cost of braking or accelerating by two m/s in one step."""

_BRISK_FROM_MPS, _BRISK_TO_MPS = 1, 8
"""Between these speeds, a brisk ego may gain two m/s in one step; in the first step of a start, the jerk allows one."""

_GETS_ON_QUARTERS = 40
"""Least length, in quarter metres, of a path that ends where the ego brakes for its stop."""

_FAST_PER_M = 2.0
_END_IN_ONCOMING = 50.0

_ONCOMING_LEAST_MPS = 2
"""Least speed of a path in the oncoming lane."""

_TOO_NEAR, _TOO_NEAR_PER_M, _CREEPING_MPS = 4.0, 0.5, 2
"""Cost of each step in which the ego stands, or is slower than the last, too near to an obstacle in its lane; and
cost per metre."""

_GREED = 1.2
"""Weight of the heuristic (weighted A*): the path found costs at most this many times the least cost."""


class RoadCells(NamedTuple):
    """What the search knows of the road ahead, from the ego's origin on.

    * `blocked` (LAYERS, CELLS, COLUMNS): `DURING` or `AT_END` where an ego whose origin is there would touch something.
    * `zone` (CELLS, COLUMNS): the zones above.
    * `speed_mps` (CELLS,): the highest speed without other road users.
    * `before_m` (CELLS,): the offset of the plan before.
    * `shift_m` (CELLS,): what is added to the offsets of the columns, so that one of them goes through the start.
    * `stop_m`: distance that the ego must not go beyond.
    * `wait_m`: distance from which on it should not stand: it could no longer steer around what blocks the lane.
    """

    blocked: NDArray[np.uint8]
    zone: NDArray[np.uint8]
    speed_mps: Float
    before_m: Float
    shift_m: Float
    stop_m: float
    wait_m: float


@dataclass(frozen=True, slots=True)
class LatticePath:
    """The best path: for each layer in time (N,) the distance driven, offset and speed. `cost` is in metres of lost
    distance, `nodes` the number of nodes that the search made.

    A complete path lasts to the last layer, or leads to the end of the cells or to where the ego brakes for its stop.
    If there is no complete path, this is the path that gets farthest in time.
    """

    time_s: Float
    along_m: Float
    offset_m: Float
    speed_mps: Float
    cost: float
    is_complete: bool
    nodes: int = 0


def column_of(offset_m: float) -> int:
    """The column that is nearest to an offset from the route, without a shift."""
    return min(max(round(offset_m / COLUMN_M) + CENTRE, 0), COLUMNS - 1)


def search(
    road: RoadCells, column: int, speed_mps: float, memory: SearchMemory, *, is_brisk: bool = False
) -> LatticePath:
    """The cheapest path from a column and a speed; the start is rounded to the nearest node.

    The ego gains up to 2 m/s²; one that `is_brisk` up to 4 m/s² in its start.
    """
    speed = min(max(round(speed_mps), 0), TOP_MPS)
    found, cost, is_complete, nodes = _search(
        road, memory.arrays, memory.next_run(), column, speed, 2 if is_brisk else 1
    )
    along = found[:, 1] * _QUARTER_M
    return LatticePath(
        time_s=np.arange(len(found), dtype=np.float64) * STEP_S,
        along_m=along,
        offset_m=(found[:, 3] - CENTRE) * COLUMN_M + np.interp(along, np.arange(CELLS), road.shift_m),
        speed_mps=found[:, 2].astype(np.float64),
        cost=cost,
        is_complete=bool(is_complete),
        nodes=nodes,
    )


class _Arrays(NamedTuple):
    """What one search after another writes.

    * `closed` (LAYERS + 1, CELLS + 1, TOP_MPS + 2, COLUMNS): the number of the last search that closed a node.
    * `nodes` (MOST_NODES, 5): layer, quarter metres, speed and column of a node, and the row of the one before it.
    * `costs` (MOST_NODES,): the cost of the path to a node.
    * `heap`, `keys` (MOST_NODES,): the open nodes as a binary heap, and the keys by which it is ordered.

    Numbers are bytes, and the others are no larger than they must be, because a search reads them in no order: small
    arrays stay in the processor's cache.
    """

    closed: NDArray[np.uint8]
    nodes: NDArray[np.int32]
    costs: Float
    heap: NDArray[np.int32]
    keys: Float


class SearchMemory:
    """Arrays that one search after another uses, so that none is allocated, and seldom one cleared, in a drive."""

    def __init__(self) -> None:
        self._run = 0
        self.arrays = _Arrays(
            closed=np.zeros((LAYERS + 1, CELLS + 1, TOP_MPS + 2, COLUMNS), dtype=np.uint8),
            nodes=np.zeros((MOST_NODES, 5), dtype=np.int32),
            costs=np.zeros(MOST_NODES),
            heap=np.zeros(MOST_NODES, dtype=np.int32),
            keys=np.zeros(MOST_NODES),
        )

    def next_run(self) -> int:
        """The number of a new search, which no node in `closed` has."""
        if self._run == RUNS_MAX:
            self.arrays.closed.fill(0)
            self._run = 0
        self._run += 1
        return self._run


@inner
def _push(heap: NDArray[np.int32], keys: Float, size: int, node: int, key: float) -> int:
    """Put a node into the binary heap; returns the new size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        heap[at], keys[at] = heap[above], keys[above]
        at = above
    heap[at], keys[at] = node, key
    return size + 1


@inner
def _pop(heap: NDArray[np.int32], keys: Float, size: int) -> int:
    """Take the first node out of the heap of `size`, which then has one less; returns the node.

    The gap sinks to a leaf first, and the last node rises from there: it mostly belongs near the leaves, so this takes
    fewer comparisons, and the heap becomes the same (Wegener, "Bottom-up heapsort", 1993).
    """
    first = heap[0]
    last, key = heap[size - 1], keys[size - 1]
    at, end = 0, size - 1
    below = 1
    while below + 1 < end:
        below += keys[below + 1] < keys[below]
        heap[at], keys[at] = heap[below], keys[below]
        at = below
        below = 2 * at + 1
    if below < end:
        heap[at], keys[at] = heap[below], keys[below]
        at = below
    while at > 0:
        above = (at - 1) // 2
        if keys[above] < key:
            break
        heap[at], keys[at] = heap[above], keys[above]
        at = above
    heap[at], keys[at] = last, key
    return int(first)


@inner
def _gain(speed: int, most: int) -> int:
    """How much faster the ego can be after one step."""
    return most if _BRISK_FROM_MPS <= speed <= _BRISK_TO_MPS else 1


@inner
def _lost_in(slowest: float, most: int) -> Float:
    """(TOP_MPS + 2, LAYERS + 1): the distance lost in a number of steps by a car that accelerates at once from a
    speed."""
    lost = np.zeros((TOP_MPS + 2, LAYERS + 1))
    for start in range(TOP_MPS + 2):
        speed = start
        for steps in range(1, LAYERS + 1):
            speed += _gain(speed, most)
            lost[start, steps] = lost[start, steps - 1] + max(slowest - speed, 0.0) * STEP_S
    return lost


@inner
def _least_lost(lost_in: Float, quarter: int, speed: int, steps: int, slowest: float, bound: int) -> float:
    """A* heuristic: a lower bound of the distance lost until the end, by a car that accelerates at once and gets
    to the bound."""
    return max(float(lost_in[speed, steps]), slowest * steps * STEP_S - 0.25 * (bound - quarter))


@inner
def _bounds(bound: NDArray[np.int64], blocked: NDArray[np.uint8], zone: NDArray[np.uint8], top: float) -> None:
    """Fill `bound` (LAYERS + 1, CELLS + 1): from a layer and cell on, how far the ego can come, in quarter metres.

    That is to the first cell that is closed over the whole road from then on, before the ego could pass it at the speed
    `top`.
    """
    closed_from = np.full(CELLS, LAYERS + 1)
    for cell in range(CELLS):
        for layer in range(LAYERS - 1, -1, -1):
            is_open = False
            for column in range(COLUMNS):
                if zone[cell, column] != OFF_ROAD and not blocked[layer, cell, column]:
                    is_open = True
                    break
            if is_open:
                break
            closed_from[cell] = layer
    in_layers = np.arange(CELLS) / (top * STEP_S)
    farthest = 4000
    for layer in range(LAYERS + 1):
        for cell in range(CELLS + 1):
            bound[layer, cell] = farthest
            for ahead in range(cell + 1, CELLS):
                if closed_from[ahead] <= layer + in_layers[ahead - cell]:
                    bound[layer, cell] = min(farthest, 4 * ahead)
                    break


@inner
def _is_free(
    blocked: NDArray[np.uint8], zone: NDArray[np.uint8], layer: int, low: int, high: int, here: int, there: int
) -> bool:
    """Whether the ego may drive from cell `low` to `high` and from one column to another in the layer's time."""
    span = max(high - low, 1)
    for cell in range(low, min(high, CELLS - 1) + 1):
        # the nearest column on the way from one to the other
        middle = here + (2 * (there - here) * (cell - low) + span) // (2 * span)
        if blocked[layer, cell, middle] & DURING or zone[cell, middle] == OFF_ROAD:
            return False
        if cell == high and (blocked[layer, cell, there] or zone[cell, there] == OFF_ROAD):
            return False
    return True


@inner
def _brakes_for_stop(
    blocked: NDArray[np.uint8], zone: NDArray[np.uint8], layer: int, quarter: int, speed: int, here: int, stop: int
) -> bool:
    """Whether the ego now brakes for its stop with 2 m/s2, in its own lane, with nothing in between.

    The search may end there: whether the ego goes or waits first, it reaches the same stop.
    """
    if quarter < _GETS_ON_QUARTERS or quarter + speed * speed < stop or layer == LAYERS:
        return False
    for cell in range(quarter // 4, min(stop // 4, CELLS - 1) + 1):
        if zone[cell, here] != OWN_LANE or blocked[layer, cell, here]:
            return False
    return True


@inner
def _cost_of_speed(faster: int, change: int, top_mps: float, too_near_m: float) -> float:
    """The cost of a step to the speed `faster`, changed by so much, where the ego may drive at `top_mps`.

    It is inf where the ego would be too fast. `too_near_m` is how far the ego is beyond the place where it may wait.
    """
    cost = 0.0
    lack = top_mps - faster
    if lack > 0.0:
        cost += lack * STEP_S
    elif lack < -0.5:
        if change >= 0:
            return np.inf
        cost -= _FAST_PER_M * lack * STEP_S
    if abs(change) == 2:
        cost += _FIRM
    if faster <= _CREEPING_MPS and too_near_m > 0.0:
        cost += _TOO_NEAR + _TOO_NEAR_PER_M * min(too_near_m, 10.0)
    return cost


@inner
def _cost_of_place(
    cost: float, from_zone: int, zone: int, offset_m: float, before_m: float, aside: int, is_last: bool
) -> float:
    """The cost of a path whose last step costs `cost` so far, and leads `aside` columns from one zone to another.

    The plan before led to the offset `before_m` there.
    """
    cost += _MOVE * abs(aside)
    if abs(aside) > 1:
        cost += _SWIFT
    cost += STEP_S * (_ASIDE_PER_M_S * abs(offset_m) + _CHANGE_PER_M_S * abs(offset_m - before_m))
    if zone == SAME_DIRECTION:
        cost += _SAME_PER_S * STEP_S
    elif zone == ONCOMING_LANE:
        cost += _ONCOMING_PER_S * STEP_S
        if from_zone != ONCOMING_LANE:
            cost += _INTO_ONCOMING
        if is_last:
            cost += _END_IN_ONCOMING
    return cost


@inner
def _path_to(nodes: NDArray[np.int32], last: int) -> NDArray[np.int64]:
    """The rows of layer, quarter metres, speed and column from the first node to the last."""
    length = nodes[last, 0] + 1
    rows = np.zeros((length, 4), dtype=np.int64)
    node = last
    for row in range(length - 1, -1, -1):
        rows[row] = nodes[node, :4]
        node = nodes[node, 4]
    return rows


_ROAD = named(RoadCells, uint8[:, :, ::1], uint8[:, ::1], float64[::1], float64[::1], float64[::1], float64, float64)
_ARRAYS = named(_Arrays, uint8[:, :, :, ::1], int32[:, ::1], float64[::1], int32[::1], float64[::1])


@compiled((_ROAD, _ARRAYS, int64, int64, int64, int64))
def _search(road: RoadCells, arrays: _Arrays, run: int, column: int, speed: int, most: int) -> Any:
    """The path (N, 4) of layer, quarter metres, speed and column; its cost, whether it is complete, and nodes made."""
    closed, nodes, costs, heap, keys = arrays
    blocked, zone, top_mps = road.blocked, road.zone, road.speed_mps
    slowest = top_mps.min()
    nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3], nodes[0, 4] = 0, 0, speed, column, -1
    costs[0] = 0.0
    count, deepest, is_complete = 1, 0, False
    last_quarter = int(min(road.stop_m, 1000.0) * 4.0)
    bound = np.empty((LAYERS + 1, CELLS + 1), dtype=np.int64)
    _bounds(bound, blocked, zone, max(top_mps.max(), float(speed)) + 1.0)
    lost_in = _lost_in(slowest, most)
    size = _push(heap, keys, 0, 0, _least_lost(lost_in, 0, speed, LAYERS, slowest, bound[0, 0]))
    may_stand = zone[0, column] == ONCOMING_LANE
    while size > 0 and count < len(costs) - len(_CHANGES) * _SIDESTEPS:
        node = _pop(heap, keys, size)
        size -= 1
        layer, quarter, v, here = nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3]
        cell = min(quarter // 4, CELLS)
        if closed[layer, cell, v, here] == run:
            continue
        closed[layer, cell, v, here] = run
        if layer > nodes[deepest, 0]:
            deepest = node
        is_over = layer == LAYERS or cell >= CELLS - 1
        if is_over or _brakes_for_stop(blocked, zone, layer, quarter, v, here, last_quarter):
            deepest, is_complete = node, True
            break
        from_zone = zone[min(cell, CELLS - 1), here]
        for change in _CHANGES:
            if change > _gain(v, most) or (v == 0 and change < 0):
                continue
            faster = max(v + change, 0)
            there_q = quarter + v + faster
            if faster > TOP_MPS or (there_q > last_quarter and there_q > quarter):
                continue
            there_cell = min(there_q // 4, CELLS)
            end = min(there_cell, CELLS - 1)
            step_cost = _cost_of_speed(faster, change, top_mps[end], 0.25 * there_q - road.wait_m)
            if step_cost == np.inf:
                continue
            reach = 2 if v <= _SWIFT_MAX_MPS else 1
            for aside in range(-reach, reach + 1):
                there = here + aside
                if there < 0 or there >= COLUMNS or _SLOPE_MAX * 0.25 * (v + faster) < abs(aside) * COLUMN_M:
                    continue
                if closed[layer + 1, there_cell, faster, there] == run:
                    continue
                if not _is_free(blocked, zone, layer, cell, there_cell, here, there):
                    continue
                if zone[end, there] == ONCOMING_LANE and faster < _ONCOMING_LEAST_MPS and not may_stand:
                    continue
                offset_m, is_last = (there - CENTRE) * COLUMN_M + road.shift_m[end], layer + 1 == LAYERS
                cost = costs[node] + step_cost
                cost = _cost_of_place(cost, from_zone, zone[end, there], offset_m, road.before_m[end], aside, is_last)
                nodes[count, 0], nodes[count, 1], nodes[count, 2] = layer + 1, there_q, faster
                nodes[count, 3], nodes[count, 4] = there, node
                costs[count] = cost
                left = _least_lost(lost_in, there_q, faster, LAYERS - layer - 1, slowest, bound[layer + 1, there_cell])
                size = _push(heap, keys, size, count, cost + _GREED * left)
                count += 1
    return _path_to(nodes, deepest), costs[deepest], is_complete, count
