"""The kinds of moments in a drive, so that rare ones count as much in training as common ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from perception.imitation.samples import Float32

GROUPS = ("stand", "start", "brake", "turn", "cruise")

STANDING_MPS, SLOW_MPS = 0.3, 2.0
"""A car that is slower than these stands, or has only just started."""

CHANGE_MPS = 1.0
"""A target speed that differs by more than this from the speed means a start, or braking."""

TURN_RAD = 0.2
"""Change of the path's heading within its points from which it is a turn."""


def group_of(speed_mps: Float32, target_mps: Float32, path_m: Float32) -> NDArray[np.int64]:
    """(N,) The group of each moment, as a row of `GROUPS`; the first that fits."""
    standing = speed_mps < STANDING_MPS
    chords = np.diff(path_m[:, 1:], axis=1)
    turned = np.unwrap(np.arctan2(chords[..., 1], chords[..., 0]), axis=1)
    rules = (
        standing & (target_mps < STANDING_MPS),
        (speed_mps < SLOW_MPS) & (target_mps > speed_mps + CHANGE_MPS),
        target_mps < speed_mps - CHANGE_MPS,
        np.abs(turned[:, -1] - turned[:, 0]) > TURN_RAD,
    )
    return np.asarray(np.select(rules, range(len(rules)), len(rules)), dtype=np.int64)
