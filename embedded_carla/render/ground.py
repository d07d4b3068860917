"""Static meshes: merged by material and tag, cut into tiles, culled and drawn as ranges of one index buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.frame import Camera
from embedded_carla.render.programs import SURFACE_UNIT, Programs
from embedded_carla.render.textures import SurfaceTextures
from embedded_carla.scene import Material, Mesh

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
TILE_M = 48.0


@dataclass(frozen=True, slots=True)
class Look:
    """How a material is shaded: the surface define and texture, linear albedo, draw distance, depth pull, share of
    water soaked, further defines, width of the tiles that are culled, distance within which nothing is drawn."""

    surface: str
    albedo: tuple[float, float, float]
    far_m: float
    towards_eye: float = 0.0
    soaks: float = 1.0
    defines: tuple[str, ...] = ()
    tile_m: float = TILE_M
    near_m: float = 0.0


LOOKS: dict[Material, Look] = {
    Material.ASPHALT: Look("ASPHALT", (0.092, 0.0915, 0.092), 900.0, defines=("TRACKS",)),
    Material.ASPHALT_PLAIN: Look("ASPHALT", (0.092, 0.0915, 0.092), 900.0),
    Material.MARKING_WHITE: Look("MARKING", (0.78, 0.78, 0.76), 250.0, 0.012),
    Material.MARKING_YELLOW: Look("MARKING", (0.80, 0.46, 0.04), 250.0, 0.012),
    Material.CROSSWALK: Look("MARKING", (0.70, 0.70, 0.68), 200.0, 0.010),
    Material.KERB: Look("STONE", (0.33, 0.325, 0.315), 250.0, 0.0, 0.7),
    Material.PAVEMENT: Look("PAVING", (0.27, 0.255, 0.235), 500.0, 0.0, 0.8),
    Material.CONCRETE: Look("STONE", (0.34, 0.33, 0.31), 900.0, 0.0, 0.6),
    Material.GRASS: Look("GRASS", (0.074, 0.090, 0.032), 260.0, 0.0, 0.35),
    Material.GRASS_FAR: Look("GRASS", (0.074, 0.090, 0.032), 1500.0, 0.0, 0.35, tile_m=64.0, near_m=200.0),
    Material.SOIL: Look("GRASS", (0.20, 0.145, 0.085), 1400.0, 0.0, 0.5),
    Material.HILL: Look("HILL", (0.052, 0.078, 0.030), 1e9, 0.0, 0.2, tile_m=900.0),
    Material.FACADE: Look("STONE", (0.45, 0.40, 0.35), 900.0, 0.0, 0.2),
    Material.METAL: Look("STONE", (0.42, 0.43, 0.44), 400.0, 0.0, 0.2),
    Material.FOLIAGE: Look("GRASS", (0.06, 0.12, 0.03), 500.0, 0.0, 0.2),
    Material.BARK: Look("STONE", (0.10, 0.075, 0.055), 300.0, 0.0, 0.2),
}
TEXTURES = {"HILL": "GRASS"}  # surfaces that look at the texture of another one


class GroundGroup:
    """All triangles of one material and tag."""

    def __init__(self, ctx: Any, look: Look, tag: int, meshes: Sequence[Mesh]) -> None:
        self.look = look
        self.tag = tag
        vertices, triangles = _joined(meshes)
        order, starts, counts = _tiles(vertices[:, :3].astype(np.float64), triangles, look.tile_m)
        triangles = triangles[order]
        self._first, self._count = starts * 3, counts * 3
        self._centre, self._radius = _spheres(vertices[:, :3].astype(np.float64), triangles, starts, counts)
        self._ctx = ctx
        self._vertices = ctx.buffer(vertices.tobytes())
        self._indices = ctx.buffer(np.ascontiguousarray(triangles, dtype=np.uint32).tobytes())
        self._arrays: dict[int, Any] = {}

    def draw(self, programs: Programs, textures: SurfaceTextures, camera: Camera, defines: tuple[str, ...]) -> None:
        """Draw the tiles in view; neighbours in the buffer join to one call."""
        seen = camera.sees(self._centre, self._radius, self.look.far_m)
        if self.look.near_m > 0.0:
            seen &= np.linalg.norm(self._centre - camera.eye, axis=1) + self._radius > self.look.near_m
        visible = np.flatnonzero(seen)
        if len(visible) == 0:
            return
        look = self.look
        own = (f"SURFACE_{look.surface}", f"SOAKS {look.soaks}", *look.defines)
        program = programs.get("ground", "ground", defines + own)
        if "surface" in program:
            textures.use(TEXTURES.get(look.surface, look.surface), SURFACE_UNIT)
        if "towards_eye" in program:
            program["towards_eye"].value = self.look.towards_eye
        if "base_colour" in program:
            program["base_colour"].value = self.look.albedo
        if "tag" in program:
            program["tag"].value = self.tag
        array = self._arrays.get(program.glo)
        if array is None:
            content = [(self._vertices, "3f 3f 2f", "in_position", "in_normal", "in_uv")]
            array = self._ctx.vertex_array(program, content, self._indices, skip_errors=True)
            self._arrays[program.glo] = array
        breaks = np.flatnonzero(np.diff(visible) > 1) + 1
        for run in np.split(visible, breaks):
            first = int(self._first[run[0]])
            array.render(vertices=int(self._first[run[-1]] + self._count[run[-1]]) - first, first=first)

    def release(self) -> None:
        for array in self._arrays.values():
            array.release()
        self._vertices.release()
        self._indices.release()


def ground_groups(ctx: Any, meshes: Sequence[Mesh]) -> list[GroundGroup]:
    """One group per material and tag, markings last so that they win over the road at equal depth."""
    by_key: dict[tuple[Material, int], list[Mesh]] = {}
    for mesh in meshes:
        if len(mesh.triangles):
            by_key.setdefault((Material(mesh.material), int(mesh.tag)), []).append(mesh)
    order = list(LOOKS)  # roads hide the soil under them
    keys = sorted(by_key, key=lambda key: (LOOKS[key[0]].towards_eye, order.index(key[0]), key[1]))
    return [GroundGroup(ctx, LOOKS[material], tag, by_key[(material, tag)]) for material, tag in keys]


def _joined(meshes: Sequence[Mesh]) -> tuple[NDArray[np.float32], I64]:
    """(N, 8) position, normal, uv and (M, 3) triangles of all `meshes`."""
    blocks, faces, count = [], [], 0
    for mesh in meshes:
        blocks.append(np.concatenate([mesh.vertices, mesh.normals, mesh.uv], axis=1).astype(np.float32))
        faces.append(mesh.triangles.astype(np.int64) + count)
        count += len(mesh.vertices)
    return _welded(np.concatenate(blocks), np.concatenate(faces))


def _welded(vertices: NDArray[np.float32], triangles: I64) -> tuple[NDArray[np.float32], I64]:
    """The same triangles with equal vertices (to the bit) held once, found by a 64-bit hash."""
    words = np.ascontiguousarray(vertices).view(np.uint32).astype(np.uint64)
    key = np.zeros(len(vertices), dtype=np.uint64)
    for column in words.T:
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)  # as they came: neighbours stay together in memory
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vertices[first[order]], rank[place.reshape(-1)][triangles]


def _tiles(points: F64, triangles: I64, tile_m: float) -> tuple[I64, I64, I64]:
    """The order that sorts triangles by tile (rows snake, so neighbours stay together), tile starts and counts."""
    middle = points[triangles].mean(axis=1)
    cell = np.floor(middle[:, :2] / tile_m).astype(np.int64)
    cell -= cell.min(axis=0)
    width = int(cell[:, 0].max()) + 1
    x = np.where(cell[:, 1] % 2 == 0, cell[:, 0], width - 1 - cell[:, 0])
    key = cell[:, 1] * width + x
    order = np.argsort(key, kind="stable")
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    return order, starts.astype(np.int64), counts.astype(np.int64)


def _spheres(points: F64, triangles: I64, starts: I64, counts: I64) -> tuple[F64, F64]:
    """Bounding spheres of the tiles: centres (T, 3), radii (T,)."""
    corners = points[triangles]
    low = np.minimum.reduceat(corners.min(axis=1), starts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1), starts, axis=0)
    return (low + high) / 2.0, np.linalg.norm(high - low, axis=1) / 2.0
