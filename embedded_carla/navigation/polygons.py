"""Cuts flat areas into convex polygons of at most six corners that meet edge to edge."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from embedded_carla.navigation.areas import GRID_M, Area, Level
from embedded_carla.scene import F64

MOST_CORNERS = 6
FLAT_M = 0.01  # largest distance of a polygon's corners from one plane
STRAIGHT = 1e-6  # least sine of a corner's angle, so that rounding bends no corner inwards


@dataclass(frozen=True, slots=True)
class PolygonMesh:
    """Convex polygons over shared `vertices` (n, 3).

    `polygons` are vertex indices, clockwise as drawn with y up; `areas` is the area type of each polygon.
    """

    vertices: F64
    polygons: tuple[tuple[int, ...], ...]
    areas: tuple[Area, ...]


def mesh(levels: Sequence[Level]) -> PolygonMesh:
    """Build one mesh of all levels; levels are joined where they meet at equal heights."""
    corners: list[F64] = []
    triangles: list[NDArray[np.int64]] = []
    kinds: list[NDArray[np.int64]] = []
    count = 0
    for level in levels:
        xy, faces, kind = _triangles(level)
        corners.append(np.column_stack([xy, level.heights(xy)]))
        triangles.append(faces + count)
        kinds.append(kind)
        count += len(xy)
    if not count:
        return PolygonMesh(np.zeros((0, 3)), (), ())
    points = np.concatenate(corners)
    near = np.round(points / [GRID_M, GRID_M, 10.0 * GRID_M])
    _, first, same = np.unique(near, axis=0, return_index=True, return_inverse=True)
    points = points[first]
    polygons, areas = _merged(points, same.reshape(-1)[np.concatenate(triangles)], np.concatenate(kinds))
    used, numbers = np.unique(np.array([i for p in polygons for i in p]), return_inverse=True)
    renamed = iter(numbers.tolist())
    return PolygonMesh(points[used], tuple(tuple(next(renamed) for _ in p) for p in polygons), tuple(areas))


def _triangles(level: Level) -> tuple[F64, NDArray[np.int64], NDArray[np.int64]]:
    """Triangulate a level: corners (n, 2), clockwise triangles (m, 3) and their area types (m,)."""
    borders = [shape.boundary for _, shape in level.areas]
    lines = shapely.union_all([*borders, level.bends], grid_size=GRID_M)
    faces = shapely.get_parts(shapely.polygonize([lines]))
    inside = shapely.point_on_surface(faces)
    kind: NDArray[np.int64] = np.zeros(len(faces), dtype=np.int64)
    for area, shape in level.areas:
        shapely.prepare(shape)
        kind[shapely.contains(shape, inside)] = area
    faces, kind = faces[kind > 0], kind[kind > 0]
    parts, owner = shapely.get_parts(shapely.constrained_delaunay_triangles(faces), return_index=True)
    xy = shapely.get_coordinates(parts).reshape(-1, 4, 2)[:, :3]
    size = _doubled_area(xy[:, 0], xy[:, 1], xy[:, 2])
    xy = np.where((size > 0.0)[:, None, None], xy[:, ::-1], xy)
    near = np.round(xy.reshape(-1, 2) / GRID_M).astype(np.int64)
    on_grid, index = np.unique(near, axis=0, return_inverse=True)
    triangles = np.asarray(index, dtype=np.int64).reshape(-1, 3)
    whole = np.abs(size) > 1e-9
    return np.asarray(on_grid * GRID_M, dtype=np.float64), triangles[whole], kind[owner][whole]


def _doubled_area(a: F64, b: F64, c: F64) -> F64:
    return np.asarray((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))


def _merged(
    points: F64, triangles: NDArray[np.int64], kinds: NDArray[np.int64]
) -> tuple[list[tuple[int, ...]], list[Area]]:
    """Join polygons across their common edges, longest first, as long as they stay convex, flat and small enough."""
    at = [tuple(p) for p in points.tolist()]
    polygons: dict[int, list[int]] = dict(enumerate(triangles.tolist()))
    kind = kinds.tolist()
    owner = {edge: i for i, p in polygons.items() for edge in zip(p, [*p[1:], p[0]], strict=True)}
    heap = [(-_distance(at[a], at[b]), a, b) for a, b in owner if a < b and (b, a) in owner]
    heapq.heapify(heap)
    while heap:
        _, a, b = heapq.heappop(heap)
        i, j = owner.get((a, b)), owner.get((b, a))
        if i is None or j is None or i == j or kind[i] != kind[j]:
            continue
        joined = _joined(polygons[i], polygons[j], a, b)
        if joined is None or not _is_convex(at, joined) or not _is_flat(points, joined):
            continue
        del polygons[j], owner[(a, b)], owner[(b, a)]
        polygons[i] = joined
        for edge in zip(joined, [*joined[1:], joined[0]], strict=True):
            owner[edge] = i
    return [tuple(p) for p in polygons.values()], [Area(kind[i]) for i in polygons]


def _distance(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return math.hypot(a[0] - b[0], a[1] - b[1])


def _joined(p: list[int], q: list[int], a: int, b: int) -> list[int] | None:
    """The polygon that `p`, with edge a -> b, and `q`, with edge b -> a, form together.

    None if it would have too many corners or pass one twice.
    """
    if len(p) + len(q) - 2 > MOST_CORNERS:
        return None
    k, m = p.index(b), q.index(a)
    joined = p[k:] + p[:k] + (q[m:] + q[:m])[1:-1]
    return joined if len(set(joined)) == len(joined) else None


def _is_convex(at: Sequence[tuple[float, ...]], polygon: Sequence[int]) -> bool:
    """Whether every corner turns clockwise or goes straight on."""
    corners = [at[i] for i in polygon]
    for (ax, ay, _), (bx, by, _), (cx, cy, _) in zip(
        corners, [*corners[1:], corners[0]], [*corners[2:], *corners[:2]], strict=True
    ):
        ux, uy, vx, vy = bx - ax, by - ay, cx - bx, cy - by
        turn, ahead = ux * vy - uy * vx, ux * vx + uy * vy
        if turn > -STRAIGHT * math.hypot(turn, ahead) and (abs(turn) > 1e-9 or ahead < 0.0):
            return False
    return True


def _is_flat(points: F64, polygon: Sequence[int]) -> bool:
    corners = points[polygon]
    if np.ptp(corners[:, 2]) <= FLAT_M:
        return True
    local = corners - corners.mean(axis=0)
    plane = np.linalg.lstsq(local[:, :2], local[:, 2], rcond=None)[0]
    return bool(np.abs(local[:, :2] @ plane - local[:, 2]).max() <= FLAT_M)
