"""Exposure, white balance and gamma of an rgb camera, from its post-process attributes.

Exposure is that of Unreal's camera: EV100 = log2(N^2 / t * 100 / S). Each step of EV100 halves the light, and each unit
of `exposure_compensation` doubles it.

White balance shows light of `temp` kelvin as white, so daylight looks warm above 6500 K and cold below. Chromaticities
are on the CIE daylight locus (CIE 15:2004) from 4000 K up, and on the Planckian locus below (B. Kang et al., *Design of
Advanced Color Temperature Control System*, 2002). `tint` moves the white point across the locus in CIE 1960.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

DEFAULT_FSTOP = 1.4
DEFAULT_SHUTTER_PER_S = 200.0
DEFAULT_ISO = 100.0
DAYLIGHT_K = 6500.0
GAMMA = 2.2
TINT_REACH = 0.05  # shift in CIE 1960 uv for a tint of 1
_XYZ_TO_RGB = np.array([[3.2406, -1.5372, -0.4986], [-0.9689, 1.8758, 0.0415], [0.0557, -0.2040, 1.0570]])


@dataclass(frozen=True, slots=True)
class Development:
    """Camera development settings.

    `gain` multiplies the light. With `adapts`, the exposure adapts to the weather; otherwise it is that of a clear day.
    """

    gain: float = 1.0
    adapts: bool = True
    gamma: float = GAMMA
    temperature_k: float = DAYLIGHT_K
    tint: float = 0.0

    @staticmethod
    def of(number: Callable[[str, float], float], manual: bool, effects: bool) -> Development:
        """From a blueprint's attributes; without post-process `effects`, exposure and grading keep their defaults."""
        if not effects:
            return Development()
        stops = number("exposure_compensation", 0.0)
        if manual:
            here = exposure_value(
                number("fstop", DEFAULT_FSTOP),
                number("shutter_speed", DEFAULT_SHUTTER_PER_S),
                number("iso", DEFAULT_ISO),
            )
            stops += exposure_value(DEFAULT_FSTOP, DEFAULT_SHUTTER_PER_S, DEFAULT_ISO) - here
        return Development(
            2.0 ** min(max(stops, -24.0), 24.0), not manual, max(number("gamma", GAMMA), 0.01),
            min(max(number("temp", DAYLIGHT_K), 1700.0), 25000.0), min(max(number("tint", 0.0), -1.0), 1.0),
        )  # fmt: skip

    def grade(self, bgra: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Apply white balance and gamma to a picture; returns the same array when nothing changes."""
        if (self.gamma, self.temperature_k, self.tint) == (GAMMA, DAYLIGHT_K, 0.0):
            return bgra
        curves = _curves(self.gamma, self.temperature_k, self.tint)
        out = bgra.copy()
        for k in range(3):
            out[..., k] = curves[k][bgra[..., k]]
        return out


def exposure_value(fstop: float, shutter_per_s: float, iso: float) -> float:
    """EV100 of aperture f/`fstop`, shutter time 1 / `shutter_per_s` s and sensitivity `iso`."""
    return math.log2(max(fstop, 0.01) ** 2 * max(shutter_per_s, 0.01) * 100.0 / max(iso, 0.01))


@lru_cache(maxsize=8)
def _curves(gamma: float, temperature_k: float, tint: float) -> NDArray[np.uint8]:
    """(3, 256) uint8 tone curves after grading, of blue, green, red."""
    white = _white(temperature_k, tint)
    gain = _white(DAYLIGHT_K, 0.0) / white
    linear = (np.arange(256) / 255.0) ** GAMMA
    graded = np.clip(gain[::-1, None] * linear, 0.0, 1.0) ** (1.0 / gamma)
    return np.rint(graded * 255.0).astype(np.uint8)


def _white(temperature_k: float, tint: float) -> NDArray[np.float64]:
    """Linear RGB (3,) with luminance 1 of light with this colour temperature; `tint` moves it off the locus."""
    x, y = _locus(temperature_k)
    u, v = _uv(x, y)
    ahead = np.subtract(_uv(*_locus(temperature_k + 10.0)), (u, v))
    across = np.array([-ahead[1], ahead[0]]) / np.linalg.norm(ahead)
    u, v = np.add((u, v), TINT_REACH * tint * across)
    x, y = 3 * u / (2 * u - 8 * v + 4), 2 * v / (2 * u - 8 * v + 4)
    rgb: NDArray[np.float64] = _XYZ_TO_RGB @ [x / y, 1.0, (1 - x - y) / y]
    return np.maximum(rgb, 0.02)


def _uv(x: float, y: float) -> tuple[float, float]:
    d = -2 * x + 12 * y + 3
    return 4 * x / d, 6 * y / d


def _locus(t: float) -> tuple[float, float]:
    """CIE 1931 chromaticity (x, y) of daylight at `t` kelvin; below 4000 K that of a black body."""
    if t >= 4000.0:
        a, b, c, d = (
            (-4.6070e9, 2.9678e6, 0.09911e3, 0.244063) if t <= 7000 else (-2.0064e9, 1.9018e6, 0.24748e3, 0.23704)
        )
        x = a / t**3 + b / t**2 + c / t + d
        return x, -3.0 * x * x + 2.87 * x - 0.275
    x = -0.2661239e9 / t**3 - 0.2343589e6 / t**2 + 0.8776956e3 / t + 0.179910
    a, b, c, d = (
        (-1.1063814, -1.34811020, 2.18555832, -0.20219683)
        if t <= 2222
        else (-0.9549476, -1.37418593, 2.09137015, -0.16748867)
    )
    return x, a * x**3 + b * x * x + c * x + d
