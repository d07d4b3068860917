"""Builder of triangle meshes from boxes, prisms, cylinders, ellipsoids and skins of quads.

The vertices of a shape are (N, 12) float32: position (3), normal (3), colour (3), part (1) and motion (2: movement of
the part, height of its pivot). The corners of a triangle are counter-clockwise seen from outside, by the right-hand
rule on raw coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedded_carla.render.shapes.parts import Part
from embedded_carla.render.shapes.smoothing import not_degenerate, quads_to_triangles, smooth_normals

F32 = NDArray[np.float32]
U32 = NDArray[np.uint32]
Colour = tuple[float, float, float]
Point = Sequence[float]
WIDTH = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """A triangle mesh: `vertices` (N, 12) float32, `triangles` (M, 3) uint32."""

    vertices: F32
    triangles: U32


class ShapeBuilder:
    """Collects primitives and joins them into one Shape. `part` and `motion` apply to all that is added afterwards."""

    def __init__(self) -> None:
        self._vertices: list[F32] = []
        self._triangles: list[U32] = []
        self._count = 0
        self.part = Part.FIXED
        self.motion = (0.0, 0.0)

    def add(self, positions: ArrayLike, normals: ArrayLike, triangles: ArrayLike, colour: Colour | F32) -> None:
        """Add vertices (N, 3) with normals (N, 3), triangles (M, 3) as indices, and one colour or (N, 3) colours."""
        p = np.asarray(positions, dtype=np.float32)
        block = np.zeros((len(p), WIDTH), dtype=np.float32)
        block[:, 0:3] = p
        block[:, 3:6] = np.asarray(normals, dtype=np.float32)
        block[:, 6:9] = np.asarray(colour, dtype=np.float32)
        block[:, 9] = float(self.part)
        block[:, 10:12] = self.motion
        self._vertices.append(block)
        self._triangles.append(np.asarray(triangles, dtype=np.uint32).reshape(-1, 3) + np.uint32(self._count))
        self._count += len(p)

    def polygon(self, points: Sequence[Point], colour: Colour) -> None:
        """Add a flat convex face, corners counter-clockwise seen from outside."""
        p = np.asarray(points, dtype=np.float64)
        normal = np.cross(p[1] - p[0], p[2] - p[0])
        normal /= np.linalg.norm(normal)
        fan = [(0, i, i + 1) for i in range(1, len(p) - 1)]
        self.add(p, np.tile(normal, (len(p), 1)), fan, colour)

    def box(self, low: Point, high: Point, colour: Colour, bottom: bool = False) -> None:
        """Add an axis-aligned box from corner `low` to corner `high`."""
        self.prism(
            [low[0], high[0]], [low[1], high[1]], low[2], [low[0], high[0]], [low[1], high[1]], high[2], colour, bottom
        )

    def prism(
        self, x0: Point, y0: Point, z0: float, x1: Point, y1: Point, z1: float, colour: Colour, bottom: bool = False
    ) -> None:
        """Add a box whose top rectangle (ranges x1, y1 at z1) differs from its bottom rectangle (x0, y0 at z0)."""
        a, b, c, d = (x0[0], y0[0], z0), (x0[1], y0[0], z0), (x0[1], y0[1], z0), (x0[0], y0[1], z0)
        e, f, g, h = (x1[0], y1[0], z1), (x1[1], y1[0], z1), (x1[1], y1[1], z1), (x1[0], y1[1], z1)
        faces = [(a, b, f, e), (b, c, g, f), (c, d, h, g), (d, a, e, h), (e, f, g, h)]
        if bottom:
            faces.append((d, c, b, a))
        for face in faces:
            self.polygon(face, colour)

    def tube(
        self, start: Point, end: Point, radius0: float, radius1: float, sides: int, colour: Colour, caps: bool = False
    ) -> None:
        """Add a cylinder or cone from `start` to `end` with smooth sides."""
        a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
        axis = (b - a) / np.linalg.norm(b - a)
        side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        other = np.cross(axis, side)
        angle = np.linspace(0.0, 2 * np.pi, sides, endpoint=False)
        out = np.cos(angle)[:, None] * side + np.sin(angle)[:, None] * other
        lean = out + axis * (radius0 - radius1) / np.linalg.norm(b - a)
        lean /= np.linalg.norm(lean, axis=1, keepdims=True)
        i, j = np.arange(sides), (np.arange(sides) + 1) % sides
        faces = np.concatenate([np.stack([i, j, j + sides], 1), np.stack([i, j + sides, i + sides], 1)])
        self.add(np.concatenate([a + out * radius0, b + out * radius1]), np.concatenate([lean, lean]), faces, colour)
        if caps:
            fan = [(0, k, k + 1) for k in range(1, sides - 1)]
            self.add(b + out * radius1, np.tile(axis, (sides, 1)), fan, colour)
            self.add((a + out * radius0)[::-1], np.tile(-axis, (sides, 1)), fan, colour)

    def blob(
        self,
        centre: Point,
        radii: Point,
        rings: int,
        sides: int,
        colour: Colour,
        rough: float = 0.0,
        seed: int = 0,
        under: float = 1.0,
    ) -> None:
        """Add an ellipsoid; `rough` varies its radius by that fraction (plants), `under` is its brightness below."""
        rng = np.random.default_rng(seed)
        polar = np.linspace(0.0, np.pi, rings + 1)[1:-1]
        turn = np.linspace(0.0, 2 * np.pi, sides, endpoint=False)
        ring = np.stack(
            np.broadcast_arrays(
                np.sin(polar)[:, None] * np.cos(turn), np.sin(polar)[:, None] * np.sin(turn), np.cos(polar)[:, None]
            ),
            axis=-1,
        ).reshape(-1, 3)
        unit = np.concatenate([[(0.0, 0.0, 1.0)], ring, [(0.0, 0.0, -1.0)]])
        radius = 1.0 + rough * rng.uniform(-1.0, 1.0, (len(unit), 1))
        tone = 1.0 + 1.2 * rough * rng.uniform(-1.0, 1.0, (len(unit), 1))
        tone *= under + (1.0 - under) * (0.5 + 0.5 * unit[:, 2:3])
        normal = unit / np.asarray(radii)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        colours = (np.asarray(colour) * tone).astype(np.float32)
        self.add(np.asarray(centre) + unit * radii * radius, normal, _sphere_faces(rings - 1, sides), colours)

    def skin(self, quads: ArrayLike, colours: ArrayLike, parts: ArrayLike, crease_deg: float = 38.0) -> None:
        """Add quads (Q, 4, 3), wound like polygons, with normals smoothed where they meet at less than `crease_deg`.

        One colour (3,) and Part for all, or one of each per quad.
        """
        q = np.asarray(quads, dtype=np.float64)
        triangles = quads_to_triangles(q)
        keep = not_degenerate(triangles)
        colour = np.repeat(np.broadcast_to(np.asarray(colours, dtype=np.float32), (len(q), 3)), 2, axis=0)[keep]
        part = np.repeat(np.broadcast_to(np.asarray(parts, dtype=np.float32), (len(q),)), 2)[keep]
        triangles = triangles[keep]
        block = np.zeros((len(triangles), 3, WIDTH), dtype=np.float32)
        block[..., 0:3], block[..., 3:6] = triangles, smooth_normals(triangles, crease_deg)
        block[..., 6:9], block[..., 9] = colour[:, None], part[:, None]
        block[..., 10:12] = self.motion
        self._vertices.append(block.reshape(-1, WIDTH))
        count = 3 * len(triangles)
        self._triangles.append(np.arange(self._count, self._count + count, dtype=np.uint32).reshape(-1, 3))
        self._count += count

    def scaled(self, size: Point) -> Shape:
        """Build a unit shape from primitives in metres: positions are divided by `size` (3,) m, the size when drawn."""
        shape = self.build()
        scale = np.asarray(size, dtype=np.float32)
        shape.vertices[:, 0:3] /= scale
        shape.vertices[:, 3:6] *= scale
        shape.vertices[:, 3:6] /= np.maximum(np.linalg.norm(shape.vertices[:, 3:6], axis=1, keepdims=True), 1e-12)
        shape.vertices[:, 11] /= scale[2]
        return shape

    def build(self) -> Shape:
        """Join all primitives into one Shape, merging equal vertices."""
        vertices, triangles = np.concatenate(self._vertices), np.concatenate(self._triangles)
        rounded = np.round(vertices * 1e4).astype(np.int32)
        _, first, where = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
        return Shape(vertices[first], where.reshape(-1)[triangles].astype(np.uint32))


def _sphere_faces(rings: int, sides: int) -> U32:
    """Triangles over one pole, `rings` rings of `sides` points, and the other pole."""
    i = np.arange(sides)
    j = (i + 1) % sides
    faces = [np.stack([np.zeros(sides, dtype=int), 1 + i, 1 + j], axis=1)]
    for ring in range(rings - 1):
        a, b = 1 + ring * sides, 1 + (ring + 1) * sides
        faces += [np.stack([a + i, b + i, b + j], axis=1), np.stack([a + i, b + j, a + j], axis=1)]
    last = 1 + (rings - 1) * sides
    faces.append(np.stack([last + i, np.full(sides, last + sides), last + j], axis=1))
    joined: NDArray[np.uint32] = np.concatenate(faces).astype(np.uint32)
    return joined
