"""Nearest hits of rays, compiled.

Three kinds of things are tested: the ground, which is one tree in the world; the pieces of the scenery, which are
shapes placed in the world, under one tree of their bounds; and the bodies of actors, each a box around some pieces.
Slab tests of boxes, and T. Moeller and B. Trumbore, *Fast, minimum storage ray/triangle intersection* (1997).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.types import Float

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]

LEAF = 4  # triangles in a leaf
FAR_AWAY_M = 1e30  # where empty nodes are
STACK = 64  # more than twice the depth of any tree
SCENERY = -1
"""The hit body of a ray that meets the ground or a piece of the scenery."""

_TINY = 1e-12
_SLACK = 1e-7  # a ray along the seam of two triangles must meet one of them


class Forest(NamedTuple):
    """Balanced trees over triangles, one after the other.

    `low`, `high` (N, 3) are the nodes' boxes: of tree t from `first_node[t]` on, where the children of node i are
    2 i + 1 and 2 i + 2 and the last `leaves[t]` are leaves. Leaf k holds LEAF of the triangles `corners` (T, 3, 3) from
    `first_triangle[t]` + LEAF k on; some have no area.
    """

    low: F32
    high: F32
    corners: F32
    first_node: I64
    leaves: I64
    first_triangle: I64


class Pieces(NamedTuple):
    """Shapes in the world: tree (P,) of each, and `inverse` (P, 3, 4) from the world to the shape's own coordinates."""

    tree: I64
    inverse: Float


class Bounds(NamedTuple):
    """A balanced tree over pieces: its nodes' boxes (N, 3), and the piece (L,) in each leaf, -1 for none."""

    low: F32
    high: F32
    piece: I64


class Bodies(NamedTuple):
    """Actors: oriented boxes `centre` (A, 3), half sizes `half` (A, 3), axes as columns in `axes` (A, 3, 3).

    A body's pieces go from `first[a]` to `first[a + 1]`. Where `clips[a]`, no hit lies outside the box.
    """

    centre: Float
    half: Float
    axes: Float
    clips: NDArray[np.bool_]
    first: I64


@inner
def _entry(low: F32, high: F32, node: int, start: Float, inverse: Float, nearest: float) -> float:
    """Where a ray enters a node's box, in lengths of its way; infinite if not before `nearest`."""
    enter, leave = 0.0, nearest
    for k in range(3):
        a, b = (low[node, k] - start[k]) * inverse[k], (high[node, k] - start[k]) * inverse[k]
        enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    return enter if enter <= leave else np.inf


@inner
def _invert(way: Float, inverse: Float) -> None:
    for k in range(3):
        inverse[k] = 1.0 / (way[k] if abs(way[k]) > _TINY else _TINY)


@inner
def _crossing(corners: F32, i: int, start: Float, way: Float, one_sided: bool) -> float:
    """Where the ray meets triangle i, in lengths of its way; infinite if nowhere, or from behind if `one_sided`."""
    ax, ay, az = np.float64(corners[i, 0, 0]), np.float64(corners[i, 0, 1]), np.float64(corners[i, 0, 2])
    ux, uy, uz = corners[i, 1, 0] - ax, corners[i, 1, 1] - ay, corners[i, 1, 2] - az
    vx, vy, vz = corners[i, 2, 0] - ax, corners[i, 2, 1] - ay, corners[i, 2, 2] - az
    px, py, pz = way[1] * vz - way[2] * vy, way[2] * vx - way[0] * vz, way[0] * vy - way[1] * vx
    determinant = ux * px + uy * py + uz * pz
    if determinant == 0.0 or (one_sided and determinant < 0.0):
        return np.inf
    sx, sy, sz = start[0] - ax, start[1] - ay, start[2] - az
    u = (sx * px + sy * py + sz * pz) / determinant
    if u < -_SLACK or u > 1.0 + _SLACK:
        return np.inf
    qx, qy, qz = sy * uz - sz * uy, sz * ux - sx * uz, sx * uy - sy * ux
    v = (way[0] * qx + way[1] * qy + way[2] * qz) / determinant
    if v < -_SLACK or u + v > 1.0 + _SLACK:
        return np.inf
    along: float = (vx * qx + vy * qy + vz * qz) / determinant
    return along if along > 0.0 else np.inf


@inner
def _in_tree(
    forest: Forest, tree: int, start: Float, way: Float, nearest: float, one_sided: bool, inverse: Float,
    nodes: I64, enters: Float,
) -> float:  # fmt: skip
    """The nearest hit on a tree's triangles before `nearest`, else `nearest`; the last three are working memory."""
    first, leaves = forest.first_node[tree], forest.leaves[tree]
    _invert(way, inverse)
    nodes[0], enters[0] = 0, _entry(forest.low, forest.high, first, start, inverse, nearest)
    top = 1
    while top > 0:
        top -= 1
        node = nodes[top]
        if not enters[top] <= nearest or np.isinf(enters[top]):
            continue
        if node >= leaves - 1:
            begin = forest.first_triangle[tree] + LEAF * (node - leaves + 1)
            for i in range(begin, begin + LEAF):
                nearest = min(nearest, _crossing(forest.corners, i, start, way, one_sided))
            continue
        left = _entry(forest.low, forest.high, first + 2 * node + 1, start, inverse, nearest)
        right = _entry(forest.low, forest.high, first + 2 * node + 2, start, inverse, nearest)
        far, near = (1, 2) if left > right else (2, 1)  # the nearer child is popped first
        nodes[top], enters[top] = 2 * node + far, max(left, right)
        nodes[top + 1], enters[top + 1] = 2 * node + near, min(left, right)
        top += 2
    return nearest


