"""Detects clear daylight in the front camera's pictures; only then may the ego drive without low beam."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from av_core.types import Image

Float32 = NDArray[np.float32]

SMALL_PX = (160, 90)
"""Width and height of the grey copy that is measured."""

FAR_ROWS = slice(30, 54)
"""Rows of the small picture around the horizon, where haze hides distant objects."""

SKY_ROWS = slice(0, 30)
"""Rows of the small picture that the ego's own low beam lights least."""

DARK_BELOW, BRIGHT_ABOVE = 60.0, 95.0
"""Hysteresis limits of the mean grey level of `SKY_ROWS`. On the embedded server nights have 27 to 58, up to 85 where
the ego's own low beam lights a façade; days, including sunsets, have 102 to 190, down to 70 before a façade in the
shade."""

HAZY_BELOW, CLEAR_ABOVE = 7.0, 7.8
"""Hysteresis limits of the clearness of `measure`. On pictures of Town04, Town10HD and city_grid, fog has 3 to 7.3 (9.4
in one narrow street), dust less, and streets in clear weather by day 7.3 to 18. An open road may look hazy in clear
weather; then the lights are on without need, which does no harm."""

BLACK_LEVEL, BLACK_WEIGHT = 60.0, 1.0 / 15.0
"""Reference black level in grey levels, and its weight: fog lowers contrast and brightens distant dark areas
(Koschmieder)."""

MEMORY_S = 2.0
"""Time constant over which brightness and clearness are averaged, s."""


class Daylight:
    """Daylight estimate of the front camera; call `update` with each picture. It starts as dark and hazy."""

    def __init__(self) -> None:
        self._mean: tuple[float, float] | None = None
        self._time_s = 0.0
        self._is_dark = self._is_hazy = True

    def update(self, bgr: Image | None, time_s: float) -> bool:
        """Whether it is clear daylight; the last answer holds where `bgr` is None (no trusted picture)."""
        if bgr is not None:
            self._average(measure(bgr), time_s)
        return not (self._is_dark or self._is_hazy)

    def _average(self, seen: tuple[float, float], time_s: float) -> None:
        if self._mean is None:
            self._mean = seen
        else:
            keep = float(np.exp(-max(time_s - self._time_s, 0.0) / MEMORY_S))
            self._mean = keep * self._mean[0] + (1.0 - keep) * seen[0], keep * self._mean[1] + (1.0 - keep) * seen[1]
        self._time_s = time_s
        brightness, clearness = self._mean
        self._is_dark = brightness < (BRIGHT_ABOVE if self._is_dark else DARK_BELOW)
        self._is_hazy = clearness < (CLEAR_ABOVE if self._is_hazy else HAZY_BELOW)


def measure(bgr: Image) -> tuple[float, float]:
    """(mean grey level of the sky rows, clearness) of a picture (H, W, 3).

    Clearness is the mean difference of neighbouring pixels at the horizon, reduced by a raised black level there.
    """
    small = cv2.resize(cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY), SMALL_PX, interpolation=cv2.INTER_AREA)
    grey: Float32 = np.asarray(small, dtype=np.float32)
    far = grey[FAR_ROWS]
    detail, black = float(np.abs(np.diff(far, axis=1)).mean()), float(np.percentile(far, 5.0))
    return float(grey[SKY_ROWS].mean()), detail + BLACK_WEIGHT * (BLACK_LEVEL - black)
