"""Ray casts into an episode: ground meshes, placements in their drawn shapes, and actors' boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.solids import Solid, crossings, first_crossing, solids_of, unit_bounds, unit_corners
from embedded_carla.scene import F64, Scenery
from embedded_carla.types import SemanticTag
from embedded_carla.world.actors import Actor
from embedded_carla.world.collision.boxes import DynamicBoxes
from embedded_carla.world.environment import Environment
from embedded_carla.world.spring_arm import PROBE_RADIUS_M, probe_rays

_NO_BODY = (SemanticTag.ROAD_LINES, SemanticTag.SKY)  # paint and sky cannot be hit
_TINY = 1e-12
ON_GROUND_M = 0.02
"""Distance before and behind a segment's start within which `ground_at` finds the surface."""


@dataclass(frozen=True, slots=True)
class RayHit:
    """A hit on a segment: `share` of its length, semantic label, and the actor (None: the map)."""

    share: float
    tag: int
    actor: Actor | None = None


@dataclass(frozen=True, slots=True)
class _Index:
    """Axis-aligned boxes around the map's meshes and solids, for the broad phase."""

    mesh_low: F64
    mesh_high: F64
    solids: tuple[Solid, ...]
    owner: NDArray[np.int64]  # index into the placements
    low: F64
    high: F64

    @staticmethod
    def of(scenery: Scenery) -> _Index:
        meshes = [m.vertices.astype(np.float64) for m in scenery.meshes]
        empty = np.zeros((1, 3))
        solids, owner = [], []
        for i, placement in enumerate(scenery.placements):
            for solid in solids_of(placement):
                solids.append(solid)
                owner.append(i)
        corners = [unit_bounds(s.prototype) @ s.matrix[:3, :3].T + s.matrix[:3, 3] for s in solids]
        return _Index(
            np.array([(m if len(m) else empty).min(axis=0) for m in meshes]).reshape(-1, 3),
            np.array([(m if len(m) else empty).max(axis=0) for m in meshes]).reshape(-1, 3),
            tuple(solids), np.array(owner, dtype=np.int64),
            np.array([c.min(axis=0) for c in corners]).reshape(-1, 3),
            np.array([c.max(axis=0) for c in corners]).reshape(-1, 3),
        )  # fmt: skip


class RayCaster:
    """Casts rays into one episode. Hidden objects are not hit."""

    def __init__(
        self, scenery: Scenery, environment: Environment, bodies: Callable[[], tuple[list[Actor], DynamicBoxes]]
    ) -> None:
        """`environment` tells what is hidden; `bodies` returns the actors that can be hit, with their boxes."""
        self._scenery, self._environment, self._bodies = scenery, environment, bodies
        self._made: _Index | None = None

    def all_hits(self, start: F64, end: F64, ignored: Sequence[Actor] = ()) -> list[RayHit]:
        """All hits of the segment, nearest first: the first crossing of each object, every crossing of the ground."""
        way = end - start
        if not np.any(way):
            return []
        found = [
            *self._mesh_hits(start, way),
            *self._placement_hits(start, way),
            *self._actor_hits(start, way, ignored),
        ]
        return sorted(found, key=lambda hit: hit.share)

    def first_hit(self, start: F64, end: F64, ignored: Sequence[Actor] = ()) -> RayHit | None:
        """The nearest hit of the segment, or None."""
        found = self.all_hits(start, end, ignored)
        return found[0] if found else None

    def ground_at(self, start: F64, end: F64) -> RayHit | None:
        """The map's surface at `start`, for a segment that leads through the surface; None if there is none.

        The segment may start at an actor's origin, which lies where the wheels stand and so may be some millimetres
        below the road; then the share is negative.
        """
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            return None
        back = (end - start) / length * ON_GROUND_M
        found = min(self._mesh_hits(start - back, 2.0 * back), key=lambda hit: hit.share, default=None)
        return None if found is None else RayHit((2.0 * found.share - 1.0) * ON_GROUND_M / length, found.tag)

    @property
    def _index(self) -> _Index:
        if self._made is None:
            self._made = _Index.of(self._scenery)
        return self._made

    def _mesh_hits(self, start: F64, way: F64) -> list[RayHit]:
        index, scenery, environment = self._index, self._scenery, self._environment
        near = np.flatnonzero(_meets(index.mesh_low, index.mesh_high, start, way))
        hidden = environment.hidden_meshes() if environment.has_hidden else None
        found = []
        for i in near.tolist():
            mesh = scenery.meshes[i]
            if mesh.tag in _NO_BODY or (hidden is not None and hidden[i]):
                continue
            shares = crossings(mesh.vertices[mesh.triangles].astype(np.float64), start, way)
            # A crossing on the seam of two triangles counts once.
            found += [RayHit(share, int(mesh.tag)) for share in np.unique(shares.round(9)).tolist()]
        return found

    def _placement_hits(self, start: F64, way: F64) -> list[RayHit]:
        index, scenery, environment = self._index, self._scenery, self._environment
        near = np.flatnonzero(_meets(index.low, index.high, start, way))
        hidden = environment.hidden_placements() if environment.has_hidden else None
        nearest: dict[int, float] = {}
        for i in near.tolist():
            owner, solid = int(index.owner[i]), index.solids[i]
            if hidden is not None and hidden[owner]:
                continue
            inverse = np.linalg.inv(solid.matrix)
            local_start = inverse[:3, :3] @ start + inverse[:3, 3]
            share = first_crossing(unit_corners(solid.prototype), local_start, inverse[:3, :3] @ way)
            if share <= 1.0:
                nearest[owner] = min(share, nearest.get(owner, 1.0))
        return [RayHit(share, int(scenery.placements[i].tag)) for i, share in nearest.items()]

    def _actor_hits(self, start: F64, way: F64, ignored: Sequence[Actor]) -> list[RayHit]:
        bodies, boxes = self._bodies()
        if not bodies:
            return []
        local_start = np.einsum("ni,nij->nj", start - boxes.centre, boxes.axes)
        enter, leave = _slab(-boxes.half, boxes.half, local_start, np.einsum("i,nij->nj", way, boxes.axes))
        hit = np.flatnonzero((enter >= 0.0) & (enter <= np.minimum(leave, 1.0)))
        return [RayHit(float(enter[i]), int(bodies[i].tag), bodies[i]) for i in hit if bodies[i] not in ignored]

    def free_share(self, start: F64, end: F64, ignored: Sequence[Actor]) -> float:
        """Share of a spring arm's length that its probe can travel freely."""
        length = float(np.linalg.norm(end - start))
        shares = [1.0]
        for a, b in probe_rays(start, end):
            hit = self.first_hit(a, b, ignored)
            if hit is not None:
                shares.append(max(hit.share - PROBE_RADIUS_M / length, 0.0))
        return min(shares)


def _slab(low: F64, high: F64, start: F64, way: F64) -> tuple[F64, F64]:
    """Slab test: shares at which the line enters and leaves each axis-aligned box (N, 3)."""
    step = np.where(np.abs(way) < _TINY, _TINY, way)
    first, second = (low - start) / step, (high - start) / step
    return np.minimum(first, second).max(axis=1), np.maximum(first, second).min(axis=1)


def _meets(low: F64, high: F64, start: F64, way: F64) -> NDArray[np.bool_]:
    """Whether the segment touches each axis-aligned box, grown by a centimetre; (N,)."""
    enter, leave = _slab(low - 0.01, high + 0.01, start, way)
    touches: NDArray[np.bool_] = (enter <= leave) & (leave >= 0.0) & (enter <= 1.0)
    return touches
