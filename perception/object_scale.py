"""What foot points tell of each road user's height in the course of time, and so of its distance by size."""

from __future__ import annotations

import numpy as np

from av_stack.types import Float
from perception.tracks import Rows

SCALE_VARIANCE = 0.02
"""Of the natural logarithm of a road user's height over its kind's mean, before anything is known."""

FOOT_CORRELATION, SCALE_DRIFT = 4.0, 1e-5
"""Foot points share their error over several pictures; heights stay, but for what of them is seen."""

CENTRE_MIN_M = 1.0


def rescaled(looks: Rows, scale_log: Float | float, scale_variance: Float | float) -> tuple[Float, Float, Float]:
    """(scale_log (N,), scale_variance (N,), metres (N,) by which each thing lies further away than it was taken to).

    With a wrong height all distances are wrong by one factor, and so is the speed at which it comes nearer. Nothing
    changes where foot point or size is not known.
    """
    foot, foot_sigma, _ = looks["by_foot"].T
    size, size_sigma, size_jitter = looks["by_size"].T
    shake = size_jitter / size
    variance = scale_variance + SCALE_DRIFT
    gain = variance / (variance + FOOT_CORRELATION * (foot_sigma / foot) ** 2 + shake**2)
    log = scale_log + gain * (np.log(foot / size) - scale_log)
    left = (1.0 - gain) * variance
    right = size * np.exp(log)
    before = _mean(foot, foot_sigma, size, size_sigma)
    after = _mean(foot, foot_sigma, right, right * np.sqrt(left + shake**2))
    known = np.isfinite(gain)
    is_far = known & (np.hypot(*looks["off_m"].T) >= CENTRE_MIN_M)
    return (
        np.where(known, log, scale_log),
        np.where(known, left, scale_variance),
        np.where(is_far, after - before, 0.0),
    )


def _mean(a: Float, a_sigma: Float, b: Float, b_sigma: Float) -> Float:
    """Of two distances, weighted by inverse variance."""
    a_weight, b_weight = a_sigma**-2.0, b_sigma**-2.0
    return (a_weight * a + b_weight * b) / (a_weight + b_weight)
