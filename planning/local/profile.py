"""The offset of the driven path from the route: a profile along the route, smoothed, and the path that it makes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import solveh_banded

from av_core.curve import Curve
from av_core.types import Float, Manoeuvre
from planning.local.lattice import LatticePath
from planning.local.making_room import Side
from planning.local.occupancy import Body, EgoOnRoad, OnRoad
from planning.local.road import Beside, RoadLayout
from planning.reference_path import Route, third_difference_bands

IN_LANE_M = 0.3
"""Offset below which the ego follows its lane rather than performs a manoeuvre."""

EDGE_M = 0.1
"""How far the ego's body may reach over the edge of what it may drive on."""

OUT_OF_LANE_M = 2.5
"""Beyond this offset the ego is in the lane beside its own."""

_BACK_M = 30.0
"""Distance over which the path returns to the route beyond the end of a plan."""

_BACK_S = 3.0
"""The return from a lane beside the route takes at least this time."""

_GENTLE_MPS2, _GENTLE_SLOW_MPS2, _SLOW_MPS, _GENTLE_S = 3.5, 5.0, 6.0, 2.0
"""A new path is rejected if it needs more than the first lateral acceleration within the time `_GENTLE_S`; the ego
brakes instead. An ego slower than `_SLOW_MPS` accepts the second, since it does not get as fast as the search assumes.
"""

_EASY_MPS2 = 2.0
"""Largest lateral acceleration of an optional path."""

_CLEAR_M, _CLEAR_POINTS = 0.1, 9
"""Least distance between a path and a road user that it is clear of; and the number of places along it that are
checked."""

_LOOK_AHEAD_M = 40.0
"""Length of path ahead that determines the name of the ego's manoeuvre."""

_WAVELENGTH_M, _WAVELENGTH_S = 6.0, 1.2
"""Changes of offset are smoothed out if they are shorter than this distance, or than the ego's way in this time."""

_SOFTER = (1.0, 1.4, 2.0)
"""Factors by which the bends of a new path are lengthened, one after the other, until the ego can follow it."""

_KEEP_WEIGHT = 1e3


