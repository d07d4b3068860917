"""Static meshes: merged by material and tag, cut into tiles, culled and drawn as ranges of one index buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import moderngl
import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.culling.occlusion import find_hidden
from embedded_carla.render.culling.visibility import INDEX_COUNT, Commands, Tiles, tile_commands
from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import bounds_of
from embedded_carla.render.look import SurfaceLook
from embedded_carla.render.programs import SURFACE_UNIT, Programs
from embedded_carla.render.textures import SurfaceTextures
from embedded_carla.scene import Material, Mesh

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
TILE_M = 48.0


@dataclass(frozen=True, slots=True)
class MaterialShading:
    """Shading of a material: the surface define and texture, linear albedo, draw distance, depth offset towards the
    eye, fraction of water soaked up, further defines, width of the culling tiles, near limit of drawing."""

    surface: str
    albedo: tuple[float, float, float]
    far_m: float
    towards_eye: float = 0.0
    soaks: float = 1.0
    defines: tuple[str, ...] = ()
    tile_m: float = TILE_M
    near_m: float = 0.0

    def own_defines(self) -> tuple[str, ...]:
        """The shader's defines for this material."""
        return (f"SURFACE_{self.surface}", f"SOAKS {self.soaks}", *self.defines)


SHADINGS: dict[Material, MaterialShading] = {
    Material.ASPHALT: MaterialShading("ASPHALT", (0.092, 0.0915, 0.092), 900.0, defines=("TRACKS",)),
    Material.ASPHALT_PLAIN: MaterialShading("ASPHALT", (0.092, 0.0915, 0.092), 900.0),
    Material.MARKING_WHITE: MaterialShading("MARKING", (0.78, 0.78, 0.76), 250.0, 0.012),
    Material.MARKING_YELLOW: MaterialShading("MARKING", (0.80, 0.46, 0.04), 250.0, 0.012),
    Material.CROSSWALK: MaterialShading("MARKING", (0.70, 0.70, 0.68), 200.0, 0.010),
    Material.KERB: MaterialShading("STONE", (0.33, 0.325, 0.315), 250.0, 0.0, 0.7),
    Material.PAVEMENT: MaterialShading("PAVING", (0.27, 0.255, 0.235), 500.0, 0.0, 0.8),
    Material.CONCRETE: MaterialShading("STONE", (0.34, 0.33, 0.31), 900.0, 0.0, 0.6),
    Material.GRASS: MaterialShading("GRASS", (0.074, 0.090, 0.032), 260.0, 0.0, 0.35),
    Material.GRASS_FAR: MaterialShading("GRASS", (0.074, 0.090, 0.032), 1500.0, 0.0, 0.35, tile_m=64.0, near_m=200.0),
    Material.SOIL: MaterialShading("GRASS", (0.20, 0.145, 0.085), 1400.0, 0.0, 0.5),
    Material.HILL: MaterialShading("HILL", (0.052, 0.078, 0.030), 1e9, 0.0, 0.2, tile_m=900.0),
    Material.FACADE: MaterialShading("STONE", (0.45, 0.40, 0.35), 900.0, 0.0, 0.2),
    Material.METAL: MaterialShading("STONE", (0.42, 0.43, 0.44), 400.0, 0.0, 0.2),
    Material.FOLIAGE: MaterialShading("GRASS", (0.06, 0.12, 0.03), 500.0, 0.0, 0.2),
    Material.BARK: MaterialShading("STONE", (0.10, 0.075, 0.055), 300.0, 0.0, 0.2),
}
TEXTURES = {"HILL": "GRASS"}
"""Surfaces that use another surface's texture."""


class _Group:
    """All triangles of one material and tag: vertices (N, 8), triangles (M, 3) sorted by tile."""

    def __init__(self, shading: MaterialShading, tag: int, meshes: Sequence[Mesh]) -> None:
        self.shading, self.tag = shading, tag
        self.vertices, triangles = _joined(meshes)
        points = self.vertices[:, :3].astype(np.float64)
        order, starts, counts = _tiles(points, triangles, shading.tile_m)
        self.triangles = triangles[order]
        self.first, self.length = starts * 3, counts * 3
        low, high = _boxes(points, self.triangles, starts)
        self.centre, self.radius = (low + high) / 2.0, np.linalg.norm(high - low, axis=1) / 2.0
        self.bounds = bounds_of(self.centre, (high - low) / 2.0)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Prepared draw call of a group: the program's number, its vertex array, uniform values, texture name."""

    program: int
    array: Any
    uniforms: tuple[tuple[Any, bytes], ...]
    texture: str


