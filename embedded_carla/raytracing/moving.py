"""The actors of one tick for rays: their drawn shapes at the finest level, with wheels, riders and open doors.

Walkers are in the pose in which they stand, whatever their legs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from embedded_carla.raytracing.kernel import Bodies, Forest, Pieces
from embedded_carla.raytracing.still import inverses
from embedded_carla.raytracing.trees import forest_of, joined
from embedded_carla.render.actor_layout import reach_of_doors_m
from embedded_carla.render.actors import ROOM, ROOM_M, ActorSet, ActorSets
from embedded_carla.render.shapes.actors import make_shape
from embedded_carla.render.shapes.pool import Key
from embedded_carla.scene import ActorView

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
_NOT_BUILT = -1


class ShapeTrees:
    """Trees of actors' shapes, each built when a ray may first reach it."""

    def __init__(self) -> None:
        self._numbers: dict[Key, int] = {}
        self._tree: I64 = np.zeros(0, dtype=np.int64)  # by number, in `forest`
        self.forest: Forest = joined([])

    def number(self, key: Key) -> int:
        """The number of the shape `key`."""
        return self._numbers.setdefault(key, len(self._numbers))

    def trees(self, numbers: I64, wanted: I64) -> I64:
        """The trees (N,) of shapes by number; those that are not among `wanted` may be missing (-1)."""
        new = np.full(len(self._numbers) - len(self._tree), _NOT_BUILT, dtype=np.int64)
        self._tree = np.concatenate([self._tree, new])
        missing = [n for n in np.unique(wanted).tolist() if self._tree[n] == _NOT_BUILT]
        if missing:
            keys = list(self._numbers)
            self._tree[missing] = len(self.forest.leaves) + np.arange(len(missing))
            self.forest = joined([self.forest, *(_tree_of(keys[n]) for n in missing)])
        return self._tree[numbers]


class MovingScene:
    """The actors of one tick."""

    def __init__(self) -> None:
        self._shapes = ShapeTrees()
        self._sets = ActorSets(self._shapes)
        self._of: ActorSet | None = None

    def place(self, actors: Sequence[ActorView]) -> None:
        """Take these actors from now on."""
        found = self._sets.of(actors)
        if found is self._of:
            return
        self._of = found
        order = np.argsort(found.owner, kind="stable")
        self._number: I64 = found.rows.candidates.shapes[order, 0].astype(np.int64)
        self._owner = found.owner[order]
        self._inverse = inverses(found.rows.block[order, :12].reshape(-1, 3, 4).astype(np.float64))
        self._first = np.searchsorted(self._owner, np.arange(len(actors) + 1)).astype(np.int64)
        self._axes = np.ascontiguousarray(found.poses[:, :3, :3])
        self._centre, self._half = found.centre.copy(), found.half.copy()
        loose = ~found.is_vehicle
        self._half[loose] = ROOM * found.radius[loose, None] + ROOM_M  # their shapes may be larger than their boxes
        for i, actor in enumerate(actors):
            if actor.door_angles_rad and found.is_vehicle[i]:
                left, right = reach_of_doors_m(actor)
                self._half[i, 1] += (left + right) / 2.0
                self._centre[i] += self._axes[i, :, 1] * (right - left) / 2.0
        self._is_vehicle = found.is_vehicle

    def within(self, origin: F64, reach_m: float) -> I64:
        """The numbers of the actors that rays from `origin` (3,) may hit."""
        distance = np.linalg.norm(self._centre - origin, axis=1) - np.linalg.norm(self._half, axis=1)
        return np.flatnonzero(distance < reach_m)

    def arrays(self, near: I64) -> tuple[Forest, Pieces, Bodies]:
        """What rays can hit of the actors `near`; the other actors' shapes may be missing."""
        tree = self._shapes.trees(self._number, self._number[np.isin(self._owner, near)])
        bodies = Bodies(self._centre, self._half, self._axes, self._is_vehicle, self._first)
        return self._shapes.forest, Pieces(tree, self._inverse), bodies


@cache
def _tree_of(key: Key) -> Forest:
    shape = make_shape(key)
    return forest_of([shape.vertices[:, :3][shape.triangles]])
