"""Intersection of rays with vehicles' bounding boxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.actor_layout import VEHICLE_TAGS
from embedded_carla.scene import MOST_INSTANCES, ActorView
from embedded_carla.types import Float

_TINY = 1e-12


class VehicleBoxes:
    """Bounding boxes of the vehicles among `actors`, by instance number, relative to a ray origin (3,) in the world."""

    def __init__(self, actors: Sequence[ActorView], origin: Float) -> None:
        vehicles = [a for a in actors if a.tag in VEHICLE_TAGS]
        self._row = np.full(MOST_INSTANCES + 1, -1, dtype=np.int64)
        self._row[[a.instance for a in vehicles]] = np.arange(len(vehicles))
        pose = np.array([a.transform.matrix() for a in vehicles]).reshape(-1, 4, 4)
        self._axes = pose[:, :3, :3]
        self._half = np.array([a.extent for a in vehicles]).reshape(-1, 3)
        centre = pose[:, :3, 3] + self._axes[:, :, 2] * self._half[:, 2:]
        self._origin = np.einsum("ni,nij->nj", origin - centre, self._axes)

    def spans(self, instance: NDArray[np.uint16], directions: Float) -> tuple[Float, Float]:
        """Distances (N,) m at which rays (N, 3), unit, world frame, enter and leave the box of the instance they hit.

        (0, inf) for anything but a vehicle. For a ray that misses the box, enter > leave.
        """
        enter, leave = np.zeros(len(instance)), np.full(len(instance), np.inf)
        row = np.where(instance <= MOST_INSTANCES, self._row[np.minimum(instance, MOST_INSTANCES)], -1)
        of_vehicle = np.flatnonzero(row >= 0)
        row = row[of_vehicle]
        way = np.einsum("ni,nij->nj", directions[of_vehicle], self._axes[row])
        way = np.where(np.abs(way) < _TINY, _TINY, way)
        first = (-self._half[row] - self._origin[row]) / way
        second = (self._half[row] - self._origin[row]) / way
        enter[of_vehicle] = np.maximum(np.minimum(first, second).max(axis=1, initial=-np.inf), 0.0)
        leave[of_vehicle] = np.maximum(first, second).min(axis=1, initial=np.inf)
        return enter, leave