@inner
def _on_piece(
    forest: Forest, pieces: Pieces, piece: int, start: Float, way: Float, nearest: float, work: Float, nodes: I64,
    enters: Float,
) -> float:  # fmt: skip
    """The nearest hit on a piece before `nearest`, else `nearest`. Its back faces are not hit."""
    m = pieces.inverse[piece]
    for k in range(3):
        work[0, k] = m[k, 0] * start[0] + m[k, 1] * start[1] + m[k, 2] * start[2] + m[k, 3]
        work[1, k] = m[k, 0] * way[0] + m[k, 1] * way[1] + m[k, 2] * way[2]
    return _in_tree(forest, pieces.tree[piece], work[0], work[1], nearest, True, work[2], nodes, enters)


@inner
def _on_scenery(
    forest: Forest, pieces: Pieces, bounds: Bounds, start: Float, way: Float, nearest: float, work: Float, nodes: I64,
    enters: Float,
) -> float:  # fmt: skip
    """The nearest hit on the pieces of the scenery before `nearest`, else `nearest`."""
    leaves = len(bounds.piece)
    _invert(way, work[3])
    nodes[1, 0], enters[1, 0] = 0, _entry(bounds.low, bounds.high, 0, start, work[3], nearest)
    top = 1
    while top > 0:
        top -= 1
        node = nodes[1, top]
        if not enters[1, top] <= nearest or np.isinf(enters[1, top]):
            continue
        if node >= leaves - 1:
            piece = bounds.piece[node - leaves + 1]
            if piece >= 0:
                nearest = _on_piece(forest, pieces, piece, start, way, nearest, work, nodes[0], enters[0])
            continue
        left = _entry(bounds.low, bounds.high, 2 * node + 1, start, work[3], nearest)
        right = _entry(bounds.low, bounds.high, 2 * node + 2, start, work[3], nearest)
        far, near = (1, 2) if left > right else (2, 1)
        nodes[1, top], enters[1, top] = 2 * node + far, max(left, right)
        nodes[1, top + 1], enters[1, top + 1] = 2 * node + near, min(left, right)
        top += 2
    return nearest


@inner
def _span(bodies: Bodies, body: int, start: Float, way: Float) -> tuple[float, float]:
    """Where a ray enters and leaves a body's box, in lengths of its way; enter > leave if it misses the box."""
    enter, leave = 0.0, np.inf
    for j in range(3):
        from_middle, along = 0.0, 0.0
        for k in range(3):
            from_middle += (start[k] - bodies.centre[body, k]) * bodies.axes[body, k, j]
            along += way[k] * bodies.axes[body, k, j]
        if abs(along) < _TINY:
            along = _TINY
        a, b = (-bodies.half[body, j] - from_middle) / along, (bodies.half[body, j] - from_middle) / along
        enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    return enter, leave


@compiled
def nearest_hits(
    ground: Forest, scenery: Forest, still: Pieces, bounds: Bounds, shapes: Forest, moving: Pieces, bodies: Bodies,
    near: I64, start: Float, ways: Float, range_m: float, distance_m: Float, body: I64,
) -> None:  # fmt: skip
    """Write the nearest hit of rays with unit directions `ways` (N, 3) from `start` into `distance_m`, `body` (N,).

    Infinite distance where there is none within `range_m`. `near` lists the bodies that may be hit. The ground is hit
    from both sides, everything else only from outside.
    """
    work = np.empty((4, 3))
    nodes, enters = np.empty((2, STACK), dtype=np.int64), np.empty((2, STACK))
    for i in range(len(ways)):
        way = ways[i]
        nearest, hit = range_m, SCENERY
        for t in range(len(ground.leaves)):
            nearest = _in_tree(ground, t, start, way, nearest, False, work[2], nodes[0], enters[0])
        nearest = _on_scenery(scenery, still, bounds, start, way, nearest, work, nodes, enters)
        for k in near:
            enter, leave = _span(bodies, k, start, way)
            if enter > leave or enter >= nearest:
                continue
            reached = nearest
            for piece in range(bodies.first[k], bodies.first[k + 1]):
                reached = _on_piece(shapes, moving, piece, start, way, reached, work, nodes[0], enters[0])
            if reached < nearest:
                nearest, hit = (min(max(reached, enter), leave) if bodies.clips[k] else reached), k
        distance_m[i], body[i] = (nearest if nearest < range_m else np.inf), hit


def warm_up() -> None:
    """Compile the kernel, or load it from disk, so that no measurement waits for the compiler."""
    corners, none = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    forest = Forest(corners, corners, np.zeros((0, 3, 3), np.float32), none, none, none)
    pieces, bounds = Pieces(none, np.zeros((0, 3, 4))), Bounds(corners, corners, none)
    bodies = Bodies(
        np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)), np.zeros(0, np.bool_), np.zeros(1, np.int64)
    )
    nearest_hits(
        forest, forest, pieces, bounds, forest, pieces, bodies, none, np.zeros(3), np.zeros((0, 3)), 1.0, np.zeros(0),
        none,
    )  # fmt: skip
