"""Compiled loops that copy body states from a struct of arrays into snapshot records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.types import Float

LOCATION, ROTATION, VELOCITY, ANGULAR_VELOCITY, ACCELERATION = range(0, 15, 3)
"""First columns of the five vectors in a row of a snapshot's motion (15 columns)."""


@compiled
def gather(
    slots: NDArray[np.intp], location: Float, rotation_deg: Float, velocity: Float, angular_velocity_degps: Float,
    acceleration: Float, motion: NDArray[np.float32],
) -> None:  # fmt: skip
    """Fill `motion` (n, 15) with the rows `slots` of the five (N, 3) arrays, side by side."""
    for i in range(len(slots)):
        slot = slots[i]
        for axis in range(3):
            motion[i, LOCATION + axis] = location[slot, axis]
            motion[i, ROTATION + axis] = rotation_deg[slot, axis]
            motion[i, VELOCITY + axis] = velocity[slot, axis]
            motion[i, ANGULAR_VELOCITY + axis] = angular_velocity_degps[slot, axis]
            motion[i, ACCELERATION + axis] = acceleration[slot, axis]
