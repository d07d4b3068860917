"""An embedded server with another look, to test `av-stack adapt` on: `python -m benchmarks.odd_server --port P ...`.

It takes the options of `python -m embedded_carla`. Its colour cameras show what no training picture shows: amber dust
that thickens towards the top of the picture, swapped tints, half the detail, and glow around bright surfaces.
"""

from __future__ import annotations

import runpy
import sys

import cv2
import numpy as np
from numpy.typing import NDArray

from embedded_carla.sensors.development import Development

Pixels = NDArray[np.uint8]

DUST_BGR = np.array([70.0, 150.0, 205.0])
DUST_TOP, DUST_FOOT = 0.75, 0.15
"""Share of dust in the colour of the uppermost and the lowest row."""

TINT = np.array([[0.25, 0.55, 0.2], [0.5, 0.2, 0.3], [0.2, 0.35, 0.45]])
"""New blue, green, red from the old ones."""

GLOW_FROM, GLOW_SIGMA_PX, GLOW = 150.0, 8.0, 0.8
"""Brightness from which a surface glows, the standard deviation of its glow, and its strength."""

_grade = Development.grade


def odd(bgra: Pixels) -> Pixels:
    """The picture (height, width, 4) with the odd look."""
    height, width = bgra.shape[:2]
    small = cv2.resize(bgra[..., :3], (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    plain = np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), dtype=np.float64)
    bright = np.maximum(plain - GLOW_FROM, 0.0)
    tinted = (plain + GLOW * cv2.GaussianBlur(bright, (0, 0), GLOW_SIGMA_PX)) @ TINT.T
    dust = np.linspace(DUST_TOP, DUST_FOOT, height)[:, None, None]
    out = bgra.copy()
    out[..., :3] = np.clip((1.0 - dust) * tinted + dust * DUST_BGR, 0.0, 255.0)
    return out


def main() -> None:
    Development.grade = lambda self, bgra: odd(_grade(self, bgra))  # type: ignore[method-assign]
    sys.argv[0] = "embedded_carla"
    runpy.run_module("embedded_carla", run_name="__main__")


if __name__ == "__main__":
    main()
