"""Trees of bounding boxes over triangles and other boxes, so that a ray tests only what lies near its way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.kernel import FAR_AWAY_M, LEAF, Forest

F32 = NDArray[np.float32]
I64 = NDArray[np.int64]
NOTHING = -1


def halved(low: F32, high: F32, leaf: int) -> I64:
    """Order (leaves, leaf) of N boxes (N, 3) as the leaves of a balanced tree; NOTHING fills leaves up.

    The number of leaves is a power of two. Each node splits its boxes at the median along the axis on which their
    middles extend farthest.
    """
    count, leaves = len(low), 1
    while leaves * leaf < count:
        leaves *= 2
    middle = (low + high).T / 2.0
    last = np.full((3, 1), np.inf, dtype=np.float32)  # the middle of NOTHING
    upper, lower = np.hstack([middle, -last]), np.hstack([middle, last])
    order = np.full((1, leaves * leaf), NOTHING, dtype=np.int64)
    order[0, :count] = np.arange(count)
    while len(order) < leaves:
        side = [_folded(upper[k][order], np.maximum) - _folded(lower[k][order], np.minimum) for k in range(3)]
        along = lower[np.argmax(side, axis=0)[:, None], order]
        order = np.take_along_axis(order, np.argsort(along, axis=1, kind="stable"), axis=1)  # NOTHING comes last
        width = order.shape[1]
        filled = (order != NOTHING).sum(axis=1, keepdims=True)
        first = (filled + 1) // 2
        place = np.arange(width // 2)
        left = np.where(place < first, place, width - 1)
        right = np.where(place + first < filled, place + first, width - 1)
        order = np.take_along_axis(order, np.stack([left, right], axis=1).reshape(len(order), -1), axis=1)
        order = order.reshape(2 * len(order), -1)
    return order


def _folded(values: F32, join: np.ufunc) -> F32:
    """`join.reduce` of each row (N,) of `values` (N, a power of two); numpy's own is slow for short rows."""
    while values.shape[1] > 1:
        values = join(values[:, 0::2], values[:, 1::2])
    return values[:, 0]


def bounds(low: F32, high: F32) -> tuple[F32, F32]:
    """Boxes (2 P - 1, 3) of all nodes of a balanced tree with P leaves (P, 3); the children of i are 2 i + 1, 2 i + 2.

    A leaf with low > high is empty.
    """
    lows, highs = [low], [high]
    while len(lows[-1]) > 1:
        lows.append(np.minimum(lows[-1][0::2], lows[-1][1::2]))
        highs.append(np.maximum(highs[-1][0::2], highs[-1][1::2]))
    all_low, all_high = np.concatenate(lows[::-1]), np.concatenate(highs[::-1])
    return all_low, np.where(all_low > all_high, all_low, all_high)  # an empty node becomes a point that is far away


def tree_of_boxes(low: F32, high: F32) -> tuple[F32, F32, I64]:
    """Node boxes as in `bounds`, and the box (P,) in each leaf, NOTHING in an empty one."""
    order = halved(low, high, 1)[:, 0]
    node_low, node_high = bounds(*(_filled(a, sign)[order] for a, sign in ((low, 1.0), (high, -1.0))))
    return node_low, node_high, order


def forest_of(meshes: Sequence[F32]) -> Forest:
    """One tree for each mesh of triangles (T, 3, 3)."""
    lows, highs, corners = [np.zeros((0, 3), np.float32)], [np.zeros((0, 3), np.float32)], []
    leaves = np.zeros(len(meshes), dtype=np.int64)
    for i, mesh in enumerate(meshes):
        low, high = mesh.min(axis=1), mesh.max(axis=1)
        order = halved(low, high, LEAF)
        leaves[i] = len(order)
        leaf_low, leaf_high = _filled(low, 1.0)[order].min(axis=1), _filled(high, -1.0)[order].max(axis=1)
        for nodes, made in zip((lows, highs), bounds(leaf_low, leaf_high), strict=True):
            nodes.append(made)
        corners.append(np.vstack([mesh, np.zeros((1, 3, 3), np.float32)])[order.reshape(-1)])
    first = np.concatenate([[0], np.cumsum(leaves)])[: len(meshes)]
    number = np.arange(len(meshes))
    none = np.zeros((0, 3, 3), dtype=np.float32)
    return Forest(
        np.concatenate(lows), np.concatenate(highs), np.concatenate([none, *corners]), 2 * first - number,
        leaves, first * LEAF,
    )  # fmt: skip


def joined(forests: Sequence[Forest]) -> Forest:
    """All trees of some forests as one forest, in order."""
    forests = [forest_of([]), *forests]
    nodes = np.cumsum([0, *(len(f.low) for f in forests)])
    triangles = np.cumsum([0, *(len(f.corners) for f in forests)])
    return Forest(
        np.concatenate([f.low for f in forests]),
        np.concatenate([f.high for f in forests]),
        np.concatenate([f.corners for f in forests]),
        np.concatenate([f.first_node + nodes[i] for i, f in enumerate(forests)]),
        np.concatenate([f.leaves for f in forests]),
        np.concatenate([f.first_triangle + triangles[i] for i, f in enumerate(forests)]),
    )


def _filled(corner: F32, sign: float) -> F32:
    """`corner` (N, 3) with one more row for NOTHING, which no minimum (`sign` 1) or maximum (-1) takes."""
    return np.vstack([corner, np.full((1, 3), sign * FAR_AWAY_M)]).astype(np.float32)
