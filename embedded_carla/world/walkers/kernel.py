"""Walkers that a client moves itself: compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedded_carla.compiled import compiled
from embedded_carla.types import Float

CLIMB_MPS = 1.5
STRIDE_M = 1.4  # length of two steps: one period of the phase
SNAP_M = 0.5  # a walker that its client places this near the ground stands on it
LONGEST_PLACED_STEP_M = 2.0  # a longer move is a teleport, without a stride
SILENCE_S = 0.5  # a walker whose client has not moved it for this long stops


class Placed(NamedTuple):
    """Arrays of the crowd, by slot."""

    location: Float
    rotation_deg: Float
    velocity: Float
    phase_rad: Float
    placed: NDArray[np.bool_]  # by a client's own crowd simulation, not long ago
    silence_s: Float


@compiled
def place(slots: NDArray[np.intp], location: Float, yaw_deg: Float, speed_mps: Float, crowd: Placed) -> None:
    """Move walkers to `location` (n, 3), facing along `yaw_deg` (n,); the stride advances by the distance moved.

    A walker whose height stays within `SNAP_M` keeps the height of the ground that was found before.
    """
    for i in range(len(slots)):
        slot = slots[i]
        along_x, along_y = location[i, 0] - crowd.location[slot, 0], location[i, 1] - crowd.location[slot, 1]
        way = math.hypot(along_x, along_y)
        strides = 1e-4 < way < LONGEST_PLACED_STEP_M
        pace = speed_mps[i] / way if strides else 0.0
        crowd.velocity[slot, 0], crowd.velocity[slot, 1], crowd.velocity[slot, 2] = along_x * pace, along_y * pace, 0.0
        if strides:
            crowd.phase_rad[slot] = (crowd.phase_rad[slot] + 2 * math.pi / STRIDE_M * way) % (2 * math.pi)
        if not (strides and abs(crowd.location[slot, 2] - location[i, 2]) < SNAP_M):
            crowd.location[slot, 2] = location[i, 2]
        crowd.location[slot, 0], crowd.location[slot, 1] = location[i, 0], location[i, 1]
        crowd.rotation_deg[slot, 0], crowd.rotation_deg[slot, 1], crowd.rotation_deg[slot, 2] = 0.0, yaw_deg[i], 0.0
        crowd.placed[slot], crowd.silence_s[slot] = True, 0.0


@compiled
def stand(slots: NDArray[np.intp], ground_z: Float, crowd: Placed, dt_s: float) -> None:
    """Move the feet to the ground's height (n,) at climbing speed, and stop walkers that no client moves any more."""
    for i in range(len(slots)):
        slot = slots[i]
        drop = ground_z[i] - crowd.location[slot, 2]
        if abs(drop) < SNAP_M:
            crowd.location[slot, 2] += min(max(drop, -CLIMB_MPS * dt_s), CLIMB_MPS * dt_s)
        crowd.silence_s[slot] += dt_s
        if crowd.silence_s[slot] > SILENCE_S:
            crowd.placed[slot] = False
            for axis in range(3):
                crowd.velocity[slot, axis] = 0.0
