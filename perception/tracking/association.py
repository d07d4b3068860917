"""Data association: matches road users in a picture to tracks by position and box overlap, never by appearance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int64
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from av_core.compiled import compiled, inner
from av_core.types import EgoState, Float
from perception.tracking.track_rows import IS_WIDE, MEASUREMENTS, TRACKS, Rows

GATE = 11.8
"""Gate on the squared Mahalanobis distance: three sigma with two degrees of freedom."""

OVERLAP_GATE = 4.0 * GATE
"""Wider gate for a measurement whose box overlaps the track's last box in the picture."""

OVERLAP_MIN = 0.3
"""Box overlap (IoU) from which the wider gate applies."""

OVERLAP_WEIGHT = 6.0
"""Reduction of the cost per unit of IoU."""

OVERLAP_MAX_AGE_S = 0.25
"""Maximum age of a track's last box that is compared, s."""

OTHER_KIND_COST = 9.0
"""Cost of a match with another kind of about the same width."""

OTHER_WIDTH_COST = 12.0
"""Cost of a match of a wide kind with a narrow one."""

COST_MAX = 16.0
"""Maximum cost of a match; above it the object is more likely a new one, at a density of about one in 3000 m2."""

FORBIDDEN = 1e6
"""Cost of a pair that must not match."""

DUPLICATE_M, WIDE_DUPLICATE_M = 0.8, 1.5
"""Maximum distance, m, between two tracks on one road user. Cars are wider than the second, so the middles of two of
them are never so close."""

Numbers = NDArray[np.int64]

X, Y = range(2)
"""First indices of a track's `state`, as in `turning_motion`."""


@compiled("float64(float64[:], float64[:])")
def overlap(a: Float, b: Float) -> float:
    """Intersection over union of boxes (u0, v0, u1, v1); 0 for empty ones."""
    both = max(min(a[2], b[2]) - max(a[0], b[0]), 0.0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
    if not both > 0.0:
        return 0.0
    return float(both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both))


@compiled((TRACKS, MEASUREMENTS, int64, float64, float64, boolean[:]))
def _costs(tracks: Rows, measurements: Rows, camera: int, x_m: float, y_m: float, is_wide: NDArray[np.bool_]) -> Float:
    """Cost of each pair, (tracks, measurements); FORBIDDEN beyond the gates. The ego is at (`x_m`, `y_m`).

    The cost is the squared Mahalanobis distance plus the log determinant, which is twice the negative log likelihood up
    to a constant, minus the weighted box overlap.
    """
    out = np.empty((len(tracks), len(measurements)))
    for i in range(len(tracks)):
        track = tracks[i]
        covariance, box = track.covariance, track.box_px[camera]
        is_new = track.box_age_s[camera] <= OVERLAP_MAX_AGE_S
        for j in range(len(measurements)):
            measurement = measurements[j]
            spread = measurement.spread_m2
            xx, yy = covariance[0, 0] + spread[0, 0], covariance[1, 1] + spread[1, 1]
            xy = covariance[0, 1] + spread[0, 1]
            x, y = measurement.off_m[0] + x_m - track.state[X], measurement.off_m[1] + y_m - track.state[Y]
            area = xx * yy - xy**2
            distance = (yy * x**2 - 2.0 * xy * x * y + xx * y**2) / area
            shared = overlap(box, measurement.box_px) if is_new else 0.0
            cost = distance + math.log(area) - OVERLAP_WEIGHT * shared
            if track.kind != measurement.kind:
                cost += OTHER_KIND_COST
            if is_wide[track.kind] != is_wide[measurement.kind]:
                cost += OTHER_WIDTH_COST
            gate = OVERLAP_GATE if shared >= OVERLAP_MIN else GATE
            out[i, j] = FORBIDDEN if cost > COST_MAX or distance > gate else cost
    return out


@compiled("UniTuple(int64[:], 2)(float64[:, :], int64[:], int64[:])")
def _drop_forbidden(cost: Float, rows: Numbers, columns: Numbers) -> tuple[Numbers, Numbers]:
    """The row and column pairs whose cost is not FORBIDDEN."""
    some_rows, some_columns, count = np.empty_like(rows), np.empty_like(columns), 0
    for i in range(len(rows)):
        if cost[rows[i], columns[i]] < FORBIDDEN:
            some_rows[count], some_columns[count] = rows[i], columns[i]
            count += 1
    return some_rows[:count], some_columns[:count]


def match_measurements(tracks: Rows, measurements: Rows, ego: EgoState, camera: int = 0) -> tuple[Numbers, Numbers]:
    """Indices of matched tracks and of their measurements in a picture of `camera`, by optimal assignment."""
    if not len(tracks) or not len(measurements):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    cost = _costs(tracks, measurements, camera, ego.x_m, ego.y_m, IS_WIDE)
    return _drop_forbidden(cost, *linear_sum_assignment(cost))


@inner
def _are_duplicates(one: Any, other: Any, is_wide: NDArray[np.bool_]) -> bool:
    """Whether two tracks have the same position and shape and were not both seen in one present picture."""
    for camera in range(len(one.box_age_s)):
        if one.box_age_s[camera] == 0.0 and other.box_age_s[camera] == 0.0:
            return False
    gap_m = math.hypot(one.state[X] - other.state[X], one.state[Y] - other.state[Y])
    if is_wide[one.kind] != is_wide[other.kind]:
        return False
    return gap_m < (WIDE_DUPLICATE_M if is_wide[one.kind] else DUPLICATE_M)


@compiled((TRACKS, boolean[:]))
def _distinct(tracks: Rows, is_wide: NDArray[np.bool_]) -> Numbers:
    """Indices of the tracks to keep.

    Without duplicates these are all tracks in their order; else the tracks without a better duplicate, sorted by most
    matches, then by age.
    """
    order, has_duplicates = np.empty(len(tracks), dtype=np.int64), False
    for n in range(len(tracks)):
        place, hits, track_id = n, tracks[n].hits, tracks[n].track_id
        for i in range(n):
            has_duplicates |= _are_duplicates(tracks[n], tracks[i], is_wide)
        while place > 0:
            other = tracks[order[place - 1]]
            if other.hits > hits or (other.hits == hits and other.track_id < track_id):
                break
            order[place] = order[place - 1]
            place -= 1
        order[place] = n
    if not has_duplicates:
        return np.arange(len(tracks))
    count = 0
    for number in order:
        is_duplicate = False
        for i in range(count):
            is_duplicate |= _are_duplicates(tracks[number], tracks[order[i]], is_wide)
        if not is_duplicate:
            order[count] = number
            count += 1
    return order[:count]


def drop_duplicates(tracks: Rows) -> Rows:
    """Drop the track with fewer matches of two on one road user, unless one present picture shows both."""
    if (tracks["box_age_s"][:, 0] == 0.0).all():
        return tracks
    single = _distinct(tracks, IS_WIDE)
    return tracks if len(single) == len(tracks) else tracks.take(single)
