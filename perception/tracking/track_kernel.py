"""Compiled (numba) kernels of the tracker: fill measurement rows; start, age, update, export tracks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import boolean, float64, int64
from numpy.typing import NDArray

from av_core.compiled import compiled, inner
from av_core.types import Float
from perception.tracking.track_rows import MEASUREMENTS, PACKED_ROWS, TRACKS, Rows

Flags = NDArray[np.bool_]

X, Y, VX, VY = range(4)
"""Indices of a track's `state`, as in `turning_motion`."""

SIZE_GAIN = 0.1
"""Weight of a newly measured size of the same kind."""

CONFIDENCE_GAIN = 0.3
"""Weight of a detection's confidence in its track's."""

STEADY_VELOCITY_MPS = 0.4
"""Standard deviation, m/s, of a vehicle's velocity error that persists for seconds: it turns, and its wheels and
reflections move unlike its body."""

BOX_CORRELATION = 4.0
"""Factor on a box's noise: box errors of neighbouring pictures are correlated, so this many pictures count as one."""


@inner
def rotate_covariance(out: Float, xx: float, xy: float, yy: float, c: float, s: float) -> None:
    """Rotate a symmetric matrix: `out` (2, 2) = R [xx xy; xy yy] R^T; R is the rotation of cosine `c` and sine `s`."""
    out[0, 0] = c * c * xx - 2.0 * c * s * xy + s * s * yy
    out[1, 1] = s * s * xx + 2.0 * c * s * xy + c * c * yy
    out[0, 1] = out[1, 0] = c * s * (xx - yy) + (c * c - s * s) * xy


@inner
def is_positive(matrix: Float) -> bool:
    """Whether the symmetric matrix (2, 2) is positive definite."""
    area = matrix[0, 0] * matrix[1, 1] - matrix[1, 0] * matrix[1, 0]
    return bool(matrix[0, 0] > 0.0 and 0.0 < area < math.inf)


@inner
def is_finite(values: Float) -> bool:
    """Whether all of `values` (N,) are finite."""
    out = True
    for value in values:
        out &= math.isfinite(value)
    return out


@inner
def is_usable(packed: Any) -> bool:
    """Whether all mandatory values of a packed object are finite and its covariances positive definite."""
    if not (math.isfinite(packed.confidence) and is_finite(packed.box_px)):
        return False
    if not (is_finite(packed.size_m) and is_finite(packed.place_m)):
        return False
    return is_positive(packed.spread_m2) and is_positive(packed.jitter_m2)


@inner
def fill_measurement(measurement: Any, packed: Any, turn_rad: float, c: float, s: float) -> None:
    """Fill a measurement's row from a packed object, rotated from the vehicle frame to the map's, except `steady_m2`.

    `noise_m2` holds only the noise that is new in each picture: only that averages out and blurs velocities.
    """
    measurement.kind, measurement.confidence = int(packed.kind), packed.confidence
    measurement.is_split = packed.is_split > 0.0
    measurement.box_px[:], measurement.size_m[:] = packed.box_px, packed.size_m
    measurement.by_foot[:], measurement.by_size[:] = packed.by_foot, packed.by_size
    measurement.steady_m2[:], measurement.velocity_noise[:] = packed.spread_m2, packed.velocity_noise
    x, y = packed.place_m[0], packed.place_m[1]
    measurement.off_m[0], measurement.off_m[1] = c * x - s * y, s * x + c * y
    measurement.yaw_rad = packed.yaw_rad + turn_rad
    times, whole, new = BOX_CORRELATION if measurement.is_split else 1.0, packed.spread_m2, packed.jitter_m2
    rotate_covariance(measurement.spread_m2, whole[0, 0], whole[0, 1], whole[1, 1], c, s)
    rotate_covariance(measurement.noise_m2, new[0, 0] * times, new[0, 1] * times, new[1, 1] * times, c, s)
    measurement.velocity_mps[:] = packed.velocity_mps
    measurement.span_s, measurement.depth_m = packed.span_s, packed.depth_m


@compiled((MEASUREMENTS, PACKED_ROWS, float64, float64, float64))
def fill_measurements(
    measurements: Rows, packed_objects: Rows, turn_rad: float, sure_min: float, weak_min: float
) -> tuple[int, int]:
    """Fill rows of `measurements` from the usable ones of `packed_objects` (N,).

    Returns (number of sure rows, number of rows).

    Rows of at least `sure_min` confidence come first, then the others down to `weak_min`.
    """
    c, s = math.cos(turn_rad), math.sin(turn_rad)
    sure = count = 0
    for is_sure in (True, False):
        for n in range(len(packed_objects)):
            confidence = packed_objects[n].confidence
            if confidence >= weak_min and (confidence >= sure_min) == is_sure and is_usable(packed_objects[n]):
                fill_measurement(measurements[count], packed_objects[n], turn_rad, c, s)
                count += 1
        if is_sure:
            sure = count
    return sure, count


