"""The offset of the driven path from the route: a profile along the route, smoothed, and the path that it makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded

from av_core.curve import Curve
from av_core.types import Float
from planning.reference_path import Route, third_difference_bands

_WAVELENGTH_M, _WAVELENGTH_S = 6.0, 1.2
"""Changes of offset over less than this way, or what the ego drives in this time, are smoothed out."""

_KEEP_WEIGHT = 1e3


def smooth_offset(offset_m: Float, keep: int, spacing_m: float, speed_mps: float) -> Float:
    """A smoothed profile (N,) of points `spacing_m` apart; its first `keep` points stay as they are.

    Whittaker smoothing with a penalty on third differences. Eilers (2003), "A Perfect Smoother".
    """
    wavelength_m = max(_WAVELENGTH_M, _WAVELENGTH_S * speed_mps)
    bands = third_difference_bands(len(offset_m)) * float(2.0 * np.sin(np.pi * spacing_m / wavelength_m)) ** -6
    weight = np.ones(len(offset_m))
    weight[:keep] = _KEEP_WEIGHT * wavelength_m**2
    weight[-1] = _KEEP_WEIGHT
    bands[-1] += weight
    smoothed = solveh_banded(bands, weight * offset_m)
    smoothed[:keep] = offset_m[:keep]
    return np.asarray(smoothed)


def shifted(route: Route, first: int, offset_m: Float) -> Route:
    """`route` with the points from row `first` on moved to the left by `offset_m` (M,); stations stay those of `route`.

    On a bend, a shifted path is longer or shorter than its stations say, by the offset times the change of heading.
    """
    old = route.curve
    rows = slice(first, first + len(offset_m))
    x, y, yaw, curvature = (column.copy() for column in (old.x_m, old.y_m, old.yaw_rad, old.curvature_1pm))
    s, heading = old.s_m[rows], old.yaw_rad[rows]
    x[rows] -= offset_m * np.sin(heading)
    y[rows] += offset_m * np.cos(heading)
    slope = np.gradient(offset_m, s)
    stretch = np.maximum(1.0 - old.curvature_1pm[rows] * offset_m, 0.2)
    yaw[rows] += np.arctan2(slope, stretch)
    curvature[rows] = (old.curvature_1pm[rows] + np.gradient(np.arctan2(slope, stretch), s)) / np.hypot(stretch, slope)
    return replace(route, curve=Curve(old.s_m, x, y, yaw, curvature))
