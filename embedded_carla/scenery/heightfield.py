"""A regular grid of terrain heights, each cell two triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embedded_carla.scene import F64


@dataclass(frozen=True, slots=True)
class HeightField:
    """Terrain heights `height` (columns, rows) m at `origin` + (i, j) * `step_m`.

    Each cell is divided into two triangles by the diagonal from (i, j) to (i + 1, j + 1).
    """

    origin: F64
    step_m: float
    height: F64

    def __call__(self, xy: F64) -> tuple[F64, F64]:
        """Height (n,), NaN outside, and unit normals (n, 3) at `xy` (n, 2)."""
        at = (xy - self.origin) / self.step_m
        cell = np.floor(at).astype(np.int64)
        limit = np.array(self.height.shape) - 2
        outside = np.any((cell < 0) | (cell > limit), axis=1)
        cell = np.clip(cell, 0, limit)
        u, v = (at - cell).T
        i, j = cell.T
        z00, z10, z01, z11 = self.height[i, j], self.height[i + 1, j], self.height[i, j + 1], self.height[i + 1, j + 1]
        right = u > v
        du = np.where(right, z10 - z00, z11 - z01)
        dv = np.where(right, z11 - z10, z01 - z00)
        z = z00 + u * du + v * dv
        z[outside] = np.nan
        normal = np.stack([-du / self.step_m, -dv / self.step_m, np.ones_like(z)], axis=1)
        return z, normal / np.linalg.norm(normal, axis=1, keepdims=True)
