"""Walkable areas in the plane: pavements, crosswalks, the carriageway beside pavements, grassed medians.

Everything is cut from the strips that are drawn, level by level. Roads that pass over one another are on different
levels, and each level is a plane without overlaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from shapely.geometry import LineString, Polygon
from shapely.geometry.base import BaseGeometry

from embedded_carla.scene import F64
from embedded_carla.scenery.ground import TriangleIndex
from embedded_carla.scenery.surfaces import ASPHALT, Strip, triangles_of
from embedded_carla.types import SemanticTag

GRID_M = 0.01  # all corners lie on this grid, so that neighbours share them exactly
SEAM_M = 0.15  # gaps up to twice this between pavements are closed
KERB_CLEARANCE_M = 0.3  # a walker's half width: feet stay this far from the carriageway
REACH_M = 4.0  # largest distance between a crosswalk's end and the pavement
BEND_M = 0.02
BEND_PAST_M = 0.05  # how far lines across a strip extend past its edges, to cut them for certain
LEVEL_M = 2.5  # strips that overlap with more height than this between them are on different levels
CELL_M = 2.0
KERB_EDGE_M = 0.02  # corners this near a pavement's edge take its height, whichever side rounding put them
_HIGHEST_M = 1e6


class Area(IntEnum):
    """CARLA's area types of navigation polygons."""

    SIDEWALK = 1
    CROSSWALK = 2
    ROAD = 3
    GRASS = 4


@dataclass(frozen=True, slots=True)
class Level:
    """Areas that do not overlap, and the surface that they lie on."""

    areas: tuple[tuple[Area, BaseGeometry], ...]
    bends: BaseGeometry  # lines across the roads where their slope changes: no polygon may span one
    surface: TriangleIndex
    corners: F64  # (n, 3) corners of the surface

    def heights(self, xy: F64) -> F64:
        """Height (n,) at `xy` (n, 2): the highest surface within `KERB_EDGE_M`, else that of the nearest corner."""
        around = KERB_EDGE_M * np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        points = np.full((len(around), len(xy), 3), _HIGHEST_M)
        points[..., :2] = xy + around[:, None]
        z = self.surface.below(points.reshape(-1, 3))[0].reshape(len(around), -1).max(axis=0)
        missing = ~np.isfinite(z)
        if missing.any():
            z[missing] = self.corners[cKDTree(self.corners[:, :2]).query(xy[missing])[1], 2]
        return np.asarray(z)


def levels(strips: Sequence[Strip], crosswalks: Sequence[F64]) -> list[Level]:
    """The levels of a map; none if there is no pavement. `crosswalks` are outlines (n, 3)."""
    beside = _beside_pavements(strips)
    number = _level_numbers(beside)
    return [
        level
        for k in range(max(number, default=-1) + 1)
        if (level := _level([s for s, n in zip(beside, number, strict=True) if n == k], crosswalks)) is not None
    ]


def _is_pavement(strip: Strip) -> bool:
    return strip.surface.tag == SemanticTag.SIDEWALKS


def _beside_pavements(strips: Sequence[Strip]) -> list[Strip]:
    """The strips of roads with a pavement, and of the junctions that have one anywhere."""
    roads = {s.grid.road.road_id for s in strips if _is_pavement(s)}
    junctions = {s.grid.road.junction for s in strips if _is_pavement(s)} - {-1}
    return [s for s in strips if s.keep.any() and (s.grid.road.road_id in roads or s.grid.road.junction in junctions)]


def _level_numbers(strips: Sequence[Strip]) -> list[int]:
    """Level of each strip, assigned greedily: the lowest in which it lies above or below no other strip."""
    owner, cell, z = _cells(strips)
    above: dict[int, set[int]] = {}
    order = np.argsort(cell, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(cell[order])) + 1):
        if len(group) and np.ptp(z[group]) > LEVEL_M:
            for i in group.tolist():
                for j in group[np.abs(z[group] - z[i]) > LEVEL_M].tolist():
                    above.setdefault(int(owner[i]), set()).add(int(owner[j]))
    number: list[int] = []
    for i in range(len(strips)):
        taken = {number[j] for j in above.get(i, ()) if j < i}
        number.append(next(k for k in range(len(strips) + 1) if k not in taken))
    return number


def _cells(strips: Sequence[Strip]) -> tuple[NDArray[np.int64], NDArray[np.int64], F64]:
    """Owner, cell and height of points all over the strips, one point for each strip and cell."""
    found = []
    for i, strip in enumerate(strips):
        quads = strip.quads()
        size = float(np.linalg.norm(np.diff(quads[:, :, :2], axis=1), axis=2).max())
        t = np.linspace(0.0, 1.0, max(int(size / CELL_M), 1) + 1)
        u, v = (w[:, None, None] for w in (a.ravel() for a in np.meshgrid(t, t)))
        left, right = quads[:, 0] + u * (quads[:, 3] - quads[:, 0]), quads[:, 1] + u * (quads[:, 2] - quads[:, 1])
        points = (left + v * (right - left)).reshape(-1, 3)
        at = np.floor(points[:, :2] / CELL_M).astype(np.int64)
        key, first = np.unique(at[:, 0] * 1_000_003 + at[:, 1], return_index=True)
        found.append((np.full(len(key), i), key, points[first, 2]))
    if not found:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    owner, cell, z = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return owner, cell, z


