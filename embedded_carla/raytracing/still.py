"""The standing part of a scene for rays: ground meshes, and the placements in their finest shapes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.kernel import Bounds, Forest, Pieces
from embedded_carla.raytracing.solids import solids_of, unit_bounds
from embedded_carla.raytracing.trees import forest_of, joined, tree_of_boxes
from embedded_carla.render.shapes.prototypes import PROTOTYPES
from embedded_carla.scene import Material, Scenery
from embedded_carla.types import SemanticTag

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
_MARGIN_M = 0.01  # around the bounds of pieces, which are rounded


@dataclass(frozen=True, slots=True)
class StillScene:
    """A map's scenery without what clients have hidden. Plants stand as in calm air."""

    ground: Forest
    shapes: Forest
    pieces: Pieces
    bounds: Bounds

    @staticmethod
    def of(scenery: Scenery, hidden_placements: NDArray[np.bool_], hidden_meshes: NDArray[np.bool_]) -> StillScene:
        """`hidden_placements` (P,) and `hidden_meshes` (M,) are parallel to those of `scenery`."""
        corners = [np.zeros((0, 3, 3), np.float32)]
        for mesh, is_hidden in zip(scenery.meshes, hidden_meshes.tolist(), strict=True):
            # Paint lies on the road, and the coarse grass below the fine one.
            if not (is_hidden or mesh.tag == SemanticTag.ROAD_LINES or mesh.material == Material.GRASS_FAR):
                corners.append(mesh.vertices[mesh.triangles])
        kept = [p for p, is_hidden in zip(scenery.placements, hidden_placements.tolist(), strict=True) if not is_hidden]
        solids = [solid for placement in kept for solid in solids_of(placement)]
        names = list(dict.fromkeys(solid.prototype for solid in solids))
        number = {name: i for i, name in enumerate(names)}
        tree = np.array([number[solid.prototype] for solid in solids], dtype=np.int64)
        matrices = np.array([solid.matrix for solid in solids]).reshape(-1, 4, 4)
        return StillScene(
            forest_of([np.concatenate(corners).astype(np.float32)]),
            joined([_shape(name) for name in names]),
            Pieces(tree, inverses(matrices[:, :3])),
            _bounds(np.array([unit_bounds(s.prototype) for s in solids]).reshape(-1, 8, 3), matrices),
        )


def inverses(matrices: F64) -> F64:
    """(N, 3, 4) inverses of the affine maps `matrices` (N, 3, 4)."""
    turn = np.linalg.inv(matrices[:, :, :3])
    return np.concatenate([turn, -turn @ matrices[:, :, 3:]], axis=2)


@cache
def _shape(prototype: str) -> Forest:
    """The tree of a prototype's finest shape."""
    shape = PROTOTYPES[prototype].levels[0]
    return forest_of([shape.vertices[:, :3][shape.triangles]])


def _bounds(corners: F64, matrices: F64) -> Bounds:
    """`corners` (P, 8, 3) are the unit shapes' bounding boxes, `matrices` (P, 4, 4) lead to the world."""
    points = corners @ matrices[:, :3, :3].transpose(0, 2, 1) + matrices[:, None, :3, 3]
    low, high = points.min(axis=1) - _MARGIN_M, points.max(axis=1) + _MARGIN_M
    return Bounds(*tree_of_boxes(low.astype(np.float32), high.astype(np.float32)))
