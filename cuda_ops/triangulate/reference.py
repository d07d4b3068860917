"""CPU reference of the inverse depth update: the same float32 operations in numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]
GATE = np.float32(9.2103404)


def update_depths(
    rays: Float, seen: Float, state: Float, variance: float, pose: Sequence[float]
) -> tuple[Float, NDArray[np.uint8]]:
    """(new state (N, 2): inverse depth and variance, used (N,) uint8: 1 if it was updated); see `op.update_depths`."""
    r0, r1, r2, r3, r4, r5, r6, r7, r8, t0, t1, t2 = (np.float32(value) for value in pose)
    noise = np.float32(variance)
    u, v, rho, spread = rays[:, 0], rays[:, 1], state[:, 0], state[:, 1]
    with np.errstate(all="ignore"):
        x = r0 * u + r1 * v + r2 + rho * t0
        y = r3 * u + r4 * v + r5 + rho * t1
        z = r6 * u + r7 * v + r8 + rho * t2
        j0, j1 = (t0 * z - t2 * x) / (z * z), (t1 * z - t2 * y) / (z * z)
        e0, e1 = seen[:, 0] - x / z, seen[:, 1] - y / z
        jj, je, ee = j0 * j0 + j1 * j1, j0 * e0 + j1 * e1, e0 * e0 + e1 * e1
        gain = spread / (noise + spread * jj)
        distance = (ee - gain * je * je) / noise
        new = np.stack([rho + gain * je, spread * noise / (noise + spread * jj)], axis=1)
        used = (z > np.float32(1e-6)) & (distance <= GATE) & (new[:, 0] > 0)
    return np.where(used[:, None], new, state).astype(np.float32), used.astype(np.uint8)
