"""Estimates each road user's height over time, and corrects its measured distance by that height.

The distance by size assumes the mean height of its kind; the distance by foot point assumes no height. Their ratio,
filtered over many pictures, tells how much taller or shorter than the mean a road user is.
"""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from av_core.compiled import compiled, inner
from av_core.types import Float
from perception.tracking.track_rows import MEASUREMENTS, TRACKS, Rows

SCALE_VARIANCE = 0.02
"""Initial variance of the log ratio of a road user's height to its kind's mean."""

FOOT_CORRELATION, SCALE_DRIFT = 4.0, 1e-5
"""Number of pictures over which foot point errors are correlated; variance growth of the log ratio per picture, since
only the visible part of a constant height may change."""

RANGE, SIGMA, JITTER = range(3)
"""Indices of a measurement's cues, `by_foot` and `by_size`."""

X, Y = range(2)
"""First indices of a track's `state`, as in `turning_motion`."""

CENTRE_MIN_M = 1.0
"""Minimum distance at which an object's range is corrected, m."""


@inner
def _mean(a: float, a_sigma: float, b: float, b_sigma: float) -> float:
    """Mean of two distances, weighted by inverse variance."""
    a_weight, b_weight = 1.0 / (a_sigma * a_sigma), 1.0 / (b_sigma * b_sigma)
    return (a_weight * a + b_weight * b) / (a_weight + b_weight)


@compiled((TRACKS, MEASUREMENTS, float64, float64))
def rescale(tracks: Rows, measurements: Rows, x_m: float, y_m: float) -> tuple[Float, Float]:
    """Update the height of each track by its measurement, and correct the position of the measurement by this height.

    Both are changed in place; row i of `tracks` belongs to row i of `measurements`. The ego is at (`x_m`, `y_m`).
    Returns the corrections (N,) of the distances, m, positive for objects further away than measured, and the position
    innovations (N, 2). The correction matters because a wrong height scales all distances, and so the closing speed, by
    one factor. Measurements without a foot point or a size cue are not corrected.
    """
    further_m, off_m = np.zeros(len(tracks)), np.empty((len(tracks), 2))
    for n in range(len(tracks)):
        track, measurement = tracks[n], measurements[n]
        foot, foot_sigma = measurement.by_foot[RANGE], measurement.by_foot[SIGMA]
        size, size_sigma = measurement.by_size[RANGE], measurement.by_size[SIGMA]
        shake = measurement.by_size[JITTER] / size
        variance = track.scale_variance + SCALE_DRIFT
        gain = variance / (variance + FOOT_CORRELATION * (foot_sigma / foot) ** 2 + shake**2)
        away_m = math.hypot(measurement.off_m[0], measurement.off_m[1])
        if math.isfinite(gain):
            track.scale_log = track.scale_log + gain * (math.log(foot / size) - track.scale_log)
            track.scale_variance = (1.0 - gain) * variance
            if away_m >= CENTRE_MIN_M:
                right = size * math.exp(track.scale_log)
                after = _mean(foot, foot_sigma, right, right * math.sqrt(track.scale_variance + shake**2))
                further_m[n] = after - _mean(foot, foot_sigma, size, size_sigma)
        share = 1.0 + further_m[n] / max(away_m, 1e-9)
        measurement.off_m[0] *= share
        measurement.off_m[1] *= share
        off_m[n, 0] = x_m + measurement.off_m[0] - track.state[X]
        off_m[n, 1] = y_m + measurement.off_m[1] - track.state[Y]
    return further_m, off_m
