"""Ground height under points: surface triangles in a hash grid, and the terrain's height field below them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import F64, GroundHit
from embedded_carla.scenery.ground_kernel import FIRST_EDGE, TriangleGrid, field_below, highest_below
from embedded_carla.scenery.heightfield import HeightField
from embedded_carla.types import SemanticTag

CELL_M = 4.0
REACH_UP_M = 1.0  # a surface up to this height above a point still carries it
OVERLAP_M = 1e-3  # triangles are enlarged by this much, so that no point falls through a seam


class TriangleIndex:
    """Index of triangles (n, 3, 3) in the plan view; finds the highest one under a point."""

    def __init__(self, triangles: F64) -> None:
        self.origin = triangles[..., :2].min(axis=(0, 1)) - 1.0 if len(triangles) else np.zeros(2)
        local = triangles - np.append(self.origin, 0.0)
        normal = np.cross(local[:, 1] - local[:, 0], local[:, 2] - local[:, 0])
        steep = np.abs(normal[:, 2]) < 1e-6  # vertical or empty: nothing can stand on it
        self.ids = np.flatnonzero(~steep)
        local, normal = local[self.ids], normal[self.ids]
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        self.normals = np.where(normal[:, 2:] < 0.0, -normal, normal)
        self._data = np.concatenate([_planes(local, self.normals), _edges(local)], axis=1)
        self._hash(local)

    def _hash(self, local: F64) -> None:
        """Fill the grid: for each cell, list the triangles that touch it."""
        if not len(local):
            none = np.zeros(0, dtype=np.int64)
            self._grid = TriangleGrid(self.origin, np.zeros(2, dtype=np.int64), none, none, self._data)
            return
        low = np.floor(local[..., :2].min(axis=1) / CELL_M).astype(np.int64)
        high = np.floor(local[..., :2].max(axis=1) / CELL_M).astype(np.int64)
        shape = high.max(axis=0) + 1
        size = high - low + 1
        triangle, place = _ragged(size.prod(axis=1))
        column = low[triangle, 0] + place // size[triangle, 1]
        row = low[triangle, 1] + place % size[triangle, 1]
        middle = (np.stack([column, row], axis=1) + 0.5) * CELL_M
        edges = self._data[triangle, FIRST_EDGE:].reshape(-1, 3, 3)
        distance = edges[..., 0] * middle[:, :1] + edges[..., 1] * middle[:, 1:] + edges[..., 2]
        touches = distance.min(axis=1) > -0.5 * np.sqrt(2.0) * CELL_M - OVERLAP_M
        cell, triangle = (column * shape[1] + row)[touches], triangle[touches]
        order = np.argsort(cell, kind="stable")
        start = np.searchsorted(cell[order], np.arange(shape[0] * shape[1] + 1))
        self._grid = TriangleGrid(self.origin, shape, start.astype(np.int64), triangle[order], self._data)

    def below(self, points: F64, reach_up_m: float = REACH_UP_M) -> tuple[F64, NDArray[np.int64]]:
        """(height, index) (n,) of the highest triangle at most `reach_up_m` above each point; (-inf, -1) if none."""
        z = np.full(len(points), -np.inf)
        found = np.full(len(points), -1, dtype=np.int64)
        points = np.ascontiguousarray(points, dtype=np.float64)
        highest_below(self._grid, points, CELL_M, float(reach_up_m), OVERLAP_M, z, found)
        return z, found


def _ragged(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Owner, and position within the owner, of each of sum(counts) items."""
    owner = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - first[owner]


def _planes(local: F64, normals: F64) -> F64:
    """Coefficients (n, 3) a, b, c of z = a x + b y + c."""
    slope = -normals[:, :2] / normals[:, 2:]
    return np.concatenate([slope, local[:, 0, 2:] - np.sum(slope * local[:, 0, :2], axis=1, keepdims=True)], axis=1)


def _edges(local: F64) -> F64:
    """Coefficients (n, 9) of the signed distances to the three edges, A x + B y + C, positive inside."""
    xy = local[..., :2]
    along = np.roll(xy, -1, axis=1) - xy
    turn = along[:, 0, 0] * along[:, 1, 1] - along[:, 0, 1] * along[:, 1, 0]
    inward = np.stack([-along[..., 1], along[..., 0]], axis=-1) * np.sign(turn)[:, None, None]
    inward /= np.maximum(np.linalg.norm(inward, axis=-1, keepdims=True), 1e-12)
    offset = -np.sum(inward * xy, axis=-1, keepdims=True)
    edges: F64 = np.concatenate([inward, offset], axis=-1).reshape(len(local), 9)
    return edges


class SceneryGround:
    """`embedded_carla.scene.Ground` of road, pavement and terrain."""

    def __init__(
        self, triangles: F64, tag: NDArray[np.uint8], road: NDArray[np.int32], terrain: HeightField,
        lift_m: F64 | None = None,
    ) -> None:  # fmt: skip
        """`lift_m` (n,) is the height above each drawn triangle at which it carries bodies; 0 by default."""
        self.index = TriangleIndex(triangles)
        lift_m = np.zeros(len(triangles)) if lift_m is None else lift_m
        self._lift_m = np.append(lift_m[self.index.ids], 0.0)
        # One more row than triangles, for index -1 (no triangle found).
        self._tag = np.append(tag[self.index.ids], np.uint8(SemanticTag.TERRAIN))
        self._road = np.append(road[self.index.ids], np.int32(-1)).astype(np.int32)
        self._normals = np.vstack([self.index.normals, [0.0, 0.0, 1.0]])
        self.terrain = terrain

    def below(self, points: F64) -> GroundHit:
        """The highest surface at most 1.0 m above each of `points` (N, 3)."""
        points = np.ascontiguousarray(points, dtype=np.float64).reshape(-1, 3)
        z, found = self.index.below(points)
        z += self._lift_m[found]
        normal, tag, road = self._normals[found], self._tag[found], self._road[found]
        missing = np.flatnonzero(found < 0)
        if len(missing):
            field = self.terrain
            field_below(field.origin, field.step_m, field.height, points, missing, z, normal)
            z[missing[z[missing] > points[missing, 2] + REACH_UP_M]] = np.nan
            tag[missing] = np.where(np.isnan(z[missing]), SemanticTag.UNLABELED, SemanticTag.TERRAIN)
        return GroundHit(z, normal, tag, road)
