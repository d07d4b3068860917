"""Compiled loops over points: the triangle under a point, and the terrain's height."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.scene import F64

I64 = NDArray[np.int64]

PLANE, FIRST_EDGE, SECOND_EDGE, THIRD_EDGE = 0, 3, 6, 9
"""First of the three columns of a triangle's data for its height and for the distance to each edge, linear in x, y."""


class TriangleGrid(NamedTuple):
    """Triangles in square cells: those of cell k are `candidates[start[k] : start[k + 1]]`.

    `data` (n, 12): a, b, c of z = a x + b y + c, then A, B, C of the signed distances to three edges, positive inside;
    x and y relative to `origin` (2,). `shape` (2,) counts the cells along x and y.
    """

    origin: F64
    shape: I64
    start: I64
    candidates: I64
    data: F64


@inner
def _at(data: F64, first: int, x: float, y: float) -> float:
    """The linear function whose coefficients begin at column `first`."""
    return float(data[first] * x + data[first + 1] * y + data[first + 2])


@compiled
def highest_below(
    grid: TriangleGrid, points: F64, cell_m: float, reach_up_m: float, overlap_m: float, z: F64, found: I64
) -> None:
    """Write height and index of the highest triangle at most `reach_up_m` above each of `points` (n, 3).

    Writes to `z` and `found` (n,); both are not changed for a point without a triangle. Of equally high triangles the
    first one is used.
    """
    for i in range(len(points)):
        x, y = points[i, 0] - grid.origin[0], points[i, 1] - grid.origin[1]
        column, row = math.floor(x / cell_m), math.floor(y / cell_m)
        if not (column >= 0 and row >= 0 and column < grid.shape[0] and row < grid.shape[1]):
            continue
        cell = int(column) * grid.shape[1] + int(row)
        ceiling = points[i, 2] + reach_up_m
        for k in range(grid.start[cell], grid.start[cell + 1]):
            triangle = grid.candidates[k]
            data = grid.data[triangle]
            height = _at(data, PLANE, x, y)
            if (
                height <= ceiling
                and (height > z[i] or (height == z[i] and triangle < found[i]))
                and _at(data, FIRST_EDGE, x, y) >= -overlap_m
                and _at(data, SECOND_EDGE, x, y) >= -overlap_m
                and _at(data, THIRD_EDGE, x, y) >= -overlap_m
            ):
                z[i], found[i] = height, triangle


@compiled
def field_below(origin: F64, step_m: float, height: F64, points: F64, which: I64, z: F64, normal: F64) -> None:
    """Write the terrain's height (NaN outside) and unit normal at the `points` (n, 3) whose indices are in `which`.

    `height` (columns, rows) as in `HeightField`.
    """
    for i in which:
        x, y = (points[i, 0] - origin[0]) / step_m, (points[i, 1] - origin[1]) / step_m
        column, row = math.floor(x), math.floor(y)
        outside = not (column >= 0 and row >= 0 and column <= height.shape[0] - 2 and row <= height.shape[1] - 2)
        c = int(min(max(column, 0.0), height.shape[0] - 2.0))
        r = int(min(max(row, 0.0), height.shape[1] - 2.0))
        u, v = x - c, y - r
        z00, z10, z01, z11 = height[c, r], height[c + 1, r], height[c, r + 1], height[c + 1, r + 1]
        du, dv = (z10 - z00, z11 - z10) if u > v else (z11 - z01, z01 - z00)
        z[i] = math.nan if outside else z00 + u * du + v * dv
        nx, ny = -du / step_m, -dv / step_m
        size = math.sqrt(nx * nx + ny * ny + 1.0)
        normal[i, 0], normal[i, 1], normal[i, 2] = nx / size, ny / size, 1.0 / size
