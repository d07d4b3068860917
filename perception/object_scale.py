"""What foot points tell of each road user's height in the course of time, and so of its distance by size."""

from __future__ import annotations

import math

import numpy as np

from av_stack.types import Float
from perception.compiled import compiled, inner
from perception.tracks import Rows

SCALE_VARIANCE = 0.02
"""Of the natural logarithm of a road user's height over its kind's mean, before anything is known."""

FOOT_CORRELATION, SCALE_DRIFT = 4.0, 1e-5
"""Foot points share their error over several pictures; heights stay, but for what of them is seen."""

CENTRE_MIN_M = 1.0


@inner
def _mean(a: float, a_sigma: float, b: float, b_sigma: float) -> float:
    """Of two distances, weighted by inverse variance."""
    a_weight, b_weight = 1.0 / (a_sigma * a_sigma), 1.0 / (b_sigma * b_sigma)
    return (a_weight * a + b_weight * b) / (a_weight + b_weight)


@compiled("float64[:, :](float64[:, :], float64[:, :], float64[:, :], float64[:], float64[:])")
def _rescaled(by_foot: Float, by_size: Float, off_m: Float, scale_log: Float, scale_variance: Float) -> Float:
    """(3, N) as `rescaled` gives them."""
    out = np.empty((3, len(off_m)))
    for n in range(len(off_m)):
        foot, foot_sigma = by_foot[n, 0], by_foot[n, 1]
        size, size_sigma, shake = by_size[n, 0], by_size[n, 1], by_size[n, 2] / by_size[n, 0]
        variance = scale_variance[n] + SCALE_DRIFT
        gain = variance / (variance + FOOT_CORRELATION * (foot_sigma / foot) ** 2 + shake**2)
        out[0, n], out[1, n], out[2, n] = scale_log[n], scale_variance[n], 0.0
        if not math.isfinite(gain):
            continue
        out[0, n] = scale_log[n] + gain * (math.log(foot / size) - scale_log[n])
        out[1, n] = (1.0 - gain) * variance
        if math.hypot(off_m[n, 0], off_m[n, 1]) >= CENTRE_MIN_M:
            right = size * math.exp(out[0, n])
            after = _mean(foot, foot_sigma, right, right * math.sqrt(out[1, n] + shake**2))
            out[2, n] = after - _mean(foot, foot_sigma, size, size_sigma)
    return out


def rescaled(looks: Rows, scale_log: Float, scale_variance: Float) -> tuple[Float, Float, Float]:
    """(scale_log (N,), scale_variance (N,), metres (N,) by which each thing lies further away than it was taken to).

    With a wrong height all distances are wrong by one factor, and so is the speed at which it comes nearer. Nothing
    changes where foot point or size is not known.
    """
    log, variance, further_m = _rescaled(looks["by_foot"], looks["by_size"], looks["off_m"], scale_log, scale_variance)
    return log, variance, further_m
