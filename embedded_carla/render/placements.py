"""Instance rows of the scenery's static placements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.context import RenderError
from embedded_carla.render.culling.occlusion import Occluders
from embedded_carla.render.culling.visibility import Candidates
from embedded_carla.render.instances import Rows, bounds_of, instance_block, pose_matrices
from embedded_carla.render.look import GREY, SurfaceLook
from embedded_carla.render.shapes.pool import SCENERY, ShapePool
from embedded_carla.render.shapes.prototypes import PROTOTYPES, VARIANTS, sign_pieces, tints, variant
from embedded_carla.render.signs import SignFaces
from embedded_carla.scene import Placement
from embedded_carla.types import SemanticTag, SignalColour, Transform

STATIC_ID_BASE = 0x8000  # first instance id of placements; actors' ids are lower
SIGN_BEFORE_POST_M = 0.05
SPARE_M = 0.05
SWAY_M = 1.0  # upper bound on how far plants bend in the wind


class Piece(NamedTuple):
    """One drawn part of a placement: the placement's number, the prototype's name, pose, size m, state bits."""

    placement: int
    name: str
    pose: Transform
    size_m: tuple[float, float, float]
    bits: float


class StaticInstances:
    """Instance rows of all placements of a scenery. Raises RenderError for an unknown prototype."""

    def __init__(self, ctx: Any, pool: ShapePool, placements: Sequence[Placement], look: SurfaceLook) -> None:
        self.faces = SignFaces(ctx, [(p.prototype, p.text) for p in placements if p.prototype.startswith("sign_")])
        pieces = [piece for i, p in enumerate(placements) for piece in _pieces(i, p, self.faces)]
        self._index = np.array([piece.placement for piece in pieces], dtype=np.intp)
        self.rows = _rows(pool, pieces, placements, look)
        poses, sizes = pose_matrices([p.pose for p in pieces]), np.array([p.size_m for p in pieces]).reshape(-1, 3)
        self.occluders = Occluders.of([p.name for p in pieces], poses, sizes)
        self._heads = np.flatnonzero(np.array([piece.name == "signal_head" for piece in pieces], dtype=np.bool_))
        self._signal_ids = [placements[pieces[k].placement].signal_id for k in self._heads.tolist()]
        self._lights: Mapping[str, SignalColour] | None = None

    def light(self, lights: Mapping[str, SignalColour]) -> None:
        """Set each signal head's colour."""
        if lights != self._lights:
            self._lights = dict(lights)
            self.rows.block[self._heads, 21] = [float(lights.get(i, SignalColour.OFF)) for i in self._signal_ids]

    def hide(self, hidden: NDArray[np.bool_]) -> None:
        """Hide placements by the mask `hidden` (P,)."""
        self.rows.candidates.shown[:] = ~hidden[self._index]


def _pieces(index: int, p: Placement, faces: SignFaces) -> list[Piece]:
    if p.prototype not in _public():
        raise RenderError(f"unknown prototype '{p.prototype}' in the scenery; there are {', '.join(_public())}")
    if not p.prototype.startswith("sign_") or p.prototype == "sign_post":
        return [Piece(index, variant(p.prototype, p.seed), p.transform, p.size_m, 0.0)]
    made = []
    for name, size, height in sign_pieces(p):
        pose = p.transform @ Transform(x=SIGN_BEFORE_POST_M if height > 0.0 else 0.0, z=height)
        bits = float(faces.layer(p.prototype, p.text)) if name == p.prototype else 0.0
        made.append(Piece(index, name, pose, size, bits))
    return made


def _rows(pool: ShapePool, pieces: Sequence[Piece], placements: Sequence[Placement], look: SurfaceLook) -> Rows:
    n = len(pieces)
    poses, sizes = pose_matrices([p.pose for p in pieces]), np.array([p.size_m for p in pieces]).reshape(-1, 3)
    colours, seeds = np.zeros((n, 3)), np.zeros(n)
    limits, shapes, casts = np.zeros((n, 4)), np.full((n, 3), -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    sways = np.zeros(n)
    low, high = np.zeros((n, 3)), np.zeros((n, 3))
    names = np.array([p.name for p in pieces], dtype=object)
    for name in dict.fromkeys(names):
        here, kind = np.flatnonzero(names == name), PROTOTYPES[name]
        colours[here], seeds[here] = tints(name, [placements[pieces[k].placement].seed for k in here.tolist()])
        colours[here] *= {"facade": look.facade, "foliage": look.leaves}.get(kind.kind, GREY)
        numbers = [pool.number((SCENERY, name, level), kind.kind) for level in range(len(kind.levels))]
        pool.sort()
        pool.ensure(numbers)
        limits[here] = (kind.far_m, kind.least_px, *kind.level_px, *([0.0] * (2 - len(kind.level_px))))
        shapes[here, : len(numbers)] = numbers
        casts[here] = numbers[min(1, len(numbers) - 1)] if kind.casts else -1
        sways[here] = 1.0 if kind.sways else 0.0
        low[here], high[here] = _extent(name)
    block = instance_block(
        poses, sizes, colours, seeds, np.array([float(_tag(p.name, placements[p.placement])) for p in pieces]),
        np.array([float(STATIC_ID_BASE | (p.placement & 0x7FFF)) for p in pieces]), np.array([p.bits for p in pieces]),
        sways, np.zeros(n),
    )  # fmt: skip
    centre = poses[:, :3, 3] + poses[:, :3, 2] * sizes[:, 2:3] / 2.0
    radius = np.linalg.norm(sizes, axis=1) / 2.0 * 1.05
    turn = poses[:, :3, :3] * sizes[:, None, :]
    middle = np.einsum("nij,nj->ni", turn, 0.5 * (low + high)) + poses[:, :3, 3]
    half = np.einsum("nij,nj->ni", np.abs(turn), 0.5 * (high - low)) + SPARE_M + SWAY_M * sways[:, None]
    candidates = Candidates(centre, radius, limits, shapes, casts, np.ones(n, dtype=np.bool_))
    return Rows(block, bounds_of(middle, half), candidates)


@cache
def _extent(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Least and greatest x, y, z of a prototype's unit shapes."""
    points = np.concatenate([shape.vertices[:, :3] for shape in PROTOTYPES[name].levels])
    return tuple(points.min(axis=0).tolist()), tuple(points.max(axis=0).tolist())


@cache
def _public() -> tuple[str, ...]:
    """Names that a placement may have."""
    drawn_as = {kind for kinds in VARIANTS.values() for kind in kinds}
    own = (name for name in PROTOTYPES if name not in drawn_as and not name.endswith("_back"))
    return tuple(sorted([*own, *VARIANTS]))


def _tag(name: str, placement: Placement) -> int:
    return int(SemanticTag.POLES) if name == "sign_post" else int(placement.tag)
