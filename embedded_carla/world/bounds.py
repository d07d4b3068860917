"""Bounds on body states: no speed or position becomes infinite, whatever a client or a crash does."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.types import Float
from embedded_carla.wire.codec import FARTHEST_M, FASTEST_DEGPS, FASTEST_MPS


class Bodies(Protocol):
    """State arrays that the fleet and the crowd share, one row per body."""

    location: Float
    rotation_deg: Float
    velocity: Float
    acceleration: Float
    angular_velocity_degps: Float


def hold_within(bodies: Bodies, slots: NDArray[np.intp]) -> int:
    """Clip values that are out of bounds in the rows `slots` and set NaN to 0. Returns the number of values changed."""
    if not _any_beyond(
        slots, bodies.velocity, bodies.location, bodies.angular_velocity_degps, bodies.rotation_deg,
        bodies.acceleration, (FASTEST_MPS, FARTHEST_M, FASTEST_DEGPS),
    ):  # fmt: skip
        return 0
    cut = 0
    for values, most in (
        (bodies.velocity, FASTEST_MPS), (bodies.location, FARTHEST_M), (bodies.angular_velocity_degps, FASTEST_DEGPS),
        (bodies.rotation_deg, np.inf), (bodies.acceleration, np.inf),
    ):  # fmt: skip
        rows = values[slots]
        wrong = ~(np.abs(rows) <= most) if np.isfinite(most) else ~np.isfinite(rows)
        if wrong.any():
            cut += int(np.count_nonzero(wrong))
            values[slots] = np.clip(np.nan_to_num(rows, nan=0.0), -min(most, 1e9), min(most, 1e9))
    return cut


@compiled
def _any_beyond(
    slots: NDArray[np.intp], velocity: Float, location: Float, turn: Float, rotation: Float, acceleration: Float,
    most: tuple[float, float, float],
) -> bool:  # fmt: skip
    """Whether any value must be clipped; this is almost never the case. `most` are of speed, distance and turn."""
    speed_mps, distance_m, turn_degps = most
    for slot in slots:
        for axis in range(3):
            is_well = abs(velocity[slot, axis]) <= speed_mps and abs(location[slot, axis]) <= distance_m
            is_well = is_well and abs(turn[slot, axis]) <= turn_degps
            if not (is_well and math.isfinite(rotation[slot, axis]) and math.isfinite(acceleration[slot, axis])):
                return True
    return False