@compiled((TRACKS, MEASUREMENTS, int64, int64, float64, float64, float64[:, :]))
def init_tracks(
    tracks: Rows, measurements: Rows, camera: int, first_id: int, x_m: float, y_m: float, initial_sigma: Float
) -> None:
    """Initialize zeroed `tracks` from measurements that matched no track; the ego is at (`x_m`, `y_m`).

    `initial_sigma` holds, for each kind, the standard deviations of velocity, acceleration and turn rate, which a
    position does not measure.
    """
    for n in range(len(tracks)):
        track, measurement = tracks[n], measurements[n]
        track.track_id, track.hits, track.free_mps = first_id + n, 1, math.nan
        track.state[X], track.state[Y] = measurement.off_m[0] + x_m, measurement.off_m[1] + y_m
        track.covariance[:2, :2] = measurement.noise_m2
        for i in range(VX, len(track.state)):
            track.covariance[i, i] = initial_sigma[measurement.kind, i - VX] ** 2
        track.kind, track.seen_kind, track.is_split = measurement.kind, measurement.kind, measurement.is_split
        track.votes[measurement.kind] = measurement.confidence
        track.confidence, track.yaw_rad = measurement.confidence * CONFIDENCE_GAIN, measurement.yaw_rad
        track.steady_m2[:], track.size_m[:] = measurement.steady_m2, measurement.size_m
        track.box_age_s[:], track.radar_age_s = math.inf, math.inf
        track.box_px[camera, :], track.box_age_s[camera] = measurement.box_px, 0.0


@compiled((TRACKS, float64, float64))
def age_tracks(tracks: Rows, dt_s: float, kept: float) -> None:
    """Add `dt_s` to the tracks' unseen times and scale their confidence by `kept`."""
    for n in range(len(tracks)):
        track = tracks[n]
        track.unseen_s += dt_s
        track.box_age_s[:] += dt_s
        track.radar_age_s += dt_s
        track.confidence *= kept


@compiled((TRACKS, MEASUREMENTS, int64, float64[:]))
def update_attributes(tracks: Rows, measurements: Rows, camera: int, heading_min_mps: Float) -> None:
    """Update the tracks' kinds, sizes, headings, confidences and boxes from the measurements of their rows.

    `heading_min_mps` is, for each kind, the minimum speed at which the velocity gives the heading.
    """
    for n in range(len(tracks)):
        track, measurement = tracks[n], measurements[n]
        votes, seen = track.votes, measurement.kind
        votes[seen] += measurement.confidence
        best = int(votes.argmax())
        kind = best if votes[best] > votes[track.kind] else track.kind
        is_same = seen == kind and track.seen_kind == kind
        for i in range(3):
            gain = SIZE_GAIN if is_same else 1.0
            track.size_m[i] += gain * (measurement.size_m[i] - track.size_m[i])
        vx, vy = track.state[VX], track.state[VY]
        if math.hypot(vx, vy) >= heading_min_mps[kind]:
            track.yaw_rad = math.atan2(vy, vx)
        if track.unseen_s > 0.0:  # no other camera has seen it in this instant
            gained = track.confidence + CONFIDENCE_GAIN * (1.0 - track.confidence) * measurement.confidence
            track.confidence = min(gained, 1.0)
            track.hits += 1
        track.kind, track.seen_kind = kind, seen
        track.steady_m2[:], track.is_split, track.is_by_radar = measurement.steady_m2, measurement.is_split, False
        track.box_px[camera, :], track.box_age_s[camera] = measurement.box_px, 0.0


@inner
def fill_total_covariance(out: Float, track: Any, c: float, s: float, is_walker: bool) -> None:
    """Covariance (4, 4) of position and velocity, with the persistent measurement error that the filter leaves out.

    The last measurement's whole covariance, `steady_m2`, stands for that error in the position.
    """
    out[:] = track.covariance[:4, :4]
    if track.is_split:
        turned, steady = np.empty((2, 2)), track.steady_m2
        rotate_covariance(turned, steady[0, 0], steady[0, 1], steady[1, 1], c, s)
        out[:2, :2] += turned
        if not is_walker:
            out[VX, VX] += STEADY_VELOCITY_MPS**2
            out[VY, VY] += STEADY_VELOCITY_MPS**2


TRACK_ID, KIND, PLACE, YAW, VELOCITY, SIZE = 0, 1, slice(2, 4), 4, slice(5, 7), slice(7, 10)
CONFIDENCE, BOX_AGE, BOX = 10, 11, slice(12, 16)
EXPORT_SIZE = 16
"""Columns of the values from `export_tracks`; `BOX_AGE` and `BOX` are those of the first camera."""


@compiled((TRACKS, int64, float64, float64, float64, boolean[:]))
def export_tracks(
    tracks: Rows, hits_min: int, x_m: float, y_m: float, turn_rad: float, is_walker: Flags
) -> tuple[Float, Float]:
    """Export the tracks with at least `hits_min` matches, sorted by distance from (`x_m`, `y_m`), in a stable order.

    Returns values (N, EXPORT_SIZE) and covariances (N, 4, 4) of positions and velocities.
    """
    order, away_m, count = np.empty(len(tracks), dtype=np.int64), np.empty(len(tracks)), 0
    for n in range(len(tracks)):
        if tracks[n].hits < hits_min:
            continue
        gap_m, place = math.hypot(tracks[n].state[X] - x_m, tracks[n].state[Y] - y_m), count
        while place > 0 and away_m[place - 1] > gap_m:
            order[place], away_m[place] = order[place - 1], away_m[place - 1]
            place -= 1
        order[place], away_m[place] = n, gap_m
        count += 1
    out, covariances = np.empty((count, EXPORT_SIZE)), np.empty((count, 4, 4))
    c, s = math.cos(turn_rad), math.sin(turn_rad)
    for i in range(count):
        track, row = tracks[order[i]], out[i]
        row[TRACK_ID], row[KIND], row[YAW] = track.track_id, track.kind, track.yaw_rad
        row[PLACE], row[VELOCITY], row[SIZE] = track.state[: Y + 1], track.state[VX : VY + 1], track.size_m
        row[CONFIDENCE], row[BOX_AGE], row[BOX] = track.confidence, track.box_age_s[0], track.box_px[0]
        fill_total_covariance(covariances[i], track, c, s, is_walker[track.kind])
    return out, covariances