class OffsetProfile:
    """The offset of the path that the ego drives, `offset_m` (N,) for the points of its route, positive to the left.

    `rows` of the methods are the points of the route from the ego to as far as the search looks.
    """

    def __init__(self, route: Route, layout: RoadLayout, body: Body) -> None:
        self._route, self._layout, self._body = route, layout, body
        self.offset_m: Float = np.zeros(len(route.s_m))

    def at(self, s_m: Float | float) -> Float:
        """The offsets at arc lengths of the route."""
        return np.asarray(np.interp(s_m, self._route.s_m, self.offset_m))

    def clear(self) -> None:
        """Follow the route itself."""
        self.offset_m[:] = 0.0

    def start_from(self, ego: EgoOnRoad, rows: slice) -> None:
        """Lead from where the ego is now back to the route."""
        share = np.clip(1.0 - (self._route.s_m[rows] - ego.s_m) / _BACK_M, 0.0, 1.0)
        self.offset_m[rows] = ego.offset_m * share

    def take_over(self, found: LatticePath, start: EgoOnRoad, rows: slice, softer: float = 1.0) -> None:
        """Make the found way the new profile, from its start on; bends are `softer` times as long."""
        s = self._route.s_m[rows]
        along = start.s_m + found.along_m
        last = np.append(np.diff(along) > 0.0, True)  # of several moments at one place, the last
        last &= along <= max(s[-1] - 1.5 * _BACK_M, along[1])  # the path has to return before the profile ends
        along, offset_m = along[last], found.offset_m[last]
        ends = along[-1] + np.array([10.0, 10.0 + _BACK_M])
        knots = np.concatenate([along, ends])
        offsets = np.concatenate([offset_m, [offset_m[-1], 0.0]])
        self._lead(np.interp(s, knots, offsets), start, rows, softer)

    def lead_along_if_gentle(self, offset_m: Float, start: EgoOnRoad, rows: slice) -> None:
        """Make offsets (N,) for the points of the route the new profile, from a start on, if the ego can follow them.

        They are smoothed, and need no more than `_EASY_MPS2` at the ego's speed.
        """
        before_m = self.offset_m.copy()
        for softer in _SOFTER:
            self._lead(offset_m[rows].copy(), start, rows, softer)
            if self._lateral_mps2(start, rows, np.full(rows.stop - rows.start, start.speed_mps)) < _EASY_MPS2:
                return
            self.offset_m[:] = before_m

    def _lead(self, wanted_m: Float, start: EgoOnRoad, rows: slice, softer: float) -> None:
        """Lead from the profile as it is at the start to offsets (M,) for `rows`, and then to the route."""
        s = self._route.s_m[rows]
        keep = int(np.searchsorted(s, start.s_m))
        wanted_m[:keep] = self.offset_m[rows][:keep]
        spacing_m = self._route.length_m / (len(self._route.s_m) - 1)
        if len(s) >= 8:
            wavelength_m = softer * max(_WAVELENGTH_M, _WAVELENGTH_S * start.speed_mps)
            wanted_m = _smooth(wanted_m, max(keep, 3), spacing_m, wavelength_m)
        self.offset_m[rows], self.offset_m[rows.stop :] = wanted_m, 0.0

    def take_exactly(self, s_m: Float, offset_m: Float) -> None:
        """Make offsets (N,) at arc lengths (N,) the new profile from the first on, without smoothing."""
        first, s = int(np.searchsorted(self._route.s_m, s_m[0])), self._route.s_m
        self.offset_m[first:] = np.interp(s[first:], s_m, offset_m, right=0.0)

    def take_over_if_gentle(self, found: LatticePath, start: EgoOnRoad, rows: slice) -> bool:
        """Make the found way the new profile, if the ego can follow it, if need be with softer bends."""
        before_m = self.offset_m.copy()
        for softer in _SOFTER:
            self.take_over(found, start, rows, softer)
            if self._is_gentle(found, start, rows):
                return True
            self.offset_m[:] = before_m
        return False

    def hold_lane(self, start: EgoOnRoad, rows: slice, side: Side) -> None:
        """Keep the offset of a new way for as long as its lane lies beside the route; then it leads back.

        So the ego does not slow down for a return that it will not make, nor for a kink where the way is held: it is
        held from its last crest, and leads back along half a cosine.
        """
        s = self._route.s_m
        beside = self._layout.left if side is Side.LEFT else self._layout.right
        aside_m = side * self.offset_m[rows]
        out = np.flatnonzero(aside_m > max(OUT_OF_LANE_M, 0.98 * float(aside_m.max()))) + rows.start
        if len(out) == 0:
            return
        without = np.flatnonzero(beside.kind[out[0] :] != Beside.SAME)
        back_m = max(_BACK_M, _BACK_S * start.speed_mps)
        end_m = float(s[out[0] + without[0]] if len(without) else s[-1]) - back_m - _BACK_M
        rising = np.flatnonzero(np.diff(aside_m) >= 0.0) + 1 + rows.start
        last = np.intersect1d(out, rising, assume_unique=True).max(initial=out[0])
        if s[last] < end_m:
            share = np.clip((s[last:] - end_m) / back_m, 0.0, 1.0)
            self.offset_m[last:] = self.offset_m[last] * (0.5 + 0.5 * np.cos(np.pi * share))

    def is_clear_of(self, way: OnRoad) -> bool:
        """Whether the path leads past a road user that stays where it is now."""
        reach_m = float(way.half_s_m[0]) + self._body.front_m
        s = np.linspace(float(way.s_m[0]) - reach_m, float(way.s_m[0]) + reach_m, _CLEAR_POINTS)
        beside_m = np.abs(float(way.d_m[0]) - self.at(s))
        return bool((beside_m > float(way.half_d_m[0]) + 0.5 * self._body.width_m + _CLEAR_M).all())

    def manoeuvre(self, s_m: float) -> Manoeuvre:
        """What the path does in the next metres."""
        s = s_m + np.arange(_LOOK_AHEAD_M)
        offset = self.at(s)
        if np.abs(offset).max() < IN_LANE_M:
            return Manoeuvre.FOLLOW_LANE
        rows, half = self._route.curve.rows_at(s), 0.5 * self._body.width_m
        layout = self._layout
        used = {Beside.NOTHING}
        used |= set(layout.left.kind[rows][offset + half > layout.left_m[rows] + EDGE_M].tolist())
        used |= set(layout.right.kind[rows][offset - half < layout.right_m[rows] - EDGE_M].tolist())
        if Beside.ONCOMING in used:
            return Manoeuvre.PASS_THROUGH_ONCOMING_LANE
        return Manoeuvre.PASS_THROUGH_NEXT_LANE if Beside.SAME in used else Manoeuvre.PASS_IN_LANE

    def _is_gentle(self, found: LatticePath, start: EgoOnRoad, rows: slice) -> bool:
        """Whether the ego can follow the smoothed path from now on: later it can still slow down for a bend of it."""
        speed_mps = np.interp(self._route.s_m[rows], start.s_m + found.along_m, found.speed_mps)
        most_mps2 = _GENTLE_MPS2 if start.speed_mps > _SLOW_MPS else _GENTLE_SLOW_MPS2
        return self._lateral_mps2(start, rows, speed_mps) < most_mps2

    def _lateral_mps2(self, start: EgoOnRoad, rows: slice, speed_mps: Float) -> float:
        """The most lateral acceleration that the offsets need from now on, at speeds (M,) for `rows`."""
        s, offset_m = self._route.s_m[rows], self.offset_m[rows]
        soon = (s >= start.s_m) & (s <= start.s_m + _GENTLE_S * start.speed_mps)
        lateral_mps2 = speed_mps**2 * np.abs(np.gradient(np.gradient(offset_m, s), s))
        return float(lateral_mps2[soon].max(initial=0.0))


