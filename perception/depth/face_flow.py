"""Fits the motion of each object, relative to the camera, to the tracked corners in its box; all objects at once.

The visible side of an object, its face, is modelled as an upright plane. An object moved by (X, Y, Z) (right, down,
forward) between two pictures. A corner that is now at (x, y), depth z, was before at (x - X / z, y - Y / z) /
(1 - Z / z). Inverse depth changes linearly from one side of a face to the other. A least-squares fit gives the motion
as a fraction of the distance (Longuet-Higgins and Prazdny, "The interpretation of a moving retinal image", Proc. R.
Soc. B 208, 1980; Lee, "A theory of visual control of braking based on information about time-to-collision",
Perception 5, 1976).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import intrinsics, optical_to_vehicle_rotation, rotation_matrix
from av_core.types import CameraModel, Float

CORNERS_MIN = 4
"""Minimum number of agreeing corners."""

PIXEL_SIGMA = 0.12
"""Minimum standard deviation of a corner's position, px, however well the corners agree."""

INLIER_PX, INLIER_SHARE_MIN = 0.8, 0.6
"""Residual, px, up to which a corner agrees (more where the median residual is large), and the minimum share of
agreeing corners."""

ROUNDS = 6
"""Number of Gauss-Newton iterations."""

RISE_SIGMA_MPS = 0.15
"""Prior standard deviation of vertical velocity against the camera, m/s: road users neither climb nor sink, except by
the road's slope and the body's swing."""

SLANT_SIGMA = 0.12
"""Prior standard deviation of a face's slant: relative change of inverse depth over one standard deviation of its
corners to the right."""

TYPICAL_M = 15.0
"""Typical distance, m, that converts the vertical prior to a fraction of the distance."""

STEP_MAX = 0.6
"""Maximum change of an unknown per iteration."""

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BoxFlow:
    """Motion of one object over the last `span_s` seconds (`pictures` steps), as fractions of its distance.

    `moved` (2,) is the displacement (right, forward) relative to the camera, in the level frame of the camera's
    heading, divided by the depth of the tracked corners; `covariance` (2, 2).
    """

    span_s: float
    pictures: int
    moved: Float
    covariance: Float


def box_flows(
    trail: Float, owner: Numbers, longest: Numbers, times_s: Float, camera: CameraModel
) -> list[BoxFlow | None]:
    """Fit each box over the longest span for which enough of its corners are tracked; None where too few are or agree.

    `trail` (N, A, 2) holds each corner's position `n` pictures and `times_s[n]` seconds ago, in normalised coordinates
    of the camera's present orientation. `owner` (N,) is the index of its box or -1; `longest` (B,) is each box's
    maximum number of pictures to look back.
    """
    found: list[BoxFlow | None] = [None] * len(longest)
    if not len(trail) or not found:
        return found
    known: Flags = np.asarray(np.isfinite(trail).all(axis=2))
    known = known & known[:, :1]
    age = _ages(known, owner, np.minimum(longest, len(times_s) - 1))
    rows = np.flatnonzero((owner >= 0) & (age[owner] > 0) & known[np.arange(len(known)), age[owner]])
    rows = rows[np.argsort(owner[rows], kind="stable")]
    boxes, first, counts = np.unique(owner[rows], return_index=True, return_counts=True)
    if not len(boxes):
        return found
    then, now = _level(np.stack([trail[rows, age[owner[rows]]], trail[rows, 0]]), camera)
    is_there = np.arange(counts.max()) < counts[:, None]
    places = np.where(is_there, first[:, None] + np.arange(counts.max()), 0)
    span_s, focal = times_s[age[boxes]], float(intrinsics(camera)[0, 0])
    moved, covariance, is_good = _fit(then[places], now[places], is_there, RISE_SIGMA_MPS * span_s, focal)
    for k in np.flatnonzero(is_good).tolist():
        found[boxes[k]] = BoxFlow(float(span_s[k]), int(age[boxes[k]]), moved[k], covariance[k])
    return found


def _ages(known: Flags, owner: Numbers, longest: Numbers) -> Numbers:
    """Longest age (B,), in pictures, at which enough corners of each box are known; 0 for none."""
    is_of = (owner == np.arange(len(longest))[:, None]).astype(np.float64)
    ages = np.arange(known.shape[1])
    enough = (is_of @ known >= CORNERS_MIN) & (ages <= longest[:, None])
    return np.asarray((enough * ages).max(axis=1))


