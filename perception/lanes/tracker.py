"""Tracks lane lines over time: one Kalman filter per line, predicted by the ego's motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perception.lanes.fit import LineFit

Float = NDArray[np.float64]

DRIFT = np.array([0.03, 0.005, 0.001, 0.00002])
"""Process noise of a line's coefficients per root metre driven: roads bend and cars pitch."""

SYSTEMATIC = np.array([0.02, 0.003, 0.0004, 0.00001])
"""Standard deviations of coefficient errors that a single frame's fit does not include (calibration, body pitch)."""

GATE_M = 0.35
GATE_SIGMA = 3.0
"""A fit matches a track within `GATE_M` plus `GATE_SIGMA` times the track's standard deviation (at most 0.3 m)."""

BIRTH_REACH_M = 7.0
"""Maximum lateral distance of a new line at 6 m ahead, m."""

BIRTH_EXISTENCE = 0.25
"""Existence of a new track from a perfect fit."""

GAIN = 0.25
"""Share of the missing existence that a perfect fit adds."""

MISS_TIME_S = 0.4
"""Decay time of existence without a match, s."""

FORGET_EXISTENCE = 0.05
"""Existence below which a track is dropped."""

DUPLICATE_M = 0.4
"""Mean distance below which two tracks are one line, m."""

SMOOTHING = 0.1
"""Weight of a new fit in the running means."""

ROUGH_M = 0.08
"""Residual at which a fit's quality falls to 1/e, m."""

UNSURE = 0.5
"""Likeness of a new track whose fit is too far away to judge."""


@dataclass(frozen=True, slots=True)
class LineTrack:
    """A tracked lane line: filtered `coefficients` (4,) with covariance (4, 4) in the vehicle frame.

    `existence` in [0, 1] is the probability that it is a lane line at all; the shares, `coverage` and
    `paint_probability` are running means.
    """

    coefficients: Float
    covariance: Float
    existence: float
    x_min_m: float
    x_max_m: float
    coverage: float
    yellow_share: float
    double_share: float
    paint_probability: float = 1.0

    def y_at(self, x_m: float) -> float:
        """Lateral position at `x_m` ahead, m."""
        c0, c1, c2, c3 = self.coefficients.tolist()
        return float(c0 + x_m * (c1 + x_m * (c2 + x_m * c3)))

    def slope_at(self, x_m: float) -> float:
        """Slope dy/dx at `x_m` ahead."""
        _, c1, c2, c3 = self.coefficients.tolist()
        return float(c1 + x_m * (2.0 * c2 + x_m * 3.0 * c3))

    def sigma_at(self, x_m: float) -> float:
        """Standard deviation of `y_at`, m."""
        row = np.array([1.0, x_m, x_m * x_m, x_m**3])
        return float(np.sqrt(row @ self.covariance @ row))


def move(track: LineTrack, distance_m: float, turn_rad: float, unknown_m: float = 0.0) -> LineTrack:
    """Predict the track after the ego has driven `distance_m` and turned left by `turn_rad`.

    Shifts the polynomial's origin and rotates it by a small angle; the bend is kept (error below 1 mm at 20 Hz). It may
    have driven up to `unknown_m` further, which nothing measured.
    """
    d = distance_m
    shift = np.array(
        [[1.0, d, d * d, d**3], [0.0, 1.0, 2.0 * d, 3.0 * d * d], [0.0, 0.0, 1.0, 3.0 * d], [0.0, 0.0, 0.0, 1.0]]
    )
    coefficients = shift @ track.coefficients
    coefficients[1] -= turn_rad * (1.0 + coefficients[1] ** 2)
    noise = np.diag(DRIFT**2 * (abs(d) + unknown_m))
    return replace(
        track,
        coefficients=coefficients,
        covariance=shift @ track.covariance @ shift.T + noise,
        x_min_m=max(track.x_min_m - d, 0.0),
        x_max_m=track.x_max_m - d,
    )


