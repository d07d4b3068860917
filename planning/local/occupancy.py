"""Where other road users will be on the road ahead: which cells of the lattice are taken, and when.

Their predicted boxes are projected on the route. A cell is taken if the ego, with its origin there, would come nearer
than a margin that grows with the predicted time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from av_core.compiled import compiled
from av_core.curve import Curve
from av_core.types import Float, ObjectKind, PredictedObject, Prediction
from planning.local.lattice import AT_END, COLUMN_M, DURING, LAYERS, STEP_S


@dataclass(frozen=True, slots=True)
class Gaps:
    """Distances that the ego keeps: along the road, beside a vehicle, and beside a pedestrian or a bicycle.

    `times` scales the times by which a moving road user may be early or late.
    """

    ahead_m: float
    aside_m: float
    vulnerable_m: float
    times: float


WIDE = Gaps(2.0, 0.6, 0.9, 1.0)
"""For a new path, which is smoothed after the search."""

TIGHT = Gaps(0.5, 0.45, 0.7, 0.4)
"""For the path that is driven."""

ALONG = Gaps(2.0, 0.6, 0.9, 0.4)
"""For a new path between others that drive in the ego's direction: they hardly come earlier or later than predicted."""

MAKES_ROOM, ROOM_MADE = Gaps(2.0, 0.6, 0.9, 0.2), Gaps(0.5, 0.45, 0.7, 0.1)
"""For a new path out of the way of a vehicle in a hurry, and for the one that is driven. The ego uses gaps between cars
that drive along at a steady speed, and their drivers brake for it.
"""

_GROWTH_AHEAD_MPS, _GROWTH_ASIDE_MPS = 0.3, 0.04
"""Growth of these distances with the predicted time, for road users that move."""

_SLOPE_MAX = 0.2
"""Largest turn of the ego, as lateral per longitudinal distance: a steeper path of the search is smoothed before
it is driven."""

SLOW_MPS = 5.0
"""Speed below which the ego turns more when it moves aside, while others pass it."""

_BESIDE_SLOW = 0.5
"""Share of a step of the search before its end, in which a slow ego must not meet those that pass it."""

_AGAINST_M = 0.5
"""Way against the ego's direction, in a step of the search, of an oncoming vehicle."""

_VULNERABLE = (ObjectKind.PEDESTRIAN, ObjectKind.BICYCLE, ObjectKind.MOTORCYCLE)

_EARLY_S, _LATE_S = 0.5, 1.0
"""Largest times by which a moving road user may be earlier, or later, than predicted."""

_EARLY_PER_S, _LATE_PER_S = 0.2, 0.3
"""Growth of these times per second of prediction, since the present position is known."""

TIMES_S = np.arange(LAYERS + 1, dtype=np.float64) * STEP_S


@dataclass(frozen=True, slots=True)
class Body:
    """The ego's body around its origin, and the radius of the tightest bend that its plans use."""

    front_m: float
    rear_m: float
    width_m: float
    turn_radius_m: float = 6.5


@dataclass(frozen=True, slots=True)
class OnRoad:
    """One predicted motion of a road user in route coordinates, (LAYERS + 1,) for the times of the layers.

    `half_s_m` and `half_d_m` are half its extent along and across the route.
    """

    one: PredictedObject
    s_m: Float
    d_m: Float
    half_s_m: Float
    half_d_m: Float

    @property
    def is_moving(self) -> bool:
        return bool(self.one.modes)

    @property
    def is_oncoming(self) -> bool:
        """Whether it moves against the direction of the route."""
        return self.is_moving and bool(self.s_m[1] < self.s_m[0] - _AGAINST_M)


@dataclass(frozen=True, slots=True)
class EgoOnRoad:
    """The ego in coordinates of the route: arc length and offset of its origin, its speed and its acceleration.

    It is there in `time_s` from now. Its `impatience` (`planning/traffic/patience.py`) is from 0 to 1. It points to the
    left of the route by `turn_rad`.
    """

    s_m: float
    offset_m: float
    speed_mps: float
    impatience: float = 0.0
    time_s: float = 0.0
    turn_rad: float = 0.0
    accel_mps2: float = 0.0

    @property
    def is_brisk(self) -> bool:
        """Whether it starts faster into a gap."""
        return self.impatience > 0.0


def is_in_line(way: OnRoad, ego: EgoOnRoad, body: Body) -> bool:
    """Whether a road user is now before or behind the ego, not beside its path."""
    aside = abs(float(way.d_m[0]) - ego.offset_m)
    return aside < float(way.half_d_m[0]) + 0.5 * body.width_m


def on_road(curve: Curve, prediction: Prediction) -> list[OnRoad]:
    """Every predicted motion of every road user, projected on the part of a route; beyond the predicted time it goes on
    as before.

    A road user that stands has one way, its place. Ways that are not finite are left out.
    """
    ways = [(one, mode) for one in prediction.objects for mode in (one.modes or (None,))]
    if not ways:
        return []
    count = len(prediction.times_s)
    x = np.empty((len(ways), count))
    y, yaw = np.empty_like(x), np.empty_like(x)
    for row, (one, mode) in enumerate(ways):
        item = one.item
        x[row], y[row], yaw[row] = (
            (item.x_m, item.y_m, item.yaw_rad) if mode is None else (mode.x_m, mode.y_m, mode.yaw_rad)
        )
    place = curve.project(x, y, follow_bend=False)
    turn = yaw - place.yaw_rad
    c, s = np.abs(np.cos(turn)), np.abs(np.sin(turn))
    half_l = np.array([[0.5 * one.item.length_m] for one, _ in ways])
    half_w = np.array([[0.5 * one.item.width_m] for one, _ in ways])
    columns = (place.s_m, place.d_m, c * half_l + s * half_w, s * half_l + c * half_w)
    times = prediction.times_s
    return [
        OnRoad(one, *(_at_layers(column[row], times, goes_on=number < 2) for number, column in enumerate(columns)))
        for row, (one, _) in enumerate(ways)
        if np.isfinite([column[row] for column in columns]).all()
    ]


