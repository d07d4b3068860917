"""Casts rays into the scene: the scenery and the actors in their drawn shapes, at their finest level of detail."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.kernel import SCENERY, nearest_hits
from embedded_carla.raytracing.moving import MovingScene
from embedded_carla.raytracing.still import StillScene
from embedded_carla.scene import ActorView

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hits:
    """Nearest hits of N rays: `distance_m` (N,), infinite for none; `actor` (N,) by position, -1 for the scenery."""

    distance_m: F64
    actor: NDArray[np.int64]


class RayScene:
    """The scenery that clients have not hidden, `still`, and the actors of the present tick."""

    def __init__(self, still: StillScene) -> None:
        self.still = still
        self._moving = MovingScene()
        self.place(())

    def place(self, actors: Sequence[ActorView]) -> None:
        """Take these actors from now on."""
        self._actors = actors
        self._moving.place(actors)

    def cast(self, origin: F64, directions: F64, range_m: float, ignored: Collection[int] = ()) -> Hits:
        """The nearest hits within `range_m` of rays from `origin` (3,) along unit vectors (N, 3), in the world.

        Rays pass through the actors with the ids `ignored`. Ground counts from both sides, all else from outside only.
        Hits on a vehicle lie in its bounding box, which reaches around open doors.
        """
        near = self._moving.within(origin, range_m)
        if ignored:
            near = np.array([k for k in near.tolist() if self._actors[k].actor_id not in ignored], dtype=np.int64)
        distance, actor = np.full(len(directions), np.inf), np.full(len(directions), SCENERY, dtype=np.int64)
        still = self.still
        nearest_hits(
            still.ground, still.shapes, still.pieces, still.bounds, *self._moving.arrays(near), near,
            np.ascontiguousarray(origin, dtype=np.float64), np.ascontiguousarray(directions, dtype=np.float64),
            float(range_m), distance, actor,
        )  # fmt: skip
        return Hits(distance, actor)
