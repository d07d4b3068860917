"""Detects a lens that is mostly covered: large parts of the picture do not change although the car drives."""

from __future__ import annotations

from collections import deque

import cv2
import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

CELLS = (32, 18)
"""Columns and rows of the grid whose mean grey levels are compared."""

WINDOW_S = 1.0
"""Time over which the cells are compared, s."""

STILL_RANGE = 0.5
"""Largest range of a still cell's mean over the window, grey levels; the noise of single pixels averages out."""

COVERED_SHARE = 0.65
"""Fraction of still cells from which the lens is covered. In drives by noon, in fog and on an unlit road at night the
largest was 0.20, and with 80 % of the same pictures covered the smallest was 0.70. A cloudless sky over a smooth plain
reaches 0.62 in drawn pictures."""

DRIVING_MPS = 3.0
"""Speed above which a free view changes everywhere but in the sky."""


class CoverDetector:
    """Watches one camera; call `update` with every picture in order.

    A lens stays covered until the picture changes. So a car that has stopped because of it does not count it as free.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float, Float32]] = deque()
        self._is_covered = False

    def update(self, small: Float32, time_s: float, speed_mps: float) -> bool:
        """Whether the lens is covered; `small` is the picture's small grey copy."""
        cells = np.asarray(cv2.resize(small, CELLS, interpolation=cv2.INTER_AREA), dtype=np.float32)
        self._seen.append((time_s, abs(speed_mps), cells))
        while len(self._seen) > 1 and self._seen[1][0] <= time_s - WINDOW_S:
            self._seen.popleft()
        if time_s - self._seen[0][0] < WINDOW_S - 1e-6:
            return self._is_covered
        still = np.ptp(np.array([seen for _, _, seen in self._seen]), axis=0) <= STILL_RANGE
        if float(still.mean()) < COVERED_SHARE:
            self._is_covered = False
        elif min(speed for _, speed, _ in self._seen) > DRIVING_MPS:
            self._is_covered = True
        return self._is_covered
