"""Static instances of the scenery: culled by view and size on screen, drawn by level of detail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.context import RenderError
from embedded_carla.render.frame import Camera
from embedded_carla.render.instances import InstancedShape, instance_block, object_program, pose_matrices
from embedded_carla.render.programs import Programs
from embedded_carla.render.prototypes import PROTOTYPES, VARIANTS, Prototype, sign_pieces, tints, variant
from embedded_carla.render.signs import SignFaces
from embedded_carla.scene import Placement
from embedded_carla.types import SemanticTag, SignalColour, Transform

F64 = NDArray[np.float64]
STATIC_ID_BASE = 0x8000  # instance ids of placements start here; actors keep the low 16 bits of theirs
SIGN_BEFORE_POST_M = 0.05


class PlacementGroup:
    """All placements of one prototype."""

    def __init__(self, ctx: Any, name: str, rows: Sequence[tuple[int, Placement, Transform, F64, float]]) -> None:
        """`rows`: index among the placements, the placement, pose, size m, state bits of each."""
        self.prototype: Prototype = PROTOTYPES[name]
        self.name = name
        sizes = np.array([size for _, _, _, size, _ in rows])
        colour, seed = tints(name, [p.seed for _, p, _, _, _ in rows])
        poses = pose_matrices([pose for _, _, pose, _, _ in rows])
        n = len(rows)
        self.block = instance_block(
            poses, sizes, colour, seed, np.array([float(_tag(name, p)) for _, p, _, _, _ in rows]),
            np.array([float(STATIC_ID_BASE | (i & 0x7FFF)) for i, _, _, _, _ in rows]),
            np.array([bits for _, _, _, _, bits in rows]),
            np.full(n, 1.0 if self.prototype.sways else 0.0), np.zeros(n),
        )  # fmt: skip
        self.centre = poses[:, :3, 3] + poses[:, :3, 2] * sizes[:, 2:3] / 2.0
        self.radius = np.linalg.norm(sizes, axis=1) / 2.0 * 1.05
        self.signal_ids = [p.signal_id for _, p, _, _, _ in rows]
        self._index = np.array([i for i, _, _, _, _ in rows], dtype=np.intp)
        self._shown: NDArray[np.bool_] = np.ones(n, dtype=np.bool_)
        self._shapes = [InstancedShape(ctx, shape) for shape in self.prototype.levels]

    def light(self, lights: Mapping[str, SignalColour]) -> None:
        """Set each signal head's lamp."""
        if self.name == "signal_head":
            self.block[:, 21] = [float(lights.get(signal, SignalColour.OFF)) for signal in self.signal_ids]

    def hide(self, hidden: NDArray[np.bool_]) -> None:
        """Leave out what `hidden` (P,), by index among all placements, says."""
        self._shown = ~hidden[self._index]

    def draw(self, programs: Programs, camera: Camera, defines: tuple[str, ...]) -> None:
        kind = self.prototype
        seen = np.flatnonzero(camera.sees(self.centre, self.radius, kind.far_m) & self._shown)
        if len(seen) == 0:
            return
        depth = np.linalg.norm(self.centre[seen] - camera.eye, axis=1)
        radius_px = self.radius[seen] / np.maximum(depth, 0.5) * camera.focal_px
        near_first = np.argsort(depth)
        seen, radius_px = seen[near_first], radius_px[near_first]
        level = np.zeros(len(seen), dtype=int)
        for limit in kind.level_px:
            level += radius_px < limit
        program = object_program(programs, kind.kind, defines)
        for k, shape in enumerate(self._shapes):
            shape.draw(program, self.block[seen[(level == k) & (radius_px > kind.least_px)]])

    def cast(self, program: Any, chosen: NDArray[np.bool_]) -> None:
        """Draw the chosen ones into the shadow map, coarsely."""
        if self.prototype.casts:
            self._shapes[min(1, len(self._shapes) - 1)].draw(program, self.block[chosen & self._shown])

    def release(self) -> None:
        for shape in self._shapes:
            shape.release()


def placement_groups(ctx: Any, placements: Sequence[Placement]) -> tuple[list[PlacementGroup], SignFaces]:
    """The groups, big things first (they hide others). Raises RenderError for an unknown prototype."""
    faces = SignFaces(ctx, [(p.prototype, p.text) for p in placements if p.prototype.startswith("sign_")])
    rows: dict[str, list[tuple[int, Placement, Transform, F64, float]]] = {}
    for i, p in enumerate(placements):
        if p.prototype not in _public():
            raise RenderError(f"unknown prototype '{p.prototype}' in the scenery; there are {', '.join(_public())}")
        if not p.prototype.startswith("sign_") or p.prototype == "sign_post":
            name = variant(p.prototype, p.seed)
            rows.setdefault(name, []).append((i, p, p.transform, np.array(p.size_m), 0.0))
            continue
        for name, size, height in sign_pieces(p):
            pose = p.transform @ Transform(x=SIGN_BEFORE_POST_M if height > 0.0 else 0.0, z=height)
            bits = float(faces.layer(p.prototype, p.text)) if name == p.prototype else 0.0
            rows.setdefault(name, []).append((i, p, pose, np.array(size), bits))
    order = sorted(rows, key=lambda name: list(PROTOTYPES).index(name))
    return [PlacementGroup(ctx, name, rows[name]) for name in order], faces


@cache
def _public() -> tuple[str, ...]:
    """What a placement may be called."""
    drawn_as = {kind for kinds in VARIANTS.values() for kind in kinds}
    own = (name for name in PROTOTYPES if name not in drawn_as and not name.endswith("_back"))
    return tuple(sorted([*own, *VARIANTS]))


def _tag(name: str, placement: Placement) -> int:
    return int(SemanticTag.POLES) if name == "sign_post" else int(placement.tag)
