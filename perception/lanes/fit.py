"""Points on the ground -> lines y(x): grown from one Hough segment each, fitted robustly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perception.lanes.likeness import appearance, paint_likeness
from perception.lanes.lines import StripePoints

Float = NDArray[np.float64]

LINES_MAX = 5
GROWTHS_MAX = 4
REACH_M, REACH_SLOPE = 5.0, 0.15
"""Lines further to the side than the ego lane's and its neighbours' are of no use."""

POINTS_MIN = 7
LENGTH_MIN_M = 1.2
GROW_BACK_M, GROW_AHEAD_M = 5.0, 10.0
TOLERANCE_M = 0.10
TOLERANCE_SIGMA = 1.5
TOLERANCE_MAX_M = 0.6
BEND_SIGMA = np.array([0.01, 0.00012])
"""How far a line's quadratic and cubic coefficients stray from those of the driven path."""

PIXEL_SIGMA = 0.7
GROUND_SIGMA_M = 0.015
HUBER = 1.5
CORRELATED_POINTS = 6.0
"""Rows beside each other see the same unevenness of paint: this many points count as one."""

BIN_M = 0.5


@dataclass(frozen=True, slots=True)
class LineFit:
    """y = c0 + c1 x + c2 x^2 + c3 x^3 in the vehicle frame, (4,) with covariance (4, 4), supported from x_min_m to
    x_max_m.

    `coverage` is the painted share of that length; `residual_m` the weighted RMS distance of the points;
    `yellow_share`, `double_share` are shares of the points; `likeness` says how much they look like
    paint on a road, None where they are too far to tell.
    """

    coefficients: Float
    covariance: Float
    x_min_m: float
    x_max_m: float
    points: int
    coverage: float
    residual_m: float
    yellow_share: float
    double_share: float
    likeness: float | None


def fit_lines(points: StripePoints, curvature_1pm: float) -> list[LineFit]:
    """Up to `LINES_MAX` lines, best supported first; `curvature_1pm` is the path's, a prior on the lines' bend."""
    sigma = np.hypot(points.sigma_m * PIXEL_SIGMA, GROUND_SIGMA_M)
    free = np.abs(points.y_m - curvature_1pm / 2.0 * points.x_m**2) <= REACH_M + REACH_SLOPE * points.x_m
    lines: list[LineFit] = []
    tried: set[int] = set()
    bend = np.array([curvature_1pm / 2.0, 0.0])
    curvature_variance = (BEND_SIGMA[0] / 2.0) ** 2
    while len(lines) < LINES_MAX:
        seed = _best_seed(points, sigma, free, tried)
        if seed is None:
            break
        tried.add(seed)
        own = free & (points.segment == seed)
        alike = free & (points.is_yellow == (points.is_yellow[own].mean() > 0.5))
        member = _grow(points, sigma, own & alike, alike, bend)
        line = _describe(points, sigma, member, bend)
        if line is not None:
            lines.append(line)
            if line.covariance[2, 2] < curvature_variance:  # lines of one road bend alike
                bend, curvature_variance = line.coefficients[2:], float(line.covariance[2, 2])
            free &= ~_beside(points, line)
    return lines


def weighted_fit(x: Float, y: Float, sigma: Float, bend: Float, rounds: int = 3) -> tuple[Float, Float]:
    """Cubic (4,) and covariance (4, 4) by iteratively reweighted least squares with Huber's weights.

    The quadratic and cubic coefficients have a normal prior about `bend` (2,), that of the driven path or of a line
    beside, so a short piece comes out as a parallel to it rather than as a wild curve. One of the `rounds` is plain
    least squares.
    """
    design = _powers(x)
    prior = np.diag([1e-6, 1e-3, *(1.0 / BEND_SIGMA**2)])
    mean = np.array([0.0, 0.0, *bend])
    weight = 1.0 / sigma**2
    for turn in range(rounds):
        weighted = design.T * weight
        information = weighted @ design / CORRELATED_POINTS + prior
        right = weighted @ y / CORRELATED_POINTS + prior @ mean
        coefficients = np.linalg.solve(information, right)
        if turn + 1 == rounds:
            break
        residual = np.abs(y - design @ coefficients) / sigma
        weight = np.minimum(1.0, HUBER / np.maximum(residual, 1e-9)) / sigma**2
    return np.asarray(coefficients), np.asarray(np.linalg.inv(information))