class Ground:
    """All static meshes on the GPU; the tiles in view are drawn with one call per group."""

    def __init__(self, ctx: Any, meshes: Sequence[Mesh], look: SurfaceLook) -> None:
        self._ctx = ctx
        self._groups = groups = _groups(meshes, look)
        vertex = np.cumsum([0, *(len(g.vertices) for g in groups)]).tolist()
        index = np.cumsum([0, *(g.triangles.size for g in groups)]).tolist()
        vertices = [np.zeros((1, 8), dtype=np.float32), *(g.vertices for g in groups)]  # buffers must not be empty
        triangles = [np.zeros((1, 3), dtype=np.int64), *(g.triangles + 1 + vertex[k] for k, g in enumerate(groups))]
        self._vertices = ctx.buffer(np.concatenate(vertices).tobytes())
        self._indices = ctx.buffer(np.concatenate(triangles).astype(np.uint32).tobytes())
        centre = np.concatenate([np.zeros((0, 3)), *(g.centre for g in groups)])
        radius = np.concatenate([np.zeros(0), *(g.radius for g in groups)])
        self._bounds = np.concatenate([np.zeros((0, 5)), *(g.bounds for g in groups)])
        self._hidden = np.zeros(len(radius), dtype=np.bool_)
        nothing = np.zeros(0, dtype=np.int64)
        start = np.concatenate([nothing, *(g.first + 3 + index[k] for k, g in enumerate(groups))])
        length = np.concatenate([nothing, *(g.length for g in groups)])
        group = np.repeat(np.arange(len(groups), dtype=np.int32), [len(g.first) for g in groups])
        near, far = (np.array([getattr(g.shading, name) for g in groups])[group] for name in ("near_m", "far_m"))
        self._tiles = Tiles(centre, radius, near, far, group, start, length)
        self._made = Commands(np.zeros((len(start), 5), dtype=np.uint32), np.zeros(len(groups), dtype=np.int64))
        self._commands = ctx.buffer(reserve=max(self._made.block.nbytes, 20), dynamic=True)
        self._arrays: dict[int, Any] = {}
        self._ready: dict[tuple[int, tuple[str, ...], Programs], _Ready] = {}
        self._uniforms_of: dict[int, int] = {}  # group whose uniforms each program holds

    def draw(
        self, programs: Programs, textures: SurfaceTextures, camera: Camera, defines: tuple[str, ...], horizon: F32
    ) -> None:
        """Draw the tiles in view that are not occluded by the horizon."""
        views = camera.row()
        find_hidden(views, horizon, self._bounds, self._hidden)
        made = tile_commands(views, self._tiles, self._hidden, self._made)
        if made == 0:
            return
        self._commands.write(self._made.block[:made])
        first = 0
        for k, count in enumerate(self._made.per_group.tolist()):
            if count:
                ready = self._ready.get((k, defines, programs))
                if ready is None:
                    ready = self._ready[(k, defines, programs)] = self._prepare(programs, self._groups[k], defines)
                if self._uniforms_of.get(ready.program) != k:
                    self._uniforms_of[ready.program] = k
                    for uniform, value in ready.uniforms:
                        uniform.write(value)
                textures.use(ready.texture, SURFACE_UNIT)
                ready.array.render_indirect(self._commands, moderngl.TRIANGLES, count, first)
            first += count

    def triangles(self) -> int:
        """Number of triangles drawn in the last picture; for benchmarks."""
        return int(self._made.block[: int(self._made.per_group.sum()), INDEX_COUNT].sum()) // 3

    def _prepare(self, programs: Programs, group: _Group, defines: tuple[str, ...]) -> _Ready:
        shading = group.shading
        program = programs.get("ground", "ground", (*defines, *shading.own_defines()))
        array = self._arrays.get(program.glo)
        if array is None:
            content = [(self._vertices, "3f 3f 2f", "in_position", "in_normal", "in_uv")]
            array = self._ctx.vertex_array(program, content, self._indices, skip_errors=True)
            self._arrays[program.glo] = array
        values = {
            "towards_eye": np.float32(shading.towards_eye).tobytes(),
            "base_colour": np.array(shading.albedo, dtype=np.float32).tobytes(),
            "tag": np.uint32(group.tag).tobytes(),
        }
        uniforms = tuple((program[name], value) for name, value in values.items() if name in program)
        return _Ready(program.glo, array, uniforms, TEXTURES.get(shading.surface, shading.surface))

    def forget_programs(self) -> None:
        """Release the vertex arrays of all programs."""
        for array in self._arrays.values():
            array.release()
        for known in (self._arrays, self._ready, self._uniforms_of):
            known.clear()

    def release(self) -> None:
        self.forget_programs()
        for thing in (self._vertices, self._indices, self._commands):
            thing.release()


