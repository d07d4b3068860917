"""Road users as rows of arrays: how those of a picture come into them, and how rows are chosen and joined.

All of a picture's road users are worked on at once: for the few numbers of one, numpy's calls would be the cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from av_stack.types import Distance, EgoState, Float, RangedObject
from perception.track_kernel import THING_SIZE, put_looks
from perception.track_rows import LOOK, NUMBER, Rows

_UNKNOWN, _STILL = (math.nan,) * 3, (math.nan,) * 8
_THING = Struct(f"{THING_SIZE}d")


def looks_of(things: Sequence[RangedObject], ego: EgoState, sure_min: float, weak_min: float) -> tuple[Rows, Rows]:
    """Rows of `LOOK` in the order of `things`: of those that are at least as sure as `sure_min`, and of the others down
    to `weak_min`. Left out is of what not all is finite, or a covariance not positive definite."""
    looks = np.empty(len(things), LOOK)
    if not things:
        return looks, looks
    # packed, since numpy takes longer to look at each number's type than all the rest does
    numbers = np.frombuffer(bytearray().join(map(_packed, things))).reshape(-1, THING_SIZE)
    sure, count = put_looks(looks, numbers, ego.yaw_rad, sure_min, weak_min)
    return looks[:sure], looks[sure:count]


def _packed(thing: RangedObject) -> bytes:
    """The numbers of which `put_looks` makes a row."""
    motion = _STILL
    if thing.motion is not None:
        seen = thing.motion
        motion = *seen.velocity_mps.tolist(), *seen.covariance.ravel().tolist(), seen.span_s, seen.depth_m
    (xx, xy), (yx, yy) = thing.covariance.tolist()
    steady = jitter = xx, xy, yx, yy
    if thing.jitter is not None:
        (xx, xy), (yx, yy) = thing.jitter.tolist()
        jitter = xx, xy, yx, yy
    return _THING.pack(
        NUMBER[thing.kind], thing.confidence, *thing.box_px, thing.length_m, thing.width_m, thing.height_m,
        thing.x_m, thing.y_m, thing.yaw_rad or 0.0, thing.jitter is not None,
        *_distance(thing.by_foot), *_distance(thing.by_size), *steady, *jitter, *motion,
    )  # fmt: skip


def _distance(cue: Distance | None) -> tuple[float, float, float]:
    return _UNKNOWN if cue is None else (cue.range_m, cue.sigma_m, cue.jitter_m)


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
