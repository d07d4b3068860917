"""Clearance between placed objects and the lanes that vehicles drive on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.opendrive.network import DRIVABLE
from embedded_carla.scene import F64
from embedded_carla.scenery.grid import SectionGrid
from embedded_carla.scenery.ground import TriangleIndex
from embedded_carla.scenery.soup import ribbon
from embedded_carla.scenery.surfaces import triangles_of

LEAST_M = 0.5
"""Minimum distance from a generated object to the nearest driving lane, m."""

STEP_M = 0.2  # between the points at which an outline is tested
SAME_LEVEL_M = 2.5  # a lane further above or below is on another level


class LaneClearance:
    """The driving lanes of a map, junctions included."""

    def __init__(self, grids: Sequence[SectionGrid]) -> None:
        lanes = [
            ribbon(grid.points[i], grid.points[i + 1])
            for grid in grids
            for i in range(len(grid.lanes))
            if grid.kind(i) in DRIVABLE
        ]
        self._lanes = TriangleIndex(triangles_of(np.concatenate(lanes)))

    def is_kept(self, centre: F64, along: F64, length_m: float, width_m: float) -> NDArray[np.bool_]:
        """Whether each rectangle is at least LEAST_M away from every driving lane at its level, (N,).

        `centre` (N, 3) are the centres; `along` (N, 2) are unit vectors in the direction of `length_m`.
        """
        outline = _outline(0.5 * length_m + LEAST_M, 0.5 * width_m + LEAST_M)
        across = np.stack([-along[:, 1], along[:, 0]], axis=1)
        xy = centre[:, None, :2] + outline[:, :1] * along[:, None] + outline[:, 1:] * across[:, None]
        z = np.broadcast_to(centre[:, None, 2:], (*xy.shape[:2], 1))
        points = np.concatenate([xy, z], axis=2).reshape(-1, 3)
        lane_z, _ = self._lanes.below(points, SAME_LEVEL_M)
        meets = (lane_z > points[:, 2] - SAME_LEVEL_M).reshape(len(centre), -1)
        return np.asarray(~meets.any(axis=1))


def _outline(half_length_m: float, half_width_m: float) -> F64:
    """Points (M, 2) on the outline of a rectangle; the outline is enough, because no lane is inside a rectangle."""
    u = np.linspace(-half_length_m, half_length_m, int(2.0 * half_length_m / STEP_M) + 2)
    v = np.linspace(-half_width_m, half_width_m, int(2.0 * half_width_m / STEP_M) + 2)
    sides = [np.stack([u, np.full(len(u), w)], axis=1) for w in (-half_width_m, half_width_m)]
    ends = [np.stack([np.full(len(v), w), v], axis=1) for w in (-half_length_m, half_length_m)]
    return np.concatenate(sides + ends)
