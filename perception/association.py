"""Which of the things in a picture is which track, by where they are and how their boxes overlap; never by looks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from av_stack.types import EgoState, Float
from perception.tracks import IS_WIDE, Rows

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


def matches(tracks: Rows, looks: Rows, ego: EgoState, camera: int = 0) -> tuple[Numbers, Numbers]:
    """Numbers of the tracks and of the things in a picture of `camera` that belong together: the optimal
    assignment."""
    if not len(tracks) or not len(looks):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    cost = costs(tracks, looks, ego, camera)
    rows, columns = linear_sum_assignment(cost)
    allowed = cost[rows, columns] < FORBIDDEN
    return rows[allowed], columns[allowed]


def costs(tracks: Rows, looks: Rows, ego: EgoState, camera: int = 0) -> Float:
    """(tracks, things): negative log likelihood of each pair, less its overlap; FORBIDDEN beyond both gates."""
    spread = tracks["covariance"][:, None, :2, :2] + looks["spread_m2"]
    xx, xy, yy = spread[..., 0, 0], spread[..., 0, 1], spread[..., 1, 1]
    off = (looks["off_m"] + [ego.x_m, ego.y_m]) - tracks["state"][:, None, :2]
    x, y = off[..., 0], off[..., 1]
    area = xx * yy - xy**2
    distance = (yy * x**2 - 2.0 * xy * x * y + xx * y**2) / area
    shared = overlap(tracks["box_px"][:, None, camera], looks["box_px"])
    shared *= (tracks["box_age_s"][:, camera] <= OVERLAP_MAX_AGE_S)[:, None]
    cost = distance + np.log(area) - OVERLAP_WEIGHT * shared
    cost += OTHER_KIND_COST * (tracks["kind"][:, None] != looks["kind"])
    cost += OTHER_WIDTH_COST * (IS_WIDE[tracks["kind"]][:, None] != IS_WIDE[looks["kind"]])
    cost[cost > COST_MAX] = FORBIDDEN
    cost[distance > np.where(shared >= OVERLAP_MIN, OVERLAP_GATE, GATE)] = FORBIDDEN
    return np.asarray(np.minimum(cost, FORBIDDEN))


def overlap(a: ArrayLike, b: ArrayLike) -> Float:
    """Intersection over union of boxes (..., 4) as (u0, v0, u1, v1), broadcast; 0 for empty ones."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    sides = np.maximum(high - low, 0.0)
    both = sides[..., 0] * sides[..., 1]
    areas = [(box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1]) for box in (a, b)]
    return np.asarray(both / np.where(both > 0.0, areas[0] + areas[1] - both, 1.0))


def without_twins(tracks: Rows) -> Rows:
    """Of two tracks on one road user the one with fewer matches goes, unless both were seen in one picture of now."""
    shown = tracks["box_age_s"] == 0.0
    if shown[:, 0].all():
        return tracks
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
