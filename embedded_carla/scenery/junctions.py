"""Paves the gaps between the connecting roads of a junction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from embedded_carla.scene import F64
from embedded_carla.scenery.ground import TriangleIndex
from embedded_carla.scenery.occupancy import Raster
from embedded_carla.scenery.surfaces import Strip, triangles_of
from embedded_carla.scenery.terrain import road_samples

PIXEL_M = 0.125
WIDEST_GAP_M = 8.0  # a wider hole is an island, which is not paved
BELOW_LANES_M = 0.01
PATCH_PIXELS = 8  # edge of a paving quad
GROW_PIXELS = 2  # holes are enlarged by this much, because filling a polygon marks all pixels that it touches
SAME_JUNCTION_M = 4.0  # roads further above or below are on another level


def gap_quads(made: Sequence[Strip]) -> tuple[F64, NDArray[np.int32]]:
    """Quads (n, 4, 3) that pave the holes inside junctions, and their road indices (n,).

    Connecting roads overlap in most of a junction but leave holes in its middle. A hole is paved if it is narrower than
    an island. The quads lie BELOW_LANES_M lower than the lanes, so that the lanes are drawn above them.
    """
    by_junction: dict[int, list[Strip]] = defaultdict(list)
    for strip in made:
        if strip.grid.road.junction != -1 and strip.keep.any():
            by_junction[strip.grid.road.junction].append(strip)
    boxes = np.array([_box(strip) for strip in made])
    patches = [(_patches(group, made, boxes), group[0].grid.road_index) for group in by_junction.values()]
    quads = [quads for quads, _ in patches]
    road = [np.full(len(quads), index, dtype=np.int32) for quads, index in patches]
    if not quads:
        return np.zeros((0, 4, 3)), np.zeros(0, dtype=np.int32)
    return np.concatenate(quads), np.concatenate(road)


def _box(strip: Strip) -> F64:
    points = np.concatenate([strip.left[:, :2], strip.right[:, :2]])
    return np.concatenate([points.min(axis=0), points.max(axis=0)])


def _patches(group: Sequence[Strip], made: Sequence[Strip], boxes: F64) -> F64:
    quads = np.concatenate([strip.quads() for strip in group])
    low, high = quads[..., :2].min(axis=(0, 1)) - 1.0, quads[..., :2].max(axis=(0, 1)) + 1.0
    raster = Raster.around(low, high, PIXEL_M)
    near = np.all(boxes[:, :2] <= high, axis=1) & np.all(boxes[:, 2:] >= low, axis=1)
    level = float(np.median(quads[..., 2]))
    for k in np.flatnonzero(near).tolist():  # roads outside the junction close the holes at its edge
        close = np.abs(made[k].left[:, 2] - level).min() < SAME_JUNCTION_M
        if close:
            raster.fill(made[k].quads())
    holes = _narrow_holes(
        np.asarray(cv2.erode(raster.mask, np.ones((2 * GROW_PIXELS + 1,) * 2, dtype=np.uint8)), dtype=np.uint8)
    )
    rows, columns = (n - n % PATCH_PIXELS for n in holes.shape)
    tiles = holes[:rows, :columns].reshape(rows // PATCH_PIXELS, PATCH_PIXELS, columns // PATCH_PIXELS, PATCH_PIXELS)
    row, column = np.nonzero(tiles.any(axis=(1, 3)))
    if not len(row):
        return np.zeros((0, 4, 3))
    corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    xy = (np.stack([column, row], axis=1)[:, None] + corner) * (PATCH_PIXELS * PIXEL_M) + raster.origin
    return np.concatenate([xy, _height(group, xy)[..., None]], axis=-1)


def _narrow_holes(mask: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Mask of the free pixels in enclosed holes with an inscribed width below `WIDEST_GAP_M`."""
    count, label = cv2.connectedComponents((mask == 0).astype(np.uint8), connectivity=4)
    inside = cv2.distanceTransform((mask == 0).astype(np.uint8), cv2.DIST_L2, 5) * PIXEL_M
    reach = np.zeros(count, dtype=inside.dtype)
    np.maximum.at(reach, label.ravel(), inside.ravel())
    paved = 2.0 * reach < WIDEST_GAP_M
    paved[np.unique(np.concatenate([label[0], label[-1], label[:, 0], label[:, -1]]))] = False
    paved[0] = False  # the roads themselves
    return np.asarray(paved[label])


def _height(group: Sequence[Strip], xy: F64) -> F64:
    """Heights (n, 4): just below a lane if there is one, else interpolated from nearby lanes by inverse distance."""
    flat = [strip for strip in group if not strip.surface.raised] or list(group)
    samples = road_samples(flat, 2.0)
    corners, index = np.unique(xy.reshape(-1, 2).round(6), axis=0, return_inverse=True)
    distance = np.linalg.norm(corners[:, None] - samples[None, :, :2], axis=2)
    weight = 1.0 / (distance + 0.05) ** 4
    z = (weight @ samples[:, 2]) / weight.sum(axis=1)
    lanes = TriangleIndex(triangles_of(np.concatenate([strip.quads() for strip in flat])))
    lane_z, _ = lanes.below(np.column_stack([corners, z]))
    z = np.where(np.abs(lane_z - z) < SAME_JUNCTION_M, lane_z, z)
    return np.asarray((z - BELOW_LANES_M)[index.reshape(-1)].reshape(xy.shape[:2]))
