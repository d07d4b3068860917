"""Display curves: from linear light to display values, as coefficients of the rational function in shading.glsl."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Curve = tuple[float, float, float, float]
FILM_CURVE: Curve = (5.72871, -0.08034, 5.79049, -0.57977)
"""The default look's curve: filmic (Narkowicz, 2015), with the sRGB transfer function."""

_LIGHT = np.linspace(0.0, 2.2, 300) ** 2
"""Light at which curves are fitted; denser in the dark."""


def apply_curve(curve: Curve, light: F64) -> F64:
    """Display values of linear `light` (exposed), not limited to 1."""
    a, b, c, d = curve
    s = np.sqrt(light)
    return np.asarray((a * light + b * s) / (c * light + d * s + 1.0))


def fit_curve(film: float, gamma: float) -> Curve:
    """The curve between a power law that saturates at 1 (`film` 0) and a film-like roll-off (`film` 1).

    `gamma` is the exponent from display values to light. The fit is linear least squares on
    y (c x + d s + 1) = c x + b s, where s is the square root of x: the brightest light is shown as 1. It deviates from
    the curve asked for by up to 0.09.
    """
    x, s = _LIGHT, np.sqrt(_LIGHT)
    rolled = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    clipped = -np.log1p(np.expm1(-x * 4.0) * (1.0 - np.exp(-4.0))) / 4.0  # x, with a knee below 1
    y = (film * rolled + (1.0 - film) * clipped) ** (1.0 / gamma)
    (c, b, d), *_ = np.linalg.lstsq(np.stack([x * (1.0 - y), s, -s * y], axis=1), y, rcond=None)
    return float(c), float(b), float(c), float(d)
