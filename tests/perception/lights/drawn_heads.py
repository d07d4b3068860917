"""Signal heads drawn by hand for tests: by day and by night, near and far, in haze, with housings of any colour."""

from __future__ import annotations

import cv2
import numpy as np

from av_core.types import Image, LightState
from perception.lights.lamps import LAMP_M

Colour = tuple[int, int, int]

LIT: dict[str, dict[LightState, Colour]] = {
    "day": {LightState.RED: (40, 55, 250), LightState.YELLOW: (28, 200, 250), LightState.GREEN: (195, 248, 36)},
    "night": {LightState.RED: (8, 15, 230), LightState.YELLOW: (4, 124, 230), LightState.GREEN: (115, 223, 7)},
}
SKY, HOUSING = {"day": 200, "night": 30}, {"day": 45, "night": 15}
GLASS: dict[str, Colour] = {"day": (35, 35, 110), "night": (15, 15, 22)}

DARK: Colour = (20, 20, 20)
VISOR = 1.3
"""Diameter of the dark inside of a visor, relative to the lamp's."""

PX_PER_M = 18.0


def drawn_head(
    hour: str,
    state: LightState,
    px_per_m: float = PX_PER_M,
    veil: float = 0.0,
    housing: Colour | None = None,
    core: Colour | None = None,
) -> Image:
    """A head of 0.52 x 1.16 m in the middle of a picture of 80 x 120 px.

    `veil` in [0, 1] is haze as bright as the sky. A `housing` of another colour has dark visors. `core` replaces the
    colour of the lit lamp's inner part.
    """
    bgr = np.full((120, 80, 3), SKY[hour], dtype=np.uint8)
    u0, v0, u1, v1 = (round(edge) for edge in head_box(px_per_m))
    plain = housing or (HOUSING[hour],) * 3
    cv2.rectangle(bgr, (u0, v0), (u1, v1), plain, -1)
    for number, lamp in enumerate((LightState.RED, LightState.YELLOW, LightState.GREEN)):
        dark = GLASS[hour] if lamp is LightState.RED else (HOUSING[hour],) * 3
        at = (40, round(60 + (number - 1) * 1.16 * px_per_m / 3))
        if housing is not None:
            cv2.circle(bgr, at, round(VISOR * LAMP_M * px_per_m / 2), DARK, -1)
        cv2.circle(bgr, at, round(LAMP_M * px_per_m / 2), LIT[hour][lamp] if lamp is state else dark, -1)
        if lamp is state and core is not None:
            cv2.circle(bgr, at, round(0.7 * LAMP_M * px_per_m / 2), core, -1)
    return np.asarray((1.0 - veil) * bgr + veil * 200.0, dtype=np.uint8)


def head_box(px_per_m: float = PX_PER_M) -> tuple[float, float, float, float]:
    """The box of the drawn head."""
    half, high = 0.26 * px_per_m, 0.58 * px_per_m
    return 40.0 - half, 60.0 - high, 40.0 + half, 60.0 + high