def _at_layers(values: Float, times_s: Float, *, goes_on: bool) -> Float:
    """Values at the times of the layers; beyond the last time with the last rate of change, if it `goes_on`."""
    inside = np.asarray(np.interp(TIMES_S, times_s, values))
    if not goes_on or len(times_s) < 3:
        return inside
    rate = (values[-1] - values[-3]) / (times_s[-1] - times_s[-3])
    return np.asarray(inside + rate * np.maximum(TIMES_S - times_s[-1], 0.0))


def take_cells(
    blocked: NDArray[np.uint8], start: EgoOnRoad, shift_m: Float, others: list[OnRoad], body: Body, gaps: Gaps
) -> None:
    """Mark in `blocked` (LAYERS, CELLS, COLUMNS) the cells that `others` occupy; cell 0 is at the ego's `start` on the
    route.

    The first layer begins when the ego is there.

    `shift_m` (CELLS,) is added to the offsets of the columns. Where it leads aside, the ego is turned, and a corner of
    its front reaches farther towards those that move.
    """
    from_s_m = start.s_m
    corner_m = body.front_m * np.clip(np.gradient(shift_m), -_SLOPE_MAX, _SLOPE_MAX)
    straight_m = np.zeros_like(corner_m)
    for way in others:
        aside = gaps.vulnerable_m if way.one.item.kind in _VULNERABLE else gaps.aside_m
        grows = 1.0 if way.is_moving else 0.0
        gap_s = gaps.ahead_m + grows * _GROWTH_AHEAD_MPS * TIMES_S
        gap_d = aside + 0.5 * body.width_m + grows * _GROWTH_ASIDE_MPS * TIMES_S
        # One that comes towards the ego is taken where it is now: it slows down for an ego that pulls out.
        since_s = 0.0 if way.is_oncoming else start.time_s
        early = _moved(way, since_s + gaps.times * grows * np.minimum(_EARLY_PER_S * TIMES_S, _EARLY_S))
        late = _moved(way, since_s - gaps.times * grows * np.minimum(_LATE_PER_S * TIMES_S, _LATE_S))
        _take(
            blocked,
            shift_m,
            corner_m if way.is_moving else straight_m,
            COLUMN_M,
            DURING,
            AT_END,
            _BESIDE_SLOW if start.speed_mps < SLOW_MPS else 0.0,
            np.minimum(early[0], late[0]) - way.half_s_m - gap_s - body.front_m - from_s_m,
            np.maximum(early[0], late[0]) + way.half_s_m + gap_s + body.rear_m - from_s_m,
            np.minimum(early[1], late[1]) - way.half_d_m - gap_d,
            np.maximum(early[1], late[1]) + way.half_d_m + gap_d,
        )


def _moved(way: OnRoad, by_s: Float) -> tuple[Float, Float]:
    """Arc length and offset at the times of the layers, if the road user is `by_s` ahead of its prediction then."""
    rate_s, rate_d = np.gradient(way.s_m, STEP_S), np.gradient(way.d_m, STEP_S)
    return way.s_m + by_s * rate_s, way.d_m + by_s * rate_d


@compiled(
    "void(uint8[:, :, ::1], float64[::1], float64[::1], float64, uint8, uint8, float64,"
    "float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _take(
    blocked: Any,
    shift_m: Any,
    corner_m: Any,
    column_m: float,
    during: int,
    at_end: int,
    earlier: float,
    low_s: Any,
    high_s: Any,
    low_d: Any,
    high_d: Any,
) -> None:
    """Mark the hull of the boxes at the beginning and the end of each layer's time.

    Of a road user that drives along the road, only the last share `earlier` of that time counts, and the cells are
    taken only at its end: the ego drives on meanwhile, too.

    Sizes come from the arguments: numba does not notice a change of another file's constants.
    """
    layers, cells, columns = blocked.shape
    for layer in range(layers):
        is_along = low_s[layer + 1] - low_s[layer] > abs(low_d[layer + 1] - low_d[layer])
        share = earlier if is_along else 1.0
        low_m = min(low_s[layer + 1] - share * (low_s[layer + 1] - low_s[layer]), low_s[layer + 1])
        high_m = max(high_s[layer + 1] - share * (high_s[layer + 1] - high_s[layer]), high_s[layer + 1])
        first, last = int(np.floor(low_m)), int(np.ceil(high_m))
        right_m, left_m = min(low_d[layer], low_d[layer + 1]), max(high_d[layer], high_d[layer + 1])
        for cell in range(max(first, 0), min(last, cells - 1) + 1):
            low = int(np.ceil((right_m - shift_m[cell] - max(corner_m[cell], 0.0)) / column_m - 1e-9)) + columns // 2
            high = int(np.floor((left_m - shift_m[cell] - min(corner_m[cell], 0.0)) / column_m + 1e-9)) + columns // 2
            for column in range(max(low, 0), min(high, columns - 1) + 1):
                blocked[layer, cell, column] |= at_end if is_along else during
