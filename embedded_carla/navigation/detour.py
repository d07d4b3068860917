"""Encodes a polygon mesh as a Detour navigation mesh file, in the form that CARLA's client reads.

The layout is Detour's navigation mesh, version 7, with one tile, behind the "MSET" header of Recast's samples.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.navigation.areas import Area
from embedded_carla.navigation.polygons import MOST_CORNERS, PolygonMesh

FLAGS = {Area.SIDEWALK: 0x02, Area.CROSSWALK: 0x04, Area.ROAD: 0x08, Area.GRASS: 0x10}
WALKER_HEIGHT_M, WALKER_RADIUS_M, WALKER_CLIMB_M = 1.8, 0.3, 0.4
MOST_VERTICES, MOST_POLYGONS = 0xFFFE, 0x7FFE

_SET_MAGIC = int.from_bytes(b"MSET", "big")
_TILE_MAGIC = int.from_bytes(b"DNAV", "big")
_SET_HEADER = struct.Struct("<3i3f2f2i")
_TILE_REFERENCE = struct.Struct("<Ii")
_TILE_HEADER = struct.Struct("<5iI9i10f")
_NO_LINK = 0xFFFFFFFF
_LINK_BYTES = 12
_POLYGON = np.dtype(
    [("link", "<u4"), ("vertices", "<u2", MOST_CORNERS), ("neighbours", "<u2", MOST_CORNERS), ("flags", "<u2"),
     ("count", "u1"), ("area", "u1")]
)  # fmt: skip
_DETAIL = np.dtype([("vertex", "<u4"), ("triangle", "<u4"), ("vertices", "u1"), ("triangles", "u1"), ("pad", "<u2")])
_NODE = np.dtype([("low", "<u2", 3), ("high", "<u2", 3), ("index", "<i4")])
_EDGE_AB, _EDGE_BC, _EDGE_CA = 1, 4, 16  # boundary flags of a detail triangle


def encode(mesh: PolygonMesh) -> bytes:
    """The file's bytes; empty for an empty mesh. Raises ValueError for a mesh too large for one tile."""
    if not mesh.polygons:
        return b""
    if len(mesh.vertices) > MOST_VERTICES or len(mesh.polygons) > MOST_POLYGONS:
        raise ValueError(f"a navigation mesh of {len(mesh.polygons)} polygons does not fit into one tile")
    vertices = mesh.vertices[:, [0, 2, 1]].astype(np.float32)  # Detour's second axis points up
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    low[1], high[1] = low[1] - 1.0, high[1] + 1.0
    details, triangles = _details(mesh.polygons)
    corners = sum(len(p) for p in mesh.polygons)
    scale = 65_000.0 / float((high - low).max())
    tree = _tree(vertices, mesh.polygons, low, scale)
    header = _TILE_HEADER.pack(
        _TILE_MAGIC, 7, 0, 0, 0, 0,
        len(mesh.polygons), len(vertices), corners, len(details), 0, len(triangles), len(tree), 0, len(mesh.polygons),
        WALKER_HEIGHT_M, WALKER_RADIUS_M, WALKER_CLIMB_M, *low.tolist(), *high.tolist(), scale,
    )  # fmt: skip
    parts = (
        header, vertices.tobytes(), _polygons(mesh).tobytes(), bytes(_LINK_BYTES * corners), details.tobytes(),
        triangles.tobytes(), tree.tobytes(),
    )  # fmt: skip
    size = sum(len(part) for part in parts)
    bits = max(len(mesh.polygons) - 1, 1).bit_length()
    wide, deep = (high - low)[[0, 2]].tolist()
    head = _SET_HEADER.pack(_SET_MAGIC, 1, 1, *low.tolist(), wide + 1.0, deep + 1.0, 1, 1 << bits)
    return b"".join((head, _TILE_REFERENCE.pack(1 << bits, size), *parts))


def _polygons(mesh: PolygonMesh) -> NDArray[np.void]:
    """Polygon records: corners, neighbours over each edge (index + 1, 0 for none), flags and areas."""
    owner = {edge: i for i, p in enumerate(mesh.polygons) for edge in zip(p, [*p[1:], p[0]], strict=True)}
    out = np.zeros(len(mesh.polygons), dtype=_POLYGON)
    for i, p in enumerate(mesh.polygons):
        out["vertices"][i, : len(p)] = p
        out["neighbours"][i, : len(p)] = [owner.get((b, a), -1) + 1 for a, b in zip(p, [*p[1:], p[0]], strict=True)]
    out["link"] = _NO_LINK
    out["count"] = [len(p) for p in mesh.polygons]
    out["area"] = mesh.areas
    out["flags"] = [FLAGS[area] for area in mesh.areas]
    return out


def _details(polygons: Sequence[tuple[int, ...]]) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
    """Detail meshes: each polygon as a fan of triangles of its own corners. Unflagged boundaries crash the client."""
    details = np.zeros(len(polygons), dtype=_DETAIL)
    counts = np.array([len(p) - 2 for p in polygons])
    details["triangles"] = counts
    details["triangle"] = np.cumsum(counts) - counts
    triangles = []
    for count in counts.tolist():
        for k in range(count):
            flags = _EDGE_BC | (_EDGE_AB if k == 0 else 0) | (_EDGE_CA if k == count - 1 else 0)
            triangles.append((0, k + 1, k + 2, flags))
    return details, np.array(triangles, dtype=np.uint8)


def _tree(
    vertices: NDArray[np.float32], polygons: Sequence[tuple[int, ...]], low: NDArray[np.float32], scale: float
) -> NDArray[np.void]:
    """Bounding box tree in depth-first order: a leaf holds its polygon, an inner node minus the size of its subtree."""
    boxes = np.array([[vertices[list(p)].min(axis=0), vertices[list(p)].max(axis=0)] for p in polygons])
    boxes = (boxes - low) * scale + np.array([[0.0], [1.0]])
    nodes: list[tuple[NDArray[np.float64], NDArray[np.float64], int]] = []

    def add(chosen: NDArray[np.intp]) -> None:
        bounds = boxes[chosen, 0].min(axis=0), boxes[chosen, 1].max(axis=0)
        if len(chosen) == 1:
            nodes.append((*bounds, int(chosen[0])))
            return
        here = len(nodes)
        nodes.append((*bounds, 0))
        axis = int(np.argmax(bounds[1] - bounds[0]))
        order = chosen[np.argsort(boxes[chosen, 0, axis], kind="stable")]
        add(order[: len(order) // 2])
        add(order[len(order) // 2 :])
        nodes[here] = (*bounds, here - len(nodes))

    add(np.arange(len(polygons)))
    out = np.zeros(len(nodes), dtype=_NODE)
    out["low"], out["high"] = [n[0] for n in nodes], [n[1] for n in nodes]
    out["index"] = [n[2] for n in nodes]
    return out