def update_tracks(
    tracks: list[LineTrack],
    fits: list[LineFit],
    distance_m: float,
    turn_rad: float,
    dt_s: float,
    unknown_m: float = 0.0,
) -> list[LineTrack]:
    """All tracks one frame later: predicted by `move`, corrected by matching fits, or started from unmatched ones."""
    moved = [move(track, distance_m, turn_rad, unknown_m) for track in tracks]
    moved.sort(key=lambda track: -track.existence)
    left_over = list(fits)
    updated: list[LineTrack] = []
    for track in moved:
        fit = _closest(track, left_over)
        if fit is None:
            updated.append(replace(track, existence=track.existence * float(np.exp(-dt_s / MISS_TIME_S))))
        else:
            left_over = [other for other in left_over if other is not fit]
            updated.append(_correct(track, fit))
    updated.extend(_start_track(fit) for fit in left_over if _starts_near(fit))
    alive = [track for track in updated if track.existence >= FORGET_EXISTENCE and track.x_max_m > 4.0]
    return _drop_duplicates(alive)


def tracks_from_fits(fits: list[LineFit]) -> list[LineTrack]:
    """Tracks from a single picture: a line's existence is the quality of its fit, without history."""
    return _drop_duplicates([replace(_start_track(fit), existence=quality(fit)) for fit in fits if _starts_near(fit)])


def quality(fit: LineFit) -> float:
    """Evidence of one fit that a line exists, in [0, 1]: long, many rows, and smooth as paint is."""
    smooth = float(np.exp(-((fit.residual_m / ROUGH_M) ** 2)))
    return smooth * min(1.0, fit.points / 25.0) * min(1.0, (fit.x_max_m - fit.x_min_m) / 5.0)


def _y(fit: LineFit, x_m: float) -> float:
    c0, c1, c2, c3 = fit.coefficients.tolist()
    return float(c0 + x_m * (c1 + x_m * (c2 + x_m * c3)))


def _starts_near(fit: LineFit) -> bool:
    return abs(_y(fit, 6.0)) <= BIRTH_REACH_M


def _closest(track: LineTrack, fits: list[LineFit]) -> LineFit | None:
    """The fit nearest to the track over the fit's range; None beyond the gate."""
    best, best_cost = None, 1.0
    for fit in fits:
        end = max(min(fit.x_max_m, 20.0), fit.x_min_m)
        cost = max(
            abs(_y(fit, x) - track.y_at(x)) / (GATE_M + GATE_SIGMA * min(track.sigma_at(x), 0.3))
            for x in (fit.x_min_m, (fit.x_min_m + end) / 2.0, end)
        )
        if cost < best_cost:
            best, best_cost = fit, cost
    return best


def _correct(track: LineTrack, fit: LineFit) -> LineTrack:
    noise = fit.covariance + np.diag(SYSTEMATIC**2)
    gain = np.linalg.solve(track.covariance + noise, track.covariance).T
    keep = np.eye(4) - gain
    covariance = keep @ track.covariance @ keep.T + gain @ noise @ gain.T
    return replace(
        track,
        coefficients=track.coefficients + gain @ (fit.coefficients - track.coefficients),
        covariance=(covariance + covariance.T) / 2.0,
        existence=track.existence + GAIN * quality(fit) * (1.0 - track.existence),
        x_min_m=min(track.x_min_m, fit.x_min_m),
        x_max_m=max(track.x_max_m, fit.x_max_m),
        coverage=track.coverage + SMOOTHING * (fit.coverage - track.coverage),
        yellow_share=track.yellow_share + SMOOTHING * (fit.yellow_share - track.yellow_share),
        double_share=track.double_share + SMOOTHING * (fit.double_share - track.double_share),
        paint_probability=track.paint_probability
        + (0.0 if fit.paint_probability is None else SMOOTHING * (fit.paint_probability - track.paint_probability)),
    )


def _start_track(fit: LineFit) -> LineTrack:
    return LineTrack(
        coefficients=fit.coefficients,
        covariance=fit.covariance + np.diag(SYSTEMATIC**2),
        existence=BIRTH_EXISTENCE * quality(fit),
        x_min_m=fit.x_min_m,
        x_max_m=fit.x_max_m,
        coverage=fit.coverage,
        yellow_share=fit.yellow_share,
        double_share=fit.double_share,
        paint_probability=UNSURE if fit.paint_probability is None else fit.paint_probability,
    )


def _drop_duplicates(tracks: list[LineTrack]) -> list[LineTrack]:
    """Drop the weaker of two tracks on one line."""
    kept: list[LineTrack] = []
    for track in sorted(tracks, key=lambda one: -one.existence):
        if all(
            abs(track.y_at(5.0) - other.y_at(5.0)) + abs(track.y_at(12.0) - other.y_at(12.0)) > 2 * DUPLICATE_M
            for other in kept
        ):
            kept.append(track)
    return kept
