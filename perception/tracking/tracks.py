"""Converts the road users of a picture to array rows (`measurements_of`); selects and concatenates rows.

All road users of a picture are processed at once: one at a time, numpy's call overhead would dominate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from av_core.types import Distance, EgoState, Float, RangedObject
from perception.tracking.track_kernel import fill_measurements
from perception.tracking.track_rows import MEASUREMENT, NUMBER, PACKED, Rows

_UNKNOWN, _STILL = (math.nan,) * 3, (math.nan,) * 8
_LAYOUT = Struct(f"{PACKED.itemsize // 8}d")


def measurements_of(
    things: Sequence[RangedObject], ego: EgoState, sure_min: float, weak_min: float
) -> tuple[Rows, Rows]:
    """Rows of `MEASUREMENT` in the order of `things`: those of at least `sure_min` confidence, then down to `weak_min`.

    Objects with non-finite values or a covariance that is not positive definite are dropped.
    """
    measurements = np.empty(len(things), MEASUREMENT)
    if not things:
        return measurements, measurements
    # packed into bytes, since numpy would spend more time on each number's type than all the rest takes
    packed = np.frombuffer(bytearray().join(map(_packed, things)), PACKED)
    sure, count = fill_measurements(measurements, packed, ego.yaw_rad, sure_min, weak_min)
    return measurements[:sure], measurements[sure:count]


def _packed(thing: RangedObject) -> bytes:
    """The object's values as bytes, in the order of the fields of `PACKED`."""
    motion = _STILL
    if thing.motion is not None:
        seen = thing.motion
        motion = *seen.velocity_mps.tolist(), *seen.covariance.ravel().tolist(), seen.span_s, seen.depth_m
    (xx, xy), (yx, yy) = thing.covariance.tolist()
    steady = jitter = xx, xy, yx, yy
    if thing.jitter is not None:
        (xx, xy), (yx, yy) = thing.jitter.tolist()
        jitter = xx, xy, yx, yy
    return _LAYOUT.pack(
        NUMBER[thing.kind], thing.confidence, *thing.box_px, thing.length_m, thing.width_m, thing.height_m,
        thing.x_m, thing.y_m, thing.yaw_rad or 0.0, thing.jitter is not None,
        *_distance(thing.by_foot), *_distance(thing.by_size), *steady, *jitter, *motion,
    )  # fmt: skip


def _distance(cue: Distance | None) -> tuple[float, float, float]:
    return _UNKNOWN if cue is None else (cue.range_m, cue.sigma_m, cue.jitter_m)


def turn_to_map(ego: EgoState) -> Float:
    """Rotation matrix (2, 2) from the vehicle frame to the map frame."""
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    return np.array([[c, -s], [s, c]])


def select(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    """The rows where `which` is true; `rows` itself where all are."""
    return rows if which.all() else rows.take(np.flatnonzero(which))


def exclude(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """The rows whose indices are not in `which`."""
    if len(which) == len(rows):
        return rows[:0]
    left = np.ones(len(rows), dtype=np.bool_)
    left[which] = False
    return select(rows, left)


def concatenate(*parts: Rows) -> Rows:
    """Concatenate rows. (numpy's `concatenate` compares structured types field by field, in Python.)"""
    filled = [part for part in parts if len(part)]
    if len(filled) < 2:
        return (filled or parts)[0]
    out = np.empty(sum(map(len, filled)), filled[0].dtype)
    start = 0
    for part in filled:
        out[start : start + len(part)] = part
        start += len(part)
    return out
