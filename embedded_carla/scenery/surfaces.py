"""Road, pavement and kerb surfaces of the lane sections, to draw and to stand on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from embedded_carla.opendrive.network import DRIVABLE
from embedded_carla.scene import F64, Material
from embedded_carla.scenery.grid import BEFORE_M, SectionGrid
from embedded_carla.scenery.ground import TriangleIndex
from embedded_carla.scenery.soup import QuadSoup, face_normals, ribbon
from embedded_carla.types import SemanticTag

KERB_HEIGHT_M = 0.15
KERB_WIDTH_M = 0.15
SKIRT_M = 0.6  # depth below the road to which faces at the outer edge reach into the terrain
SAME_LEVEL_M = 1.5
LANE_UV_M = 16.0  # texture offset per lane, with which shaders/ground_frag.glsl finds the lane's middle


@dataclass(frozen=True, slots=True)
class Surface:
    """Appearance of a lane type; `raised` surfaces are a kerb's height above the road."""

    material: Material
    tag: SemanticTag
    raised: bool = False


ASPHALT = Surface(Material.ASPHALT, SemanticTag.ROADS)
SURFACES: dict[str, Surface | None] = {
    "sidewalk": Surface(Material.PAVEMENT, SemanticTag.SIDEWALKS, raised=True),
    "walking": Surface(Material.PAVEMENT, SemanticTag.SIDEWALKS, raised=True),
    "curb": Surface(Material.KERB, SemanticTag.SIDEWALKS, raised=True),
    "median": Surface(Material.GRASS, SemanticTag.TERRAIN, raised=True),
    "border": Surface(Material.CONCRETE, SemanticTag.GROUND),
    "tram": Surface(Material.CONCRETE, SemanticTag.RAIL_TRACK),
    "rail": Surface(Material.SOIL, SemanticTag.RAIL_TRACK),
    "none": None,  # no surface: the terrain shows
}


def surface_of(kind: str) -> Surface | None:
    """The surface of a lane type, None if it has none; lane types that are not in OpenDRIVE 1.4 are paved."""
    return SURFACES.get(kind, ASPHALT)


@dataclass(frozen=True, slots=True)
class Strip:
    """Neighbouring lanes with one surface, between the border polylines `left` and `right` (n, 3), world, with height.

    `keep` (n - 1,) marks the steps along s that exist; `drivable` says whether one of the lanes is for traffic.
    """

    grid: SectionGrid
    first: int
    last: int  # borders of the grid, first < last
    surface: Surface
    drivable: bool
    left: F64
    right: F64
    keep: NDArray[np.bool_]

    def quads(self) -> F64:
        """The kept quads, (k, 4, 3)."""
        return ribbon(self.left, self.right)[self.keep]


def strips(grids: Sequence[SectionGrid]) -> list[Strip]:
    """The strips of all sections; in junctions, all strips but asphalt end at other roads' driving lanes."""
    made = [strip for grid in grids for strip in _section_strips(grid)]
    flat = np.concatenate([strip.quads() for strip in made if strip.drivable])
    lanes = TriangleIndex(triangles_of(flat))
    return [
        _clear_of(strip, lanes) if strip.surface != ASPHALT and strip.grid.road.junction != -1 else strip
        for strip in made
    ]


def triangles_of(quads: F64) -> F64:
    """Triangles (2 n, 3, 3) of quads (n, 4, 3)."""
    return quads[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)


def _section_strips(grid: SectionGrid) -> list[Strip]:
    kinds = [grid.kind(i) for i in range(len(grid.lanes))]
    out = []
    for surface, group in groupby(range(len(kinds)), key=lambda i: surface_of(kinds[i])):
        if surface is None:
            continue
        members = list(group)
        first, last = members[0], members[-1] + 1
        left, right = grid.points[first].copy(), grid.points[last].copy()
        if surface.raised:
            left[:, 2] += _height(grid, members[0])
            right[:, 2] += _height(grid, members[-1])
        width = grid.t[first] - grid.t[last]
        keep = ((width[:-1] > 0.01) | (width[1:] > 0.01)) & (np.diff(grid.s) > 2.0 * BEFORE_M)
        drivable = any(kinds[i] in DRIVABLE for i in members)
        out.append(Strip(grid, first, last, surface, drivable, left, right, keep))
    return out


