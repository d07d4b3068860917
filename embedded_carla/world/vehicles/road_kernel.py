"""The road under the vehicles: points where its height is needed, and its friction when wet."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled, inner
from embedded_carla.types import Float

WATER_MM = (0.0, 0.2, 1.0)
WATER_KMH = (0.0, 50.0, 90.0, 130.0)
WET_FRICTION = ((1.0, 1.0, 1.0, 1.0), (0.8, 0.765, 0.75, 0.733), (0.8, 0.647, 0.375, 0.267))
"""Wet over dry friction at these water depths (rows, `WATER_MM`) and speeds (columns, `WATER_KMH`).

For new tyres, from Bosch, *Automotive Handbook*, "Coefficients of static friction"; the values at standstill are ours.
"""

PITCH_DEG, YAW_DEG = range(2)
"""Columns of `rotation_deg`; the third, roll, is not used here."""

_FORE = (1, 1, 0, 0)  # front left, front right, rear left, rear right
_SIDE = (-1.0, 1.0, -1.0, 1.0)


@compiled
def wheel_points(
    slots: NDArray[np.intp], bank: NDArray[np.void], location: Float, rotation_deg: Float, points: Float
) -> None:
    """Fill `points` (n, 5, 3): the four wheels, then the origin, where `kernel` needs the ground height."""
    for k in range(len(slots)):
        slot = slots[k]
        model = bank[slot]
        yaw, pitch = math.radians(rotation_deg[slot, YAW_DEG]), math.radians(rotation_deg[slot, PITCH_DEG])
        cos, sin, rise = math.cos(yaw), math.sin(yaw), math.sin(pitch)
        for wheel in range(4):
            ahead = model.front_axle_m if _FORE[wheel] else model.rear_axle_m
            aside = _SIDE[wheel] * model.half_track_m
            points[k, wheel, 0] = location[slot, 0] + (ahead * cos - aside * sin)
            points[k, wheel, 1] = location[slot, 1] + (ahead * sin + aside * cos)
            points[k, wheel, 2] = location[slot, 2] + ahead * rise
        for axis in range(3):
            points[k, 4, axis] = location[slot, axis]


@inner
def _wet_share(water_mm: float, speed_mps: float) -> float:
    """Wet over dry friction: bilinear in `WET_FRICTION`, constant beyond it."""
    depth, kmh = min(max(water_mm, 0.0), WATER_MM[-1]), min(3.6 * speed_mps, WATER_KMH[-1])
    i = 0 if depth <= WATER_MM[1] else 1
    j = 0 if kmh <= WATER_KMH[1] else 1 if kmh <= WATER_KMH[2] else 2
    u = (depth - WATER_MM[i]) / (WATER_MM[i + 1] - WATER_MM[i])
    v = (kmh - WATER_KMH[j]) / (WATER_KMH[j + 1] - WATER_KMH[j])
    shallow = (1.0 - v) * WET_FRICTION[i][j] + v * WET_FRICTION[i][j + 1]
    deep = (1.0 - v) * WET_FRICTION[i + 1][j] + v * WET_FRICTION[i + 1][j + 1]
    return float((1.0 - u) * shallow + u * deep)


@compiled
def wet_shares(slots: NDArray[np.intp], velocity: Float, water_mm: float, shares: Float) -> None:
    """Fill `shares` (n,) with wet over dry friction under `water_mm` of water at the vehicles' speeds."""
    for k in range(len(slots)):
        shares[k] = _wet_share(water_mm, math.hypot(velocity[slots[k], 0], velocity[slots[k], 1]))
