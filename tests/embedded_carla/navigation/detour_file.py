"""Reads a navigation mesh as CARLA's client does: "MSET", one tile of Detour's version 7."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIDEWALK, CROSSWALK, ROAD, GRASS = 1, 2, 3, 4
FLAGS = {SIDEWALK: 2, CROSSWALK: 4, ROAD: 8, GRASS: 16}


@dataclass(frozen=True, slots=True)
class Polygon:
    """`corners` (n, 3) x, y, z in CARLA's frame; `neighbours` index of the polygon over each edge, -1 for none."""

    corners: NDArray[np.float64]
    neighbours: tuple[int, ...]
    flags: int
    area: int

    @property
    def doubled_area(self) -> float:
        x, y = self.corners[:, 0], self.corners[:, 1]
        return float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


@dataclass(frozen=True, slots=True)
class Tree:
    """Quantised boxes (n, 2, 3) and the polygon, or minus the skip, of each node."""

    boxes: NDArray[np.int64]
    index: NDArray[np.int64]
    origin: NDArray[np.float64]
    scale: float


@dataclass(frozen=True, slots=True)
class File:
    polygons: tuple[Polygon, ...]
    details: tuple[tuple[tuple[int, ...], ...], ...]  # per polygon its triangles (a, b, c, flags)
    tree: Tree


def read(data: bytes) -> File:
    """Raises AssertionError where the client would refuse or crash."""
    magic, version, tiles, *origin, wide, deep, most_tiles, most_polygons = struct.unpack_from("<3i3f2f2i", data)
    assert (magic.to_bytes(4, "big"), version, tiles, most_tiles) == (b"MSET", 1, 1, 1)
    reference, size = struct.unpack_from("<Ii", data, 40)
    assert size == len(data) - 48
    assert reference == most_polygons  # salt 1, tile 0, polygon 0
    head = struct.unpack_from("<5iI9i3f6ff", data, 48)
    assert head[0].to_bytes(4, "big") == b"DNAV"
    assert head[1:5] == (7, 0, 0, 0)
    polygons, vertices, links, meshes, extra, triangles, nodes, jumps, _first_jump = head[6:15]
    assert (meshes, extra, jumps) == (polygons, 0, 0)
    assert polygons <= most_polygons
    low, high = np.array(head[18:21]), np.array(head[21:24])
    assert wide > high[0] - low[0]
    assert deep > high[2] - low[2]
    np.testing.assert_array_equal(low, origin)
    at = 148
    points = np.frombuffer(data, "<f4", 3 * vertices, at).reshape(-1, 3).astype(np.float64)[:, [0, 2, 1]]
    at += 12 * vertices
    found = [_polygon(data, at + 32 * i, points, polygons) for i in range(polygons)]
    at += 32 * polygons + 12 * links
    assert links >= sum(n >= 0 for p in found for n in p.neighbours)
    details = [_detail(data, at + 12 * i, at + 12 * polygons, found[i]) for i in range(polygons)]
    at += 12 * polygons + 4 * triangles
    raw = np.frombuffer(data, np.dtype([("box", "<u2", (2, 3)), ("index", "<i4")]), nodes, at)
    assert at + 16 * nodes == len(data)
    tree = Tree(raw["box"].astype(np.int64), raw["index"].astype(np.int64), low, head[24])
    return File(tuple(found), tuple(details), tree)


def _polygon(data: bytes, at: int, points: NDArray[np.float64], count: int) -> Polygon:
    link, *rest = struct.unpack_from("<I6H6HHBB", data, at)
    corners, area = rest[13], rest[14]
    assert link == 0xFFFFFFFF
    assert 3 <= corners <= 6
    neighbours = tuple(n - 1 for n in rest[6 : 6 + corners])
    assert all(n < count for n in neighbours)
    return Polygon(points[rest[:corners]], neighbours, rest[12], area)


def _detail(data: bytes, at: int, triangles: int, polygon: Polygon) -> tuple[tuple[int, ...], ...]:
    _, first, vertices, count, _ = struct.unpack_from("<IIBBH", data, at)
    assert vertices == 0
    assert count == len(polygon.corners) - 2
    return tuple(struct.unpack_from("<4B", data, triangles + 4 * (first + k)) for k in range(count))