def _height(grid: SectionGrid, lane: int) -> float:
    given = grid.section.lanes[grid.lanes[lane]].height
    return KERB_HEIGHT_M if given is None else max(given)


def _clear_of(strip: Strip, lanes: TriangleIndex) -> Strip:
    quads = ribbon(strip.left, strip.right)
    over = np.zeros(len(quads), dtype=bool)
    for weight in ((0.45, 0.45, 0.05, 0.05), (0.25, 0.25, 0.25, 0.25), (0.05, 0.05, 0.45, 0.45)):
        for side in (0.1, 0.5, 0.9):
            left, right = quads[:, [0, 3]], quads[:, [1, 2]]
            across = left + side * (right - left)
            at = (weight[0] + weight[1]) * across[:, 0] + (weight[2] + weight[3]) * across[:, 1]
            z, _ = lanes.below(at)
            over |= np.abs(at[:, 2] - z) < SAME_LEVEL_M
    return Strip(
        strip.grid, strip.first, strip.last, strip.surface, strip.drivable, strip.left, strip.right, strip.keep & ~over
    )


def draw(strip: Strip, soup: QuadSoup) -> None:
    """Add a strip's top surface and its kerbs, skirts and ends."""
    quads = strip.quads()
    if len(quads) == 0:
        return
    surface = strip.surface
    normals = np.repeat(_vertex_normals(strip)[:, None], 2, axis=1)
    normals = np.stack([normals[:-1, 0], normals[:-1, 1], normals[1:, 1], normals[1:, 0]], axis=1)[strip.keep]
    if surface == ASPHALT and strip.grid.road.junction == -1:
        _lanes(strip, normals, soup)
    else:
        material = Material.ASPHALT_PLAIN if surface == ASPHALT else surface.material
        soup.add(material, surface.tag, quads, normals, _uv(strip, quads))
    below = strips_beside(strip)
    for inner, edge, outward in ((below[0], strip.left, 1.0), (below[1], strip.right, -1.0)):
        if surface.raised and inner:
            _kerb(strip, edge, outward, soup)
        elif not inner:
            depth = SKIRT_M + (KERB_HEIGHT_M if surface.raised else 0.0)
            _face(strip, edge, outward, depth, Material.CONCRETE if surface.raised else Material.SOIL, soup)
    if surface.raised:
        _ends(strip, soup)


def _lanes(strip: Strip, normals: F64, soup: QuadSoup) -> None:
    """Add asphalt lane by lane: uv is s and the distance from the lane's middle, plus `LANE_UV_M` per lane."""
    grid = strip.grid
    for lane in range(strip.first, strip.last):
        half = 0.5 * (grid.t[lane] - grid.t[lane + 1])
        wide = (half[:-1] + half[1:] > 1e-3)[strip.keep]
        left, right = (np.stack([grid.s, LANE_UV_M * lane + sign * half], axis=1) for sign in (1.0, -1.0))
        quads, uv = (ribbon(a, b)[strip.keep][wide]
                     for a, b in ((grid.points[lane], grid.points[lane + 1]), (left, right)))  # fmt: skip
        material = Material.ASPHALT if grid.kind(lane) in DRIVABLE else Material.ASPHALT_PLAIN
        soup.add(material, SemanticTag.ROADS, quads, normals[wide], uv)


def strips_beside(strip: Strip) -> tuple[bool, bool]:
    """Whether there is another surface of the same section to the left, and to the right."""
    grid, last = strip.grid, len(strip.grid.lanes)
    left = strip.first > 0 and surface_of(grid.kind(strip.first - 1)) is not None
    return left, strip.last < last and surface_of(grid.kind(strip.last)) is not None


