"""Collects quads from all parts of the scenery and divides them into meshes by tile and material."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embedded_carla.scene import F64, Material, Mesh
from embedded_carla.types import SemanticTag

TILE_M = 64.0  # edge of a tile


@dataclass(slots=True)
class QuadSoup:
    """Quads of future meshes: for each (material, tag) a list of (vertices (n, 4, 3), normals, uv (n, 4, 2))."""

    parts: dict[tuple[Material, SemanticTag], list[tuple[F64, F64, F64]]] = field(default_factory=dict)

    def add(self, material: Material, tag: SemanticTag, vertices: F64, normals: F64, uv: F64) -> None:
        """Add quads, with their corners in order around each; `normals` may be (n, 3) for flat quads."""
        if len(vertices) == 0:
            return
        if normals.ndim == 2:
            normals = np.repeat(normals[:, None, :], 4, axis=1)
        self.parts.setdefault((material, tag), []).append((vertices, normals, uv))

    def add_flat(self, material: Material, tag: SemanticTag, vertices: F64) -> None:
        """Add quads with face normals pointing up (or sideways when vertical) and uv from the world's x, y."""
        self.add(material, tag, vertices, face_normals(vertices), vertices[..., :2].copy())

    def meshes(self) -> tuple[Mesh, ...]:
        """One mesh per tile, material and tag, so that a renderer can cull by tile."""
        out: list[Mesh] = []
        for (material, tag), parts in self.parts.items():
            vertices, normals, uv = (np.concatenate([part[i] for part in parts]) for i in range(3))
            tile = np.floor(vertices[..., :2].mean(axis=1) / TILE_M).astype(np.int64)
            key = tile[:, 0] * 100_003 + tile[:, 1]
            order = np.argsort(key, kind="stable")
            for chosen in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
                out.append(_mesh(vertices[chosen], normals[chosen], uv[chosen], material, tag))
        return tuple(out)


def _mesh(vertices: F64, normals: F64, uv: F64, material: Material, tag: SemanticTag) -> Mesh:
    corner = 4 * np.arange(len(vertices), dtype=np.uint32)[:, None]
    triangles = (corner + np.array([[0, 1, 2, 0, 2, 3]], dtype=np.uint32)).reshape(-1, 3)
    return Mesh(
        vertices.reshape(-1, 3).astype(np.float32), normals.reshape(-1, 3).astype(np.float32),
        uv.reshape(-1, 2).astype(np.float32), triangles, material, tag,
    )  # fmt: skip


def face_normals(quads: F64) -> F64:
    """Unit normals (n, 3) of quads (n, 4, 3), turned upwards."""
    normal = np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    return np.asarray(np.where(normal[:, 2:] < 0.0, -normal, normal))


def ribbon(left: F64, right: F64) -> F64:
    """Quads (n - 1, 4, 3) between two polylines (n, 3)."""
    return np.stack([left[:-1], right[:-1], right[1:], left[1:]], axis=1)
