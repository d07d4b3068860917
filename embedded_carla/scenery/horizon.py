"""Hills and ridges around the terrain, which are only visible: no actor can stand on them."""

from __future__ import annotations

import numpy as np

from embedded_carla.scene import F64, Material
from embedded_carla.scenery.heightfield import HeightField
from embedded_carla.scenery.soup import QuadSoup
from embedded_carla.types import SemanticTag

SPACING_M = 64.0  # between the points of a ring
# Distance outside the terrain's rectangle, and maximum height of a ridge there; the first ring is below the edge.
RINGS_M = ((-24.0, 0.0), (50.0, 4.0), (140.0, 16.0), (280.0, 40.0), (480.0, 70.0), (760.0, 105.0), (1150.0, 150.0),
           (1600.0, 190.0))  # fmt: skip
SUNK_M = 4.0  # how much lower the first ring lies


def draw(field: HeightField, seed: int, soup: QuadSoup) -> None:
    """Add rings of hills around the terrain."""
    edge, z = _edge(field)
    middle = 0.5 * (edge.min(axis=0) + edge.max(axis=0))
    outward = (edge - middle) / np.linalg.norm(edge - middle, axis=1, keepdims=True)
    level = float(np.median(z))
    rings = []
    for distance_m, rise_m in RINGS_M:
        xy = edge + distance_m * outward
        keeps = np.clip(1.0 - distance_m / 300.0, 0.0, 1.0)  # share of the terrain's own height at the edge
        height = keeps * z + (1.0 - keeps) * level + rise_m * _ridges(xy, seed)
        rings.append(np.column_stack([xy, height - (SUNK_M if distance_m < 0.0 else 0.0)]))
    grid = np.stack(rings)
    normals = _normals(grid)
    for k in range(len(rings) - 1):
        quads, smooth = _band(grid[k], grid[k + 1]), _band(normals[k], normals[k + 1])
        soup.add(Material.HILL, SemanticTag.TERRAIN, quads, smooth, quads[..., :2].copy())


def _band(inner: F64, outer: F64) -> F64:
    """Corners (n, 4, 3) of the quads between two closed rings (n, 3)."""
    return np.stack([inner, np.roll(inner, -1, axis=0), np.roll(outer, -1, axis=0), outer], axis=1)


def _edge(field: HeightField) -> tuple[F64, F64]:
    """Points (n, 2) around the terrain's rectangle and its heights (n,) just inside them."""
    low = field.origin
    high = low + (np.array(field.height.shape) - 1) * field.step_m
    nx, ny = (max(int(d / SPACING_M), 2) for d in high - low)
    x, y = np.linspace(low[0], high[0], nx, endpoint=False), np.linspace(low[1], high[1], ny, endpoint=False)
    edge = np.concatenate([
        np.column_stack([x, np.full(nx, low[1])]), np.column_stack([np.full(ny, high[0]), y]),
        np.column_stack([low[0] + high[0] - x, np.full(nx, high[1])]),
        np.column_stack([np.full(ny, low[0]), low[1] + high[1] - y]),
    ])  # fmt: skip
    return edge, field(np.clip(edge, low + 0.5 * field.step_m, high - 0.5 * field.step_m))[0]


def _ridges(xy: F64, seed: int) -> F64:
    """Smooth noise (n,) in about [0, 1]: waves of a few hundred metres in random directions."""
    rng = np.random.default_rng([seed, 11])
    total = np.zeros(len(xy))
    for wavelength_m, gain in ((1900.0, 0.30), (900.0, 0.26), (520.0, 0.18), (270.0, 0.10), (180.0, 0.06)):
        for _ in range(2):
            angle, phase = rng.uniform(0, 2 * np.pi, 2)
            along = xy @ np.array([np.cos(angle), np.sin(angle)])
            total += 0.5 * gain * np.sin(2 * np.pi * along / wavelength_m + phase)
    return np.asarray(np.clip(0.45 + total, 0.03, 1.0))


def _normals(grid: F64) -> F64:
    """Unit normals (rings, n, 3) from the neighbours along and across the rings."""
    around = np.roll(grid, -1, axis=1) - np.roll(grid, 1, axis=1)
    across = np.gradient(grid, axis=0)
    normal = np.cross(around, across)
    normal = np.where(normal[..., 2:] < 0.0, -normal, normal)
    return np.asarray(normal / np.linalg.norm(normal, axis=-1, keepdims=True))
