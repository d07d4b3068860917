"""Fits lane lines to stripe points on the ground: robust cubics y(x) in the vehicle frame, with covariance.

`fit_lines` starts each line with the points of one Hough segment. It fits a cubic (least squares with Huber weights),
adds the points near the cubic, and fits again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv

from perception.lanes.lines import StripePoints
from perception.lanes.paint_classifier import appearance, median, paint_probability

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]

LINES_MAX = 5
"""Maximum number of lines per picture."""

GROWTHS_MAX = 4
"""Maximum number of times that a line is extended and fitted again."""

REACH_M, REACH_SLOPE = 5.0, 0.15
"""Lateral distance at x = 0, m, and its growth per metre ahead, up to which points count: further lines are beyond the
neighbouring lanes."""

POINTS_MIN = 7
"""Minimum number of points of a line."""

LENGTH_MIN_M = 1.2
"""Minimum length of a line, m."""

GROW_BACK_M, GROW_AHEAD_M = 5.0, 10.0
"""Distances behind and ahead of a line's points within which further points may join it, m."""

TOLERANCE_M = 0.10
"""Distance from a line up to which points join it, m, in addition to measurement and fit errors."""

TOLERANCE_SIGMA = 1.5
"""Multiple of the fit's standard deviation in that distance."""

TOLERANCE_MAX_M = 0.6
"""Maximum of that distance, m."""

BEND_SIGMA = np.array([0.01, 0.00012])
"""Standard deviations of a line's quadratic and cubic coefficients around those of the driven path."""

PIXEL_SIGMA = 0.7
"""Standard deviation of a stripe's centre, px."""

GROUND_SIGMA_M = 0.015
"""Further standard deviation of a point on the ground, m."""

HUBER = 1.5
"""Residual, in standard deviations, above which Huber's weights fall."""

CORRELATED_POINTS = 6.0
"""Number of points that count as one: neighbouring rows see the same unevenness of the paint."""

ROUNDS = 3
"""Number of least-squares iterations."""

PRIOR = np.diag([1e-6, 1e-3, *(1.0 / BEND_SIGMA**2)])
"""Prior information matrix of a cubic's coefficients."""

BIN_M = 0.5
"""Length of the bins for a line's painted share, m."""

SUMS = np.add.outer(np.arange(4), np.arange(4))
"""Exponent of the power sum x^0, ..., x^6 at each place of a cubic's normal equations."""


@dataclass(frozen=True, slots=True)
class LineFit:
    """Cubic y = c0 + c1 x + c2 x^2 + c3 x^3 in the vehicle frame, (4,) with covariance (4, 4), from x_min_m to x_max_m.

    `coverage` is the painted share of that length up to 18 m; `residual_m` the weighted RMS distance of the points;
    `yellow_share`, `double_share` are shares of the points; `paint_probability` is None where they are too far away
    to judge.
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
    paint_probability: float | None


@dataclass(frozen=True, slots=True)
class _Fitter:
    """All points of a picture with the terms that every fit to a subset of them needs.

    `terms` (N, 11) are 1, x, ..., x^6, y, x y, x^2 y, x^3 y; the first four columns give a line's y, `slopes` (N, 4)
    its slope.
    """

    points: StripePoints
    sigma: Float
    terms: Float
    slopes: Float

    @staticmethod
    def of(points: StripePoints) -> _Fitter:
        x, y = points.x_m, points.y_m
        powers = np.empty((len(x), 11))
        powers[:, 0] = 1.0
        for n in range(1, 7):
            np.multiply(powers[:, n - 1], x, out=powers[:, n])
        np.multiply(powers[:, :4], y[:, None], out=powers[:, 7:])
        slopes = np.zeros((len(x), 4))
        slopes[:, 1:] = powers[:, :3] * (1.0, 2.0, 3.0)
        return _Fitter(points, np.hypot(points.sigma_m * PIXEL_SIGMA, GROUND_SIGMA_M), powers, slopes)

    def fit(self, member: Bool, bend: Float) -> tuple[Float, Float]:
        return weighted_fit(self.terms[member], self.sigma[member], bend)

    def off(self, coefficients: Float) -> Float:
        """Distance (N,) of the points from the line, perpendicular to it, m."""
        slope = self.slopes @ coefficients
        across = np.abs(self.points.y_m - self.terms[:, :4] @ coefficients)
        return np.asarray(across / np.sqrt(1.0 + slope * slope))

    def vague(self, covariance: Float) -> Float:
        """(N,) standard deviation of the line's y at the points, m."""
        design = self.terms[:, :4]
        return np.asarray(np.sqrt(((design @ covariance) * design).sum(axis=1)))


def fit_lines(points: StripePoints, curvature_1pm: float) -> list[LineFit]:
    """Up to `LINES_MAX` lines, best supported first; `curvature_1pm` of the driven path is the prior of their bend."""
    fitter = _Fitter.of(points)
    free = np.abs(points.y_m - curvature_1pm / 2.0 * points.x_m**2) <= REACH_M + REACH_SLOPE * points.x_m
    support = 0.05 / (0.02 + fitter.sigma)
    lines: list[LineFit] = []
    tried: set[int] = set()
    bend = np.array([curvature_1pm / 2.0, 0.0])
    curvature_variance = (BEND_SIGMA[0] / 2.0) ** 2
    while len(lines) < LINES_MAX:
        seed = _best_seed(points, support, free, tried)
        if seed is None:
            break
        tried.add(seed)
        own = free & (points.segment == seed)
        alike = free & (points.is_yellow == (points.is_yellow[own].mean() > 0.5))
        line = _grow(fitter, own & alike, alike, bend)
        if line is not None:
            lines.append(line)
            if line.covariance[2, 2] < curvature_variance:  # lines of one road bend alike
                bend, curvature_variance = line.coefficients[2:], float(line.covariance[2, 2])
            free &= ~_beside(fitter, line)
    return lines


