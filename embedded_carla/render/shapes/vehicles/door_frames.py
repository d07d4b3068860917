"""Positions of the doors of vehicles, m, for drawing them and for collisions with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embedded_carla.render.shapes.vehicles.bodies import car_frame
from embedded_carla.render.shapes.vehicles.car_hull import CarFrame
from embedded_carla.render.shapes.vehicles.sizes import TWO_WHEELED, VehicleSize, vehicle_size
from embedded_carla.render.shapes.vehicles.trucks_and_buses import cab_side

F64 = NDArray[np.float64]
FRONT_LEFT, FRONT_RIGHT, REAR_LEFT, REAR_RIGHT = range(4)
"""CARLA's numbers of the doors."""

LONGEST_M = 1.15
"""Maximum length of a door, from its front edge, m."""

SHORTEST_M = 0.4
"""Minimum length of a rear door, m; if the wheel leaves less, the vehicle has no rear door."""

BELT = 3
"""Row of a door's cross-section at the lower edge of the window."""

_STATIONS = 5
_HINGE_IN_M = 0.03  # the hinge is this far inside the widest part of the hull


@dataclass(frozen=True, slots=True)
class DoorFrame:
    """One closed door in its vehicle's frame (x forward, y right, z up from the ground). It turns about its front edge.

    `side` is 1 on the right and -1 on the left. `rings` (S, 5, 3) are the hull's cross-sections along the door, from
    front to rear, each from the sill to the edge of the roof.
    """

    side: float
    rings: F64

    @property
    def hinge(self) -> tuple[float, float]:
        """x and y of the axis about which the door turns."""
        widest = float(np.abs(self.rings[:, :, 1]).max())
        return float(self.rings[0, 0, 0]), self.side * (widest - _HINGE_IN_M)

    @property
    def length_m(self) -> float:
        return float(self.rings[0, 0, 0] - self.rings[-1, 0, 0])

    @property
    def z_m(self) -> tuple[float, float]:
        """Heights of the door's lower and upper edge."""
        return float(self.rings[:, :, 2].min()), float(self.rings[:, :, 2].max())

    def turn_rad(self, angle_rad: float) -> float:
        """The rotation about z, in the vehicle's left-handed frame, of a door that is open by `angle_rad`."""
        return -self.side * angle_rad


@cache
def door_frames(shape: str, model: str) -> Mapping[int, DoorFrame]:
    """The doors of a model by CARLA's numbers; a car has two or four, a van or truck two, a two-wheeler or bus none."""
    size = vehicle_size(shape, model)
    if size.shape in TWO_WHEELED or size.shape == "bus":
        return {}
    if size.shape == "truck":
        return _pair(FRONT_LEFT, *cab_side(size)[0], lambda _: cab_side(size)[1])
    car = car_frame(size)
    front, rear = _edges(car, size)
    found = _pair(FRONT_LEFT, *front, lambda x: car.half_ring(x)[: BELT + 2])
    if rear is not None:
        found |= _pair(REAR_LEFT, *rear, lambda x: car.half_ring(x)[: BELT + 2])
    return found


def _pair(number: int, front_x: float, rear_x: float, section: Callable[[float], F64]) -> dict[int, DoorFrame]:
    """The doors `number` on the left and `number + 1` on the right; `section` gives (5, 2) points (y, z) at an x."""
    xs = np.linspace(front_x, max(rear_x, front_x - LONGEST_M), _STATIONS)
    right = np.stack([np.column_stack([np.full(BELT + 2, x), section(float(x))]) for x in xs])
    return {number + k: DoorFrame(side, right * (1.0, side, 1.0)) for k, side in enumerate((-1.0, 1.0))}


def _edges(car: CarFrame, size: VehicleSize) -> tuple[tuple[float, float], tuple[float, float] | None]:
    """(x of the front edge, x of the rear edge) of the front door, and of the rear door or None.

    The edges are at the gaps that are drawn between the doors, if the wheel leaves room.
    """
    cuts = [car.pane_x(share) for share in reversed(car.style.panes)]
    if len(cuts) < 3:
        return (cuts[0], car.pane_x(0.40)), None
    front, *others = pairwise(cuts)
    rear = (others[0][0], max(others[0][1], size.axles[-1] + 0.1))
    has_rear = size.shape != "van" and rear[0] - rear[1] >= SHORTEST_M
    return front, rear if has_rear else None