def _powers(x: Float) -> Float:
    """(N, 4): 1, x, x^2, x^3."""
    return np.column_stack([np.ones_like(x), x, x * x, x**3])


def _slope(coefficients: Float, x: Float) -> Float:
    return np.asarray(coefficients[1] + x * (2.0 * coefficients[2] + 3.0 * coefficients[3] * x))


def _best_seed(points: StripePoints, sigma: Float, free: NDArray[np.bool_], tried: set[int]) -> int | None:
    """The segment with most free points, near ones weighing more."""
    free = free & (points.segment >= 0)
    if not free.any():
        return None
    support = np.bincount(points.segment[free], weights=0.05 / (0.02 + sigma[free]))
    for index in np.argsort(-support, kind="stable"):
        if support[index] <= 0.0:
            return None
        if int(index) not in tried:
            return int(index)
    return None


def _grow(
    points: StripePoints, sigma: Float, member: NDArray[np.bool_], free: NDArray[np.bool_], bend: Float
) -> NDArray[np.bool_]:
    """Take in free points that continue the line, ever further, until no more join."""
    design = _powers(points.x_m)
    for _ in range(GROWTHS_MAX):
        if member.sum() < 4:
            return member
        coefficients, covariance = weighted_fit(points.x_m[member], points.y_m[member], sigma[member], bend)
        low, high = points.x_m[member].min(), points.x_m[member].max()
        vague = np.sqrt(((design @ covariance) * design).sum(axis=1))
        reach = np.minimum(TOLERANCE_M + 2.0 * sigma + TOLERANCE_SIGMA * vague, TOLERANCE_MAX_M)
        off = np.abs(points.y_m - design @ coefficients)
        off = off / np.sqrt(1.0 + _slope(coefficients, points.x_m) ** 2)
        in_reach = (points.x_m >= low - GROW_BACK_M) & (points.x_m <= high + GROW_AHEAD_M)
        grown = free & in_reach & (off <= reach)
        if (grown == member).all():
            break
        member = grown
    return member


def _beside(points: StripePoints, line: LineFit) -> NDArray[np.bool_]:
    """Points on or right beside `line`: they belong to it and seed no second one."""
    off = np.abs(points.y_m - np.polynomial.polynomial.polyval(points.x_m, line.coefficients))
    slope = _slope(line.coefficients, points.x_m)
    in_reach = (points.x_m >= line.x_min_m - 1.0) & (points.x_m <= line.x_max_m + 1.0)
    return np.asarray(in_reach & (off / np.sqrt(1.0 + slope**2) < 0.5), dtype=np.bool_)


def _describe(points: StripePoints, sigma: Float, member: NDArray[np.bool_], bend: Float) -> LineFit | None:
    count = int(member.sum())
    if count < POINTS_MIN:
        return None
    x, y = points.x_m[member], points.y_m[member]
    low, high = float(x.min()), float(x.max())
    if high - low < LENGTH_MIN_M:
        return None
    coefficients, covariance = weighted_fit(x, y, sigma[member], bend)
    off = (y - np.polynomial.polynomial.polyval(x, coefficients)) / sigma[member]
    bins = np.arange(low, high + BIN_M, BIN_M)
    # Far rows are further apart than a bin is long: each point covers what its row covers.
    filled, _ = np.histogram(x, bins)
    near = bins[:-1] < 18.0
    seen = appearance(points, member)
    return LineFit(
        coefficients=coefficients,
        covariance=covariance,
        x_min_m=low,
        x_max_m=high,
        points=count,
        coverage=float(np.mean(filled[near] > 0)) if near.any() else 0.0,
        residual_m=float(np.sqrt(np.mean(off**2)) * np.median(sigma[member])),
        yellow_share=float(np.mean(points.is_yellow[member])),
        double_share=float(np.mean(points.is_double[member])),
        likeness=None if seen is None else paint_likeness(seen),
    )