def _level(points: Float, camera: CameraModel) -> Float:
    """Normalised image points (..., 2) rotated into a level camera with the same heading."""
    turn = rotation_matrix(camera.yaw_rad, 0.0, 0.0).T @ optical_to_vehicle_rotation(camera)
    rays = points @ turn[:, :2].T + turn[:, 2]
    ahead = np.where(rays[..., :1] > 1e-3, rays[..., :1], np.nan)
    return np.asarray(-rays[..., 1:] / ahead)


def _fit(then: Float, now: Float, is_there: Flags, rise_sigma_m: Float, focal_px: float) -> tuple[Float, Float, Flags]:
    """Gauss-Newton fit -> (right and forward (B, 2), covariance (B, 2, 2), whether enough corners agree (B,)).

    `then` and `now` (B, K, 2) hold the corners of each box, valid where `is_there` (B, K).
    """
    count = is_there.sum(axis=1)
    middle = (is_there * now[:, :, 0]).sum(axis=1) / count
    side = is_there * (now[:, :, 0] - middle[:, None])
    side = side / np.maximum(np.sqrt((side**2).sum(axis=1) / count), 2.0 / focal_px)[:, None]
    # unknowns: right, down, forward (fractions of the distance), slant
    guess, prior = np.zeros((len(then), 4)), np.zeros((len(then), 4))
    prior[:, 1], prior[:, 3] = (TYPICAL_M / rise_sigma_m) ** 2, SLANT_SIGMA**-2.0
    for _ in range(ROUNDS):
        off, slope = _misses(guess, then, now, side)
        miss = np.sqrt((off**2).sum(axis=2))
        is_in = is_there & (miss < np.maximum(INLIER_PX / focal_px, 2.5 * _medians(miss, is_there, count))[:, None])
        inliers = is_in.sum(axis=1)
        variance = (is_in * miss**2).sum(axis=1) / np.maximum(2.0 * inliers - 4.0, 1.0)
        weight = is_in / ((PIXEL_SIGMA / focal_px) ** 2 + variance)[:, None]
        rows = (slope * weight[:, :, None, None]).reshape(len(then), -1, 4).transpose(0, 2, 1)
        information = rows @ slope.reshape(len(then), -1, 4)
        information += (prior + 1e-9)[:, :, None] * np.eye(4)
        pull = (rows @ off.reshape(len(then), -1, 1))[:, :, 0] - prior * guess
        step = np.linalg.solve(information, pull[:, :, None])[:, :, 0]
        guess = guess + np.minimum(np.maximum(step, -STEP_MAX), STEP_MAX)
    is_good = (inliers >= CORNERS_MIN) & (inliers >= INLIER_SHARE_MIN * count)
    is_good &= (guess[:, 2] > -1.0) & (guess[:, 2] < 0.7)
    covariance = np.linalg.inv(information)
    return guess[:, ::2], covariance[:, ::2, ::2], is_good


def _misses(guess: Float, then: Float, now: Float, side: Float) -> tuple[Float, Float]:
    """Residuals (B, K, 2) of the earlier corner positions for the guess (B, 4), and the Jacobian (B, K, 2, 4)."""
    shift, forward, slant = guess[:, None, :2], guess[:, 2, None], guess[:, 3, None]
    near = 1.0 + slant * side
    ahead = np.maximum(1.0 - forward * near, 0.1)
    put = (now - near[:, :, None] * shift) / ahead[:, :, None]
    share = near / ahead
    slope = np.zeros((*side.shape, 2, 4))
    slope[:, :, 0, 0] = slope[:, :, 1, 1] = -share
    slope[:, :, :, 2] = put * share[:, :, None]
    slope[:, :, :, 3] = (put * forward[:, :, None] - shift) * (side / ahead)[:, :, None]
    return then - put, slope


def _medians(values: Float, is_there: Flags, count: Numbers) -> Float:
    """Median (B,) of each row of `values` (B, K), over the `count` (B,) valid ones."""
    ordered, rows = np.sort(np.where(is_there, values, np.inf), axis=1), np.arange(len(values))
    return np.asarray((ordered[rows, (count - 1) // 2] + ordered[rows, count // 2]) / 2.0)
