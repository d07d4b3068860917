"""What foot points tell of each road user's height in the course of time, and so of its distance by size."""

from __future__ import annotations

import math

import numpy as np
from numba import float64

from av_stack.types import Float
from perception.compiled import compiled, inner
from perception.track_rows import LOOKS, TRACKS, Rows

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


@compiled((TRACKS, LOOKS, float64, float64))
def rescale(tracks: Rows, looks: Rows, x_m: float, y_m: float) -> tuple[Float, Float]:
    """Change what each track knows of its height by the look of its row, and the look's place by what is known then,
    with the ego at (`x_m`, `y_m`) -> metres (N,) by which each thing lies further away than it was taken to, and by how
    much (N, 2) its place is off its track's.

    With a wrong height all distances are wrong by one factor, and so is the speed at which it comes nearer. Nothing
    changes where foot point or size is not known.
    """
    further_m, off_m = np.zeros(len(tracks)), np.empty((len(tracks), 2))
    for n in range(len(tracks)):
        track, look = tracks[n], looks[n]
        foot, foot_sigma = look.by_foot[0], look.by_foot[1]
        size, size_sigma, shake = look.by_size[0], look.by_size[1], look.by_size[2] / look.by_size[0]
        variance = track.scale_variance + SCALE_DRIFT
        gain = variance / (variance + FOOT_CORRELATION * (foot_sigma / foot) ** 2 + shake**2)
        away_m = math.hypot(look.off_m[0], look.off_m[1])
        if math.isfinite(gain):
            track.scale_log = track.scale_log + gain * (math.log(foot / size) - track.scale_log)
            track.scale_variance = (1.0 - gain) * variance
            if away_m >= CENTRE_MIN_M:
                right = size * math.exp(track.scale_log)
                after = _mean(foot, foot_sigma, right, right * math.sqrt(track.scale_variance + shake**2))
                further_m[n] = after - _mean(foot, foot_sigma, size, size_sigma)
        share = 1.0 + further_m[n] / max(away_m, 1e-9)
        look.off_m[0] *= share
        look.off_m[1] *= share
        off_m[n, 0], off_m[n, 1] = x_m + look.off_m[0] - track.state[0], y_m + look.off_m[1] - track.state[1]
    return further_m, off_m