def _uv(strip: Strip, quads: F64) -> F64:
    """Texture coordinates along and across the road; in junctions x, y, so that overlapping roads look alike."""
    if strip.grid.road.junction != -1:
        return quads[..., :2].copy()
    s, t = strip.grid.s, strip.grid.t
    left, right = np.stack([s, t[strip.first]], axis=1), np.stack([s, t[strip.last]], axis=1)
    return np.stack([left[:-1], right[:-1], right[1:], left[1:]], axis=1)[strip.keep]


def _vertex_normals(strip: Strip) -> F64:
    """Smooth unit normals (n, 3) along the strip."""
    grid = strip.grid
    middle = 0.5 * (strip.left + strip.right)
    climb = np.gradient(middle[:, 2], np.maximum.accumulate(grid.s + 1e-9 * np.arange(len(grid.s))))
    across = strip.left - strip.right
    width = np.maximum(np.linalg.norm(across[:, :2], axis=1), 0.3)
    roll = across[:, 2] / width
    normal = np.concatenate(
        [-climb[:, None] * grid.forward - roll[:, None] * grid.leftward, np.ones((len(climb), 1))], axis=1
    )
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True))


def _kerb(strip: Strip, edge: F64, outward: float, soup: QuadSoup) -> None:
    """Add the kerb stone: a face down to the road, and a top laid over the pavement's edge."""
    _face(strip, edge, outward, KERB_HEIGHT_M + 0.02, Material.KERB, soup)
    inside = edge.copy()
    inside[:, :2] -= outward * KERB_WIDTH_M * strip.grid.leftward
    lift = np.array([0.0, 0.0, 0.004])
    top = ribbon(edge + lift, inside + lift)[strip.keep]
    soup.add(Material.KERB, strip.surface.tag, top, face_normals(top), top[..., :2].copy())


def _face(strip: Strip, edge: F64, outward: float, depth_m: float, material: Material, soup: QuadSoup) -> None:
    quads = ribbon(edge, edge - np.array([0.0, 0.0, depth_m]))[strip.keep]
    side = outward * strip.grid.leftward
    normal = np.concatenate([side, np.zeros((len(side), 1))], axis=1)
    normals = np.stack([normal[:-1], normal[:-1], normal[1:], normal[1:]], axis=1)[strip.keep]
    s = np.stack([strip.grid.s[:-1], strip.grid.s[:-1], strip.grid.s[1:], strip.grid.s[1:]], axis=1)[strip.keep]
    height = np.broadcast_to(np.array([depth_m, 0.0, 0.0, depth_m]), s.shape)
    tag = strip.surface.tag if strip.surface.raised else SemanticTag.GROUND
    soup.add(material, tag, quads, normals, np.stack([s, height], axis=-1))


def _ends(strip: Strip, soup: QuadSoup) -> None:
    """Close the raised strip wherever its kept steps begin and end."""
    kept = np.concatenate([[False], strip.keep, [False]])
    change = np.flatnonzero(kept[1:] != kept[:-1])
    left, right = strip.left[change], strip.right[change]
    down = np.array([0.0, 0.0, KERB_HEIGHT_M + 0.02])
    quads = np.stack([left, right, right - down, left - down], axis=1)
    sign = np.where(kept[change + 1], -1.0, 1.0)[:, None]
    normals = np.concatenate([sign * strip.grid.forward[change], np.zeros((len(change), 1))], axis=1)
    soup.add(Material.KERB, strip.surface.tag, quads, normals, quads[..., [0, 2]].copy())


def ground_parts(made: Sequence[Strip]) -> tuple[F64, NDArray[np.uint8], NDArray[np.int32]]:
    """Triangles (n, 3, 3), tags (n,) and road indices (n,) of all strips, for the ground."""
    quads = [strip.quads() for strip in made]
    counts = [2 * len(q) for q in quads]
    tag = np.repeat(np.array([strip.surface.tag for strip in made], dtype=np.uint8), counts)
    road = np.repeat(np.array([strip.grid.road_index for strip in made], dtype=np.int32), counts)
    return triangles_of(np.concatenate(quads)), tag, road