def _groups(meshes: Sequence[Mesh], look: SurfaceLook) -> list[_Group]:
    """One group per material and tag, with markings last so that they win over the road at equal depth."""
    by_key: dict[tuple[Material, int], list[Mesh]] = {}
    for mesh in meshes:
        if len(mesh.triangles):
            by_key.setdefault((Material(mesh.material), int(mesh.tag)), []).append(mesh)
    order = list(SHADINGS)  # roads are drawn before the soil that they hide
    keys = sorted(by_key, key=lambda key: (SHADINGS[key[0]].towards_eye, order.index(key[0]), key[1]))
    return [_Group(_shading(material, look), tag, by_key[(material, tag)]) for material, tag in keys]


def _shading(material: Material, look: SurfaceLook) -> MaterialShading:
    shading = SHADINGS[material]
    red, green, blue = (own * factor for own, factor in zip(shading.albedo, look.of(material), strict=True))
    return replace(shading, albedo=(red, green, blue))


def _joined(meshes: Sequence[Mesh]) -> tuple[NDArray[np.float32], I64]:
    """(N, 8) position, normal, uv and (M, 3) triangles of all `meshes`."""
    blocks, faces, count = [], [], 0
    for mesh in meshes:
        blocks.append(np.concatenate([mesh.vertices, mesh.normals, mesh.uv], axis=1).astype(np.float32))
        faces.append(mesh.triangles.astype(np.int64) + count)
        count += len(mesh.vertices)
    return _welded(np.concatenate(blocks), np.concatenate(faces))


def _welded(vertices: NDArray[np.float32], triangles: I64) -> tuple[NDArray[np.float32], I64]:
    """Merge bit-identical vertices, found by a 64-bit hash."""
    words = np.ascontiguousarray(vertices).view(np.uint32).astype(np.uint64)
    key = np.zeros(len(vertices), dtype=np.uint64)
    for column in words.T:
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)  # input order keeps neighbours together in memory
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return vertices[first[order]], rank[place.reshape(-1)][triangles]


def _tiles(points: F64, triangles: I64, tile_m: float) -> tuple[I64, I64, I64]:
    """The order that sorts triangles by tile, and the start and count of each tile.

    Tile rows run in alternating directions, so that consecutive tiles are neighbours.
    """
    middle = points[triangles].mean(axis=1)
    cell = np.floor(middle[:, :2] / tile_m).astype(np.int64)
    cell -= cell.min(axis=0)
    width = int(cell[:, 0].max()) + 1
    x = np.where(cell[:, 1] % 2 == 0, cell[:, 0], width - 1 - cell[:, 0])
    key = cell[:, 1] * width + x
    order = np.argsort(key, kind="stable")
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    return order, starts.astype(np.int64), counts.astype(np.int64)


def _boxes(points: F64, triangles: I64, starts: I64) -> tuple[F64, F64]:
    """Minimum and maximum corners (T, 3) of the tiles."""
    corners = points[triangles]
    low = np.minimum.reduceat(corners.min(axis=1), starts, axis=0)
    high = np.maximum.reduceat(corners.max(axis=1), starts, axis=0)
    return low, high
