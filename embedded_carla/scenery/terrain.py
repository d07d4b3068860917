"""Terrain: a height field that follows the roads and stays below their surface."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from embedded_carla.errors import MapError
from embedded_carla.scene import F64, Material
from embedded_carla.scenery.heightfield import HeightField
from embedded_carla.scenery.soup import QuadSoup
from embedded_carla.scenery.surfaces import KERB_HEIGHT_M, Strip
from embedded_carla.types import SemanticTag

STEP_M = 4.0
BLOCK = 4  # cells along a side of a coarse block, which is drawn as one quad far from roads
BEYOND_M = 160.0  # width of the terrain around the roads' bounding box
BELOW_ROAD_M = 0.06
BRIDGE_CLEARANCE_M = 3.5  # a road at least this far above another is a bridge and does not raise the ground
BRIDGE_REACH_M = 16.0  # distance within which a lower road makes a road a bridge
EVEN_M = 0.01
FAR_SUNK_M = 0.1  # how much lower the coarse copy lies near roads
HILL_M = 3.0
HIGH_HILL_M = 12.0  # added to HILL_M further away from roads
WIDEST_MAP_M = 25_000.0


def road_samples(made: Sequence[Strip], spacing_m: float = 1.5) -> F64:
    """Points (n, 3) that cover every strip, at most about `spacing_m` apart."""
    out = []
    for strip in made:
        length = float(strip.grid.s[-1] - strip.grid.s[0])
        even = np.linspace(strip.grid.s[0], strip.grid.s[-1], max(int(length / spacing_m), 1) + 1)
        s = np.union1d(even, strip.grid.s)  # the stations hold the lowest points
        left, right = (np.stack([np.interp(s, strip.grid.s, edge[:, k]) for k in range(3)], axis=1)
                       for edge in (strip.left, strip.right))  # fmt: skip
        if strip.surface.raised:
            left[:, 2] -= KERB_HEIGHT_M
            right[:, 2] -= KERB_HEIGHT_M
        width = float(np.max(np.linalg.norm(strip.left - strip.right, axis=1)))
        across = np.linspace(0.0, 1.0, max(int(width / spacing_m), 1) + 1)[:, None, None]
        out.append((left + across * (right - left)).reshape(-1, 3))
    return np.concatenate(out)


def height_field(samples: F64, seed: int) -> tuple[HeightField, NDArray[np.bool_]]:
    """Terrain that stays `BELOW_ROAD_M` under every sample, and a mask of the nodes far from roads.

    The terrain is smooth between samples and hilly far away. The masked nodes are far enough from roads to draw whole
    blocks of cells as one. Raises MapError if the map is too wide for the memory.
    """
    low, high = samples[:, :2].min(axis=0) - BEYOND_M, samples[:, :2].max(axis=0) + BEYOND_M
    if not np.all(high - low < WIDEST_MAP_M):
        raise MapError(f"the map spans {np.ptp(samples[:, :2], axis=0).max() / 1e3:.0f} km, at most 25 km are possible")
    blocks = np.ceil((high - low) / (STEP_M * BLOCK)).astype(int)
    cells = tuple(blocks * BLOCK)
    cell = np.floor((samples[:, :2] - low) / STEP_M).astype(int)
    lowest = np.full(cells, np.inf)
    np.minimum.at(lowest, (cell[:, 0], cell[:, 1]), samples[:, 2])
    reach = int(BRIDGE_REACH_M / STEP_M)
    around = _min_filter(lowest, 2 * reach + 1)
    bridge = samples[:, 2] > around[cell[:, 0], cell[:, 1]] + BRIDGE_CLEARANCE_M
    lowest.fill(np.inf)
    np.minimum.at(lowest, (cell[~bridge, 0], cell[~bridge, 1]), samples[~bridge, 2])
    node = np.full((cells[0] + 1, cells[1] + 1), np.inf)
    for di in (0, 1):
        for dj in (0, 1):
            part = node[di : di + cells[0], dj : dj + cells[1]]
            np.minimum(part, lowest, out=part)
    known = np.isfinite(node)
    height = _fill(np.where(known, node - BELOW_ROAD_M, 0.0), known)
    distance = cv2.distanceTransform((~known).astype(np.uint8), cv2.DIST_L2, 5) * STEP_M
    rise_m = HILL_M * np.clip((distance - 25.0) / 80.0, 0.0, 1.0)
    rise_m += HIGH_HILL_M * np.clip((distance - 70.0) / 110.0, 0.0, 1.0) ** 1.5
    height += _hills(height.shape, seed) * rise_m
    far = distance > 1.6 * STEP_M * BLOCK
    return HeightField(low, STEP_M, _flatten_blocks(height, far)), far


def _min_filter(values: F64, size: int) -> F64:
    kernel = np.ones((size, size), dtype=np.uint8)
    return np.asarray(cv2.erode(values.astype(np.float32), kernel, borderValue=np.inf), dtype=np.float64)


def _fill(values: F64, known: NDArray[np.bool_]) -> F64:
    """Spread known heights to unknown nodes: coarse to fine, then smoothing (Laplace) with the known nodes fixed."""
    weight = known.astype(np.float64)
    pyramid = [(values * weight, weight)]
    while min(pyramid[-1][0].shape) > 2:
        size = tuple(int(np.ceil(n / 2)) for n in reversed(pyramid[-1][0].shape))
        pyramid.append(tuple(cv2.resize(a, size, interpolation=cv2.INTER_AREA) for a in pyramid[-1]))  # type: ignore[arg-type]
    total, weight = pyramid.pop()
    out = total / np.maximum(weight, 1e-9)
    while pyramid:
        total, weight = pyramid.pop()
        coarse = cv2.resize(out, total.shape[::-1], interpolation=cv2.INTER_LINEAR)
        out = np.where(weight > 1e-6, total / np.maximum(weight, 1e-6), coarse)
        fixed = weight > (0.999 if not pyramid else 0.2)
        for _ in range(12):
            out = np.where(fixed, out, cv2.blur(out, (3, 3)))
    return np.asarray(np.where(known, values, out))


def _hills(shape: tuple[int, ...], seed: int) -> F64:
    """Smooth noise in about [-0.3, 1]."""
    rng = np.random.default_rng([seed, 7])
    out = np.zeros(shape)
    for cells, gain in ((12, 0.3), (30, 0.7)):
        coarse = rng.uniform(-0.3, 1.0, (max(shape[0] // cells, 2), max(shape[1] // cells, 2)))
        out += gain * cv2.resize(coarse, shape[::-1], interpolation=cv2.INTER_CUBIC)
    return out


def _flatten_blocks(height: F64, far: NDArray[np.bool_]) -> F64:
    """Move the nodes of blocks far from roads onto the two triangles that are drawn for the block."""
    i, j = (BLOCK * k[:, None, None] for k in np.nonzero(coarse_blocks(far)))
    a, b = np.meshgrid(np.arange(BLOCK + 1), np.arange(BLOCK + 1), indexing="ij")
    u, v = a / BLOCK, b / BLOCK
    z00, z10 = height[i, j], height[i + BLOCK, j]
    z01, z11 = height[i, j + BLOCK], height[i + BLOCK, j + BLOCK]
    lower, upper = z00 + u * (z10 - z00) + v * (z11 - z10), z00 + u * (z11 - z01) + v * (z01 - z00)
    height[i + a, j + b] = np.where(u > v, lower, upper)
    return height


def coarse_blocks(far: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask of the blocks whose nodes are all far from roads."""
    blocks = ((far.shape[0] - 1) // BLOCK, (far.shape[1] - 1) // BLOCK)
    out = np.ones(blocks, dtype=bool)
    for i in range(BLOCK + 1):
        for j in range(BLOCK + 1):
            out &= far[i : i + blocks[0] * BLOCK : BLOCK, j : j + blocks[1] * BLOCK : BLOCK]
    return out


def draw(field: HeightField, far: NDArray[np.bool_], soup: QuadSoup) -> None:
    """Add the terrain: coarse blocks far from roads and on even ground, single cells elsewhere.

    For far cameras there is a coarse copy, which is lowered where the terrain has single cells.
    """
    flat = coarse_blocks(far) | _even_blocks(field.height)
    fine = ~np.repeat(np.repeat(flat, BLOCK, axis=0), BLOCK, axis=1)
    i, j = np.nonzero(fine)
    _add(field, i, j, 1, soup)
    i, j = np.nonzero(flat)
    _add(field, i * BLOCK, j * BLOCK, BLOCK, soup)
    i, j = np.indices(flat.shape).reshape(2, -1)
    lowest = _min_filter(field.height, BLOCK + 1)  # never above the roads beside the fine terrain
    coarse = HeightField(field.origin, field.step_m, np.where(far, field.height, lowest - FAR_SUNK_M))
    _add(coarse, i * BLOCK, j * BLOCK, BLOCK, soup, Material.GRASS_FAR)


def _even_blocks(height: F64) -> NDArray[np.bool_]:
    """Mask of the blocks whose nodes lie within `EVEN_M` of the two triangles between the block's corners."""
    blocks = ((height.shape[0] - 1) // BLOCK, (height.shape[1] - 1) // BLOCK)

    def nodes(i: int, j: int) -> F64:
        return height[i : i + blocks[0] * BLOCK : BLOCK, j : j + blocks[1] * BLOCK : BLOCK][: blocks[0], : blocks[1]]

    z00, z10, z01, z11 = nodes(0, 0), nodes(BLOCK, 0), nodes(0, BLOCK), nodes(BLOCK, BLOCK)
    out = np.ones(blocks, dtype=bool)
    for i in range(BLOCK + 1):
        for j in range(BLOCK + 1):
            u, v = i / BLOCK, j / BLOCK
            flat = u * (z10 - z00) + v * (z11 - z10) if u > v else u * (z11 - z01) + v * (z01 - z00)
            out &= np.abs(z00 + flat - nodes(i, j)) < EVEN_M
    return out


def _add(
    field: HeightField, i: NDArray[np.int64], j: NDArray[np.int64], size: int, soup: QuadSoup,
    material: Material = Material.GRASS,
) -> None:  # fmt: skip
    nodes = [(i, j), (i + size, j), (i + size, j + size), (i, j + size)]
    xy = [np.stack([a, b], axis=1) * field.step_m + field.origin for a, b in nodes]
    quads = np.stack([np.column_stack([p, field.height[a, b]]) for p, (a, b) in zip(xy, nodes, strict=True)], axis=1)
    slope = np.stack(list(np.gradient(field.height, field.step_m)), axis=-1)
    normals = np.stack([np.column_stack([-slope[a, b], np.ones(len(a))]) for a, b in nodes], axis=1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    soup.add(material, SemanticTag.TERRAIN, quads, normals, quads[..., :2].copy())
