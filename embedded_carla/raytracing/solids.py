"""The map's placements as triangles, in their prototypes' shapes, so that rays hit what cameras see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.prototypes import PROTOTYPES, sign_pieces, variant
from embedded_carla.scene import F64, Placement
from embedded_carla.types import Transform

_SIGN_BEFORE_POST_M = 0.05  # signs are drawn this far in front of their post


@dataclass(frozen=True, slots=True)
class Solid:
    """One shape in the world: its prototype, and `matrix` (4, 4) from the unit shape to the world."""

    prototype: str
    matrix: F64


def solids_of(placement: Placement) -> list[Solid]:
    """The shapes that draw `placement`, at their finest level of detail."""
    if not placement.prototype.startswith("sign_") or placement.prototype == "sign_post":
        return [_solid(variant(placement.prototype, placement.seed), placement.transform, placement.size_m)]
    out = []
    for name, size, height in sign_pieces(placement):
        ahead = _SIGN_BEFORE_POST_M if height > 0.0 else 0.0
        out.append(_solid(name, placement.transform @ Transform(x=ahead, z=height), size))
    return out


def _solid(name: str, pose: Transform, size_m: tuple[float, float, float]) -> Solid:
    matrix = pose.matrix()
    matrix[:3, :3] *= np.asarray(size_m)
    return Solid(name, matrix)


@cache
def unit_corners(prototype: str) -> F64:
    """Triangles (T, 3, 3) of a prototype's finest shape."""
    shape = PROTOTYPES[prototype].levels[0]
    corners: F64 = shape.vertices[:, :3][shape.triangles].astype(np.float64)
    return corners


@cache
def unit_bounds(prototype: str) -> F64:
    """Corners (8, 3) of the box around a prototype's finest shape."""
    points = unit_corners(prototype).reshape(-1, 3)
    ends = np.stack([points.min(axis=0), points.max(axis=0)])
    pick = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    bounds: F64 = ends[pick, np.arange(3)]
    return bounds


def local_box(placement: Placement, solids: Sequence[Solid]) -> tuple[F64, F64]:
    """Centre (3,) and half size (3,) of the drawn shapes, along the placement's own axes."""
    inverse = np.linalg.inv(placement.transform.matrix())
    points = np.concatenate([_moved(unit_bounds(s.prototype), inverse @ s.matrix) for s in solids])
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2.0, (high - low) / 2.0


def _moved(points: F64, matrix: F64) -> F64:
    moved: F64 = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def first_crossing(corners: F64, start: F64, way: F64) -> float:
    """Share of `way` (3,) from `start` (3,) at its first crossing of the triangles (T, 3, 3); inf for none.

    Moeller and Trumbore, *Fast, minimum storage ray/triangle intersection* (1997); both sides count.
    """
    shares = crossings(corners, start, way)
    return float(shares.min()) if len(shares) else float("inf")


def crossings(corners: F64, start: F64, way: F64) -> F64:
    """All shares in [0, 1] at which the segment crosses the triangles."""
    edge1, edge2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(way, edge2)
    determinant = np.einsum("ij,ij->i", edge1, across)
    hit: NDArray[np.bool_] = np.abs(determinant) > 1e-12
    scale = np.where(hit, determinant, 1.0)
    arm = start - corners[:, 0]
    u = np.einsum("ij,ij->i", arm, across) / scale
    turned = np.cross(arm, edge1)
    v = turned @ way / scale
    t = np.einsum("ij,ij->i", edge2, turned) / scale
    slack = 1e-9  # a ray along the seam of two triangles must meet one of them
    hit &= (u >= -slack) & (v >= -slack) & (u + v <= 1.0 + slack) & (t >= 0.0) & (t <= 1.0)
    shares: F64 = t[hit]
    return shares