def weighted_fit(terms: Float, sigma: Float, bend: Float) -> tuple[Float, Float]:
    """Cubic (4,) and covariance (4, 4) by iteratively reweighted least squares with Huber's weights.

    `terms` (N, 11) are as in `_Fitter`, `sigma` (N,) m. The quadratic and cubic coefficients have a normal prior around
    `bend` (2,), from the driven path or a neighbouring line, so a short piece comes out parallel to it and not as a
    wild curve. The first of the `ROUNDS` is plain least squares.
    """
    design, y = terms[:, :4], terms[:, 7]
    prior_right = np.array([0.0, 0.0, PRIOR[2, 2] * bend[0], PRIOR[3, 3] * bend[1]])
    full = 1.0 / (CORRELATED_POINTS * sigma**2)
    knee = HUBER * sigma  # larger residuals are weighted down
    weight = full
    for turn in range(ROUNDS):
        sums = weight @ terms
        information = sums[SUMS] + PRIOR
        _, coefficients, failed = dposv(information, sums[7:] + prior_right)
        if failed:
            raise np.linalg.LinAlgError("a line's normal equations are singular")
        if turn + 1 < ROUNDS:
            residual = np.abs(y - design @ coefficients)
            weight = full * np.minimum(1.0, knee / np.maximum(residual, 1e-12))
    return np.asarray(coefficients), np.asarray(np.linalg.inv(information))


def _best_seed(points: StripePoints, support: Float, free: Bool, tried: set[int]) -> int | None:
    """The untried segment with the largest sum of `support` (N,) over its free points; near points weigh more."""
    free = free & (points.segment >= 0)
    if not free.any():
        return None
    total = np.bincount(points.segment[free], weights=support[free])
    for index in np.argsort(-total, kind="stable").tolist():
        if total[index] <= 0.0:
            return None
        if index not in tried:
            return int(index)
    return None


def _grow(fitter: _Fitter, member: Bool, free: Bool, bend: Float) -> LineFit | None:
    """Extend the line by free points that continue it until no more join; None where the result is no line."""
    x = fitter.points.x_m
    known: tuple[Float, Float] | None = None
    for _ in range(GROWTHS_MAX):
        if np.count_nonzero(member) < 4:
            break
        coefficients, covariance = fitter.fit(member, bend)
        own = x[member]
        reach = TOLERANCE_M + 2.0 * fitter.sigma + TOLERANCE_SIGMA * fitter.vague(covariance)
        grown = free & (x >= own.min() - GROW_BACK_M) & (x <= own.max() + GROW_AHEAD_M)
        grown &= fitter.off(coefficients) <= np.minimum(reach, TOLERANCE_MAX_M)
        if np.array_equal(grown, member):
            known = coefficients, covariance
            break
        member = grown
    return _describe(fitter, member, bend, known)


def _beside(fitter: _Fitter, line: LineFit) -> Bool:
    """Points on or close to `line`: they belong to it and must not seed a second one."""
    x = fitter.points.x_m
    in_reach = (x >= line.x_min_m - 1.0) & (x <= line.x_max_m + 1.0)
    return np.asarray(in_reach & (fitter.off(line.coefficients) < 0.5), dtype=np.bool_)


def _describe(fitter: _Fitter, member: Bool, bend: Float, known: tuple[Float, Float] | None) -> LineFit | None:
    """The line through the points `member`, None where they are too few or short; `known` is their fit if it exists."""
    points, count = fitter.points, int(np.count_nonzero(member))
    if count < POINTS_MIN:
        return None
    x, sigma = points.x_m[member], fitter.sigma[member]
    low, high = float(x.min()), float(x.max())
    if high - low < LENGTH_MIN_M:
        return None
    coefficients, covariance = known or fitter.fit(member, bend)
    off = (points.y_m[member] - fitter.terms[member, :4] @ coefficients) / sigma
    bins = np.arange(low, high + BIN_M, BIN_M)
    # Far rows are further apart than a bin is long, so only bins nearer than 18 m count.
    filled = np.zeros(len(bins) - 1, dtype=np.bool_)
    filled[np.minimum(np.searchsorted(bins, x, side="right"), len(filled)) - 1] = True
    near = filled[bins[:-1] < 18.0]
    seen = appearance(points, member)
    return LineFit(
        coefficients=coefficients,
        covariance=covariance,
        x_min_m=low,
        x_max_m=high,
        points=count,
        coverage=float(np.mean(near)) if len(near) else 0.0,
        residual_m=float(np.sqrt(np.mean(off**2)) * median(sigma)),
        yellow_share=float(np.mean(points.is_yellow[member])),
        double_share=float(np.mean(points.is_double[member])),
        paint_probability=None if seen is None else paint_probability(seen),
    )
