"""Smooth vertex normals, with sharp edges where faces meet at more than a crease angle."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
SMALLEST_M2 = 1e-8


def quads_to_triangles(quads: F64) -> F64:
    """(2 Q, 3, 3) triangles of (Q, 4, 3) quads; the two halves of a quad are adjacent."""
    return np.stack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1).reshape(-1, 3, 3)


def not_degenerate(triangles: F64) -> NDArray[np.bool_]:
    """(T,) whether (T, 3, 3) triangles have a non-zero area."""
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    has_area: NDArray[np.bool_] = np.linalg.norm(cross, axis=1) > SMALLEST_M2
    return has_area


def smooth_normals(triangles: F64, crease_deg: float) -> F64:
    """(T, 3, 3) unit normals at the corners of (T, 3, 3) triangles.

    A corner's normal is the area-weighted mean of the faces that share it and whose normals differ from its own face's
    by less than `crease_deg`.
    """
    weighted = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    unit = weighted / np.linalg.norm(weighted, axis=1, keepdims=True)
    _, group = np.unique(np.round(triangles.reshape(-1, 3), 4), axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    start = np.concatenate([[0], np.cumsum(counts)[:-1]])
    slot = np.arange(len(order)) - start[group[order]]
    table = np.full((len(counts), counts.max()), -1)
    table[group[order], slot] = order
    face = np.maximum(table, 0) // 3
    near = np.einsum("gic,gjc->gij", unit[face], unit[face]) > np.cos(np.radians(crease_deg))
    near &= (table >= 0)[:, None, :]
    mean = np.einsum("gij,gjc->gic", near.astype(np.float64), weighted[face])
    mean /= np.maximum(np.linalg.norm(mean, axis=2, keepdims=True), 1e-12)
    normals = np.zeros((len(group), 3))
    used = table >= 0
    normals[table[used]] = mean[used]
    return normals.reshape(-1, 3, 3)
