"""Intersection of rays with vehicles' bounding boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.render.actor_layout import VEHICLE_TAGS, reach_of_doors_m
from embedded_carla.scene import MOST_INSTANCES, ActorView
from embedded_carla.types import Float

_TINY = 1e-12


class VehicleBoxes:
    """Bounding boxes of the vehicles among `actors`, by instance number, relative to a ray origin (3,) in the world.

    A box includes open doors.
    """

    def __init__(self, actors: Sequence[ActorView], origin: Float) -> None:
        vehicles = [a for a in actors if a.tag in VEHICLE_TAGS]
        self._row = np.full(MOST_INSTANCES + 1, -1, dtype=np.int64)
        self._row[[a.instance for a in vehicles]] = np.arange(len(vehicles))
        pose = np.array([a.transform.matrix() for a in vehicles]).reshape(-1, 4, 4)
        self._axes = np.ascontiguousarray(pose[:, :3, :3])
        self._half = np.array([a.extent for a in vehicles]).reshape(-1, 3)
        centre = pose[:, :3, 3] + self._axes[:, :, 2] * self._half[:, 2:]
        for row, actor in enumerate(vehicles):
            if actor.door_angles_rad:
                left, right = reach_of_doors_m(actor)
                self._half[row, 1] += (left + right) / 2.0
                centre[row] += self._axes[row, :, 1] * (right - left) / 2.0
        self._origin = np.einsum("ni,nij->nj", origin - centre, self._axes)

    def spans(self, instance: NDArray[np.uint16], directions: Float) -> tuple[Float, Float]:
        """Distances (N,) m at which rays enter and leave the box of the vehicle `instance` (N,) that they hit.

        `directions` (N, 3) are unit vectors in the world frame. (0, inf) for an instance that is not a vehicle. For a
        ray that misses the box, enter > leave.
        """
        enter, leave = np.empty(len(instance)), np.empty(len(instance))
        _fill_spans(instance, directions, self._row, self._axes, self._half, self._origin, enter, leave)
        return enter, leave


@compiled
def _fill_spans(
    instance: NDArray[np.uint16], directions: Float, row_of: NDArray[np.int64], axes: Float, half: Float,
    origin: Float, enter: Float, leave: Float,
) -> None:  # fmt: skip
    """Write `VehicleBoxes.spans` to `enter` and `leave`; the box is `row_of[instance]`, or none if that is negative."""
    for i in range(len(instance)):
        enter[i], leave[i] = 0.0, np.inf
        row = row_of[instance[i]] if instance[i] < len(row_of) else -1
        if row < 0:
            continue
        first_m, last_m = -np.inf, np.inf
        for j in range(3):
            way = 0.0
            for k in range(3):
                way += directions[i, k] * axes[row, k, j]
            if abs(way) < _TINY:
                way = _TINY
            a, b = (-half[row, j] - origin[row, j]) / way, (half[row, j] - origin[row, j]) / way
            first_m, last_m = max(first_m, min(a, b)), min(last_m, max(a, b))
        enter[i], leave[i] = max(first_m, 0.0), last_m


def warm_up() -> None:
    """Compile the intersection, or load it from disk, so that no measurement waits for the compiler."""
    VehicleBoxes((), np.zeros(3)).spans(np.zeros(1, np.uint16), np.zeros((1, 3)))
