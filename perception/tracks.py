"""Road users as rows of arrays: what the tracker believes, and what one picture shows of them.

All of a picture's road users are worked on at once: for the few numbers of one, numpy's calls would be the cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_stack.types import Distance, EgoState, Float, ObjectKind, RangedObject
from perception.track_kernel import turn_looks
from perception.turning_motion import STATE_SIZE

Rows = NDArray[np.void]

KINDS = tuple(ObjectKind)
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
IS_WIDE = np.array([kind in (ObjectKind.CAR, ObjectKind.TRUCK, ObjectKind.BUS) for kind in KINDS])

CAMERAS_MAX = 8

TRACK = np.dtype(
    [
        ("track_id", np.int64),
        ("state", np.float64, STATE_SIZE),  # as in `turning_motion`, in the map frame
        ("covariance", np.float64, (STATE_SIZE, STATE_SIZE)),
        ("kind", np.int64),  # of `KINDS`, the one of most votes
        ("votes", np.float64, len(KINDS)),
        ("seen_kind", np.int64),  # this and the next two: of when it was seen last
        ("steady_m2", np.float64, (2, 2)),  # covariance of its place in the vehicle frame, where part of it stays
        ("is_split", np.bool_),  # whether it was told which part that is
        ("size_m", np.float64, 3),  # length, width, height
        ("yaw_rad", np.float64),
        ("confidence", np.float64),
        ("hits", np.int64),
        ("unseen_s", np.float64),
        ("free_mps", np.float64),  # the speed to which it comes on its lane if it drives; NaN where no lane tells
        ("scale_log", np.float64),  # natural logarithm of its height over its kind's mean
        ("scale_variance", np.float64),
        ("box_px", np.float64, (CAMERAS_MAX, 4)),  # where each camera saw it last, and how long ago
        ("box_age_s", np.float64, CAMERAS_MAX),
    ],
    align=True,
)
"""One believed road user."""

LOOK = np.dtype(
    [
        ("kind", np.int64),
        ("confidence", np.float64),
        ("box_px", np.float64, 4),
        ("size_m", np.float64, 3),
        ("off_m", np.float64, 2),  # from the ego's origin, in the axes of the map
        ("yaw_rad", np.float64),  # in the map frame
        ("steady_m2", np.float64, (2, 2)),  # its covariance, in the vehicle frame
        ("spread_m2", np.float64, (2, 2)),  # the same in the map frame
        ("noise_m2", np.float64, (2, 2)),  # in the map frame: what is new in each picture
        ("is_split", np.bool_),  # whether the two differ
        ("by_foot", np.float64, 3),  # range, sigma, jitter; NaN where the box does not show it
        ("by_size", np.float64, 3),
        ("velocity_mps", np.float64, 2),  # against the ego, in the vehicle frame; NaN where nothing tells
        ("velocity_noise", np.float64, (2, 2)),
        ("span_s", np.float64),
        ("depth_m", np.float64),
    ],
    align=True,
)
"""One road user in one picture: `RangedObject` for many at once."""

_UNKNOWN, _STILL = (math.nan,) * 3, (math.nan,) * 8


def is_usable(thing: RangedObject) -> bool:
    """Whether all is finite and the covariances are positive definite."""
    values = (thing.x_m, thing.y_m, *thing.box_px, thing.length_m, thing.width_m, thing.height_m, thing.confidence)
    if not all(map(math.isfinite, values)) or not _is_positive(thing.covariance):
        return False
    return thing.jitter is None or _is_positive(thing.jitter)


def looks_of(things: Sequence[RangedObject], ego: EgoState) -> Rows:
    """(N,) of `LOOK`, in the order of `things`, each of which is usable."""
    looks = np.zeros(len(things), LOOK)
    if not things:
        return looks
    count = len(things) * _COLUMNS_WIDTH
    numbers = np.fromiter(chain.from_iterable(map(_values, things)), np.float64, count)
    values, places = numbers.reshape(len(things), -1), 0
    for name, size in _COLUMNS:
        looks[name] = values[:, places : places + size].reshape(looks[name].shape)
        places += size
    names = "off_m", "yaw_rad", "steady_m2", "is_split", "spread_m2", "noise_m2"
    turn_looks(ego.yaw_rad, *(looks[name] for name in names))
    return looks


def turn_to_map(ego: EgoState) -> Float:
    """(2, 2) rotation from the vehicle frame to the map's."""
    c, s = math.cos(ego.yaw_rad), math.sin(ego.yaw_rad)
    return np.array([[c, -s], [s, c]])


def those(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    """The rows of which `which` is true: `rows` itself where all are."""
    return rows if which.all() else rows.take(np.flatnonzero(which))


def without(rows: Rows, which: NDArray[np.int64]) -> Rows:
    """The rows that `which` does not number."""
    if len(which) == len(rows):
        return rows[:0]
    left = np.ones(len(rows), dtype=np.bool_)
    left[which] = False
    return those(rows, left)


def joined(*parts: Rows) -> Rows:
    """The rows of all parts, one after the other. (numpy's own way compares the types field by field, in Python.)"""
    filled = [part for part in parts if len(part)]
    if len(filled) < 2:
        return (filled or parts)[0]
    out = np.empty(sum(map(len, filled)), filled[0].dtype)
    start = 0
    for part in filled:
        out[start : start + len(part)] = part
        start += len(part)
    return out


_COLUMNS = tuple(
    (name, math.prod(LOOK[name].shape))
    for name in (
        "kind", "confidence", "box_px", "size_m", "off_m", "yaw_rad", "is_split", "by_foot", "by_size",
        "velocity_mps", "velocity_noise", "span_s", "depth_m", "steady_m2", "noise_m2",
    )
)  # fmt: skip
_COLUMNS_WIDTH = sum(size for _, size in _COLUMNS)


def _values(thing: RangedObject) -> tuple[Any, ...]:
    """Numbers for `_COLUMNS`."""
    motion = _STILL
    if thing.motion is not None:
        seen = thing.motion
        motion = *seen.velocity_mps.tolist(), *seen.covariance.ravel().tolist(), seen.span_s, seen.depth_m
    steady = thing.covariance.ravel().tolist()
    jitter = steady if thing.jitter is None else thing.jitter.ravel().tolist()
    return (
        NUMBER[thing.kind], thing.confidence, *thing.box_px, thing.length_m, thing.width_m, thing.height_m,
        thing.x_m, thing.y_m, thing.yaw_rad or 0.0, thing.jitter is not None,
        *_distance(thing.by_foot), *_distance(thing.by_size), *motion, *steady, *jitter,
    )  # fmt: skip


def _distance(cue: Distance | None) -> tuple[float, float, float]:
    return _UNKNOWN if cue is None else (cue.range_m, cue.sigma_m, cue.jitter_m)


def _is_positive(covariance: Float) -> bool:
    (a, _), (b, c) = covariance.tolist()
    return bool(a > 0.0 and 0.0 < a * c - b * b < math.inf)