def shifted(route: Route, first: int, offset_m: Float) -> Route:
    """`route` with the points from row `first` on moved to the left by `offset_m` (M,); stations stay those of `route`.

    On a bend, a shifted path is longer or shorter than its stations say, by the offset times the change of heading.
    """
    old = route.curve
    rows = slice(first, first + len(offset_m))
    x, y, yaw, curvature = (column.copy() for column in (old.x_m, old.y_m, old.yaw_rad, old.curvature_1pm))
    s, heading = old.s_m[rows], old.yaw_rad[rows]
    x[rows] -= offset_m * np.sin(heading)
    y[rows] += offset_m * np.cos(heading)
    slope = np.gradient(offset_m, s)
    stretch = np.maximum(1.0 - old.curvature_1pm[rows] * offset_m, 0.2)
    yaw[rows] += np.arctan2(slope, stretch)
    curvature[rows] = (old.curvature_1pm[rows] + np.gradient(np.arctan2(slope, stretch), s)) / np.hypot(stretch, slope)
    return replace(route, curve=Curve(old.s_m, x, y, yaw, curvature))


def _smooth(offset_m: Float, keep: int, spacing_m: float, wavelength_m: float) -> Float:
    """A smoothed profile (N,) of points `spacing_m` apart; its first `keep` points stay as they are.

    Changes over less than the wavelength are smoothed out.

    Whittaker smoothing with a penalty on third differences. Eilers (2003), "A Perfect Smoother".
    """
    bands = third_difference_bands(len(offset_m)) * float(2.0 * np.sin(np.pi * spacing_m / wavelength_m)) ** -6
    weight = np.ones(len(offset_m))
    weight[:keep] = _KEEP_WEIGHT * wavelength_m**2
    weight[-1] = _KEEP_WEIGHT
    bands[-1] += weight
    smoothed = solveh_banded(bands, weight * offset_m)
    smoothed[:keep] = offset_m[:keep]
    return np.asarray(smoothed)