def _level(strips: Sequence[Strip], crosswalks: Sequence[F64]) -> Level | None:
    pavement = _union([s for s in strips if _is_pavement(s)])
    if pavement.is_empty:
        return None
    pavement = pavement.buffer(SEAM_M, join_style="mitre").buffer(-SEAM_M, join_style="mitre")
    carriageway = _union([s for s in strips if s.surface == ASPHALT])
    median = _union([s for s in strips if s.surface.tag == SemanticTag.TERRAIN])
    quads = np.concatenate([s.quads() for s in strips])
    surface, corners = TriangleIndex(triangles_of(quads)), quads.reshape(-1, 3)
    walk = _on_grid(pavement.difference(carriageway.buffer(KERB_CLEARANCE_M, join_style="mitre")))
    z_of = Level((), Polygon(), surface, corners).heights
    crossings = [
        c for outline in crosswalks
        if abs(z_of(outline[:1, :2])[0] - outline[0, 2]) < LEVEL_M and (c := _crossing(outline, walk)) is not None
    ]  # fmt: skip
    crossing = _on_grid(shapely.union_all(crossings).difference(walk))
    taken = shapely.union_all([walk, crossing])
    road = _on_grid(shapely.union_all([carriageway, pavement]).difference(taken))
    grass = _on_grid(median.difference(shapely.union_all([taken, road])))
    areas = ((Area.SIDEWALK, walk), (Area.CROSSWALK, crossing), (Area.ROAD, road), (Area.GRASS, grass))
    filled = tuple((area, shape) for area, shape in areas if not shape.is_empty)
    return Level(filled, shapely.union_all([line for s in strips for line in _bends(s)]), surface, corners)


def _bends(strip: Strip) -> Iterator[LineString]:
    """Yield lines across the strip between which its height is linear to within `BEND_M`."""
    points = 0.5 * (strip.left + strip.right)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points[:, :2], axis=0), axis=1))])
    stack = [(0, len(s) - 1)]
    while stack:
        first, last = stack.pop()
        inner = slice(first + 1, last)
        error = np.abs(points[inner, 2] - np.interp(s[inner], s[[first, last]], points[[first, last], 2]))
        if len(error) and error.max() > BEND_M:
            k = first + 1 + int(error.argmax())
            left, right = strip.left[k, :2], strip.right[k, :2]
            past = BEND_PAST_M * (left - right) / max(float(np.linalg.norm(left - right)), BEND_PAST_M)
            yield LineString([left + past, right - past])
            stack += [(first, k), (k, last)]


def _on_grid(shape: BaseGeometry) -> BaseGeometry:
    return shapely.set_precision(shape, GRID_M)


def _union(strips: Sequence[Strip]) -> BaseGeometry:
    if not strips:
        return Polygon()
    quads = np.concatenate([s.quads() for s in strips])[..., :2]
    return shapely.union_all(shapely.make_valid(shapely.polygons(quads)), grid_size=GRID_M)


def _crossing(outline: F64, walk: BaseGeometry) -> BaseGeometry | None:
    """The crosswalk, lengthened until it meets pavement at both ends; None if an end finds none."""
    shape = Polygon(outline[:, :2])
    box = np.asarray(shapely.get_coordinates(shape.minimum_rotated_rectangle)[:4])
    if np.linalg.norm(box[1] - box[0]) < np.linalg.norm(box[2] - box[1]):
        box = np.roll(box, -1, axis=0)
    way = (box[1] - box[0]) / np.linalg.norm(box[1] - box[0])
    middle = box.mean(axis=0)
    half = 0.5 * float(np.linalg.norm(box[1] - box[0])) + REACH_M
    whole = LineString([middle - half * way, middle + half * way])
    across = float(np.linalg.norm(box[2] - box[1]))
    free = whole.difference(walk)
    inner = min(shapely.get_parts(free), key=lambda part: part.distance(shapely.Point(middle)), default=None)
    if inner is None or any(shapely.Point(end).distance(walk) > GRID_M for end in inner.coords):
        return None
    # Reach a little into the pavement on both sides, so that skewed ends meet it over their whole width.
    reach = inner.length + across
    ends = np.asarray(inner.coords)
    start = 0.5 * (ends[0] + ends[-1]) - 0.5 * reach * way
    side = 0.5 * across * np.array([-way[1], way[0]])
    stripe = Polygon([start + side, start + reach * way + side, start + reach * way - side, start - side])
    parts = shapely.get_parts(stripe.difference(walk))
    chosen = max(parts, key=lambda part: part.intersection(inner).length)
    return shapely.union_all([chosen, shape.intersection(stripe)])
