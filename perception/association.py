"""Which of the things in a picture is which track, by where they are and how their boxes overlap; never by looks."""

from __future__ import annotations

import math

import numpy as np
from numba import boolean, float64, int64
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from av_stack.types import EgoState, Float
from perception.compiled import compiled
from perception.track_rows import IS_WIDE, LOOKS, TRACKS, Rows

GATE = 11.8
"""Squared Mahalanobis distance of three sigma with two degrees of freedom."""

OVERLAP_GATE = 4.0 * GATE
"""The same for what lies where the track's box was in the picture."""

OVERLAP_MIN, OVERLAP_WEIGHT, OVERLAP_MAX_AGE_S = 0.3, 6.0, 0.25
OTHER_KIND_COST, OTHER_WIDTH_COST = 9.0, 12.0
"""Of another name for a vehicle of about the same shape, and of a wide one that is said to be narrow."""

COST_MAX = 16.0
"""Beyond it a thing is likelier one that has just come into view: one such in some 3000 m2."""

FORBIDDEN = 1e6
TWIN_M = 0.8

Numbers = NDArray[np.int64]


@compiled("float64(float64[:], float64[:])")
def overlap(a: Float, b: Float) -> float:
    """Intersection over union of boxes (u0, v0, u1, v1); 0 for empty ones."""
    both = max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
    if not both > 0.0:
        return 0.0
    return float(both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both))


@compiled((TRACKS, LOOKS, int64, float64, float64, boolean[:]))
def _costs(tracks: Rows, looks: Rows, camera: int, x_m: float, y_m: float, is_wide: NDArray[np.bool_]) -> Float:
    """`costs`, with the ego at (`x_m`, `y_m`)."""
    out = np.empty((len(tracks), len(looks)))
    for i in range(len(tracks)):
        track = tracks[i]
        covariance, box = track.covariance, track.box_px[camera]
        is_new = track.box_age_s[camera] <= OVERLAP_MAX_AGE_S
        for j in range(len(looks)):
            look = looks[j]
            spread = look.spread_m2
            xx, yy = covariance[0, 0] + spread[0, 0], covariance[1, 1] + spread[1, 1]
            xy = covariance[0, 1] + spread[0, 1]
            x, y = look.off_m[0] + x_m - track.state[0], look.off_m[1] + y_m - track.state[1]
            area = xx * yy - xy**2
            distance = (yy * x**2 - 2.0 * xy * x * y + xx * y**2) / area
            shared = overlap(box, look.box_px) if is_new else 0.0
            cost = distance + math.log(area) - OVERLAP_WEIGHT * shared
            if track.kind != look.kind:
                cost += OTHER_KIND_COST
            if is_wide[track.kind] != is_wide[look.kind]:
                cost += OTHER_WIDTH_COST
            gate = OVERLAP_GATE if shared >= OVERLAP_MIN else GATE
            out[i, j] = FORBIDDEN if cost > COST_MAX or distance > gate else cost
    return out


@compiled("UniTuple(int64[:], 2)(float64[:, :], int64[:], int64[:])")
def _allowed(cost: Float, rows: Numbers, columns: Numbers) -> tuple[Numbers, Numbers]:
    """Of paired rows and columns those whose cost is not forbidden."""
    some_rows, some_columns, count = np.empty_like(rows), np.empty_like(columns), 0
    for i in range(len(rows)):
        if cost[rows[i], columns[i]] < FORBIDDEN:
            some_rows[count], some_columns[count] = rows[i], columns[i]
            count += 1
    return some_rows[:count], some_columns[:count]


def matches(tracks: Rows, looks: Rows, ego: EgoState, camera: int = 0) -> tuple[Numbers, Numbers]:
    """Numbers of the tracks and of the things in a picture of `camera` that belong together: the optimal
    assignment."""
    if not len(tracks) or not len(looks):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    cost = costs(tracks, looks, ego, camera)
    return _allowed(cost, *linear_sum_assignment(cost))


def costs(tracks: Rows, looks: Rows, ego: EgoState, camera: int = 0) -> Float:
    """(tracks, things): negative log likelihood of each pair, less its overlap; FORBIDDEN beyond both gates."""
    return _costs(tracks, looks, camera, ego.x_m, ego.y_m, IS_WIDE)


def without_twins(tracks: Rows) -> Rows:
    """Of two tracks on one road user the one with fewer matches goes, unless both were seen in one picture of now."""
    if (tracks["box_age_s"][:, 0] == 0.0).all():
        return tracks
    shown = tracks["box_age_s"] == 0.0
    seen, is_wide = shown.any(axis=1), IS_WIDE[tracks["kind"]]
    gap = tracks["state"][:, None, :2] - tracks["state"][:, :2]
    is_twin = (np.hypot(gap[..., 0], gap[..., 1]) < TWIN_M) & (is_wide[:, None] == is_wide)
    is_twin &= ~(shown @ shown.T)
    if is_twin.sum() == len(tracks) - seen.sum():  # each of the unseen ones is near to itself alone
        return tracks
    kept: list[int] = []
    for i in np.lexsort((tracks["track_id"], -tracks["hits"])):
        if not is_twin[i, kept].any():
            kept.append(i)
    return tracks.take(kept)
