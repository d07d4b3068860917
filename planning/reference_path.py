"""Defines `Route`, the reference path that the ego follows, and builds it from a sequence of lane stretches.

`build_route` samples the lane centres, blends lane changes and smooths the path. The `Route` also holds speed limits
and lane widths, and the stop lines of the signals along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicHermiteSpline
from scipy.linalg import solveh_banded

from av_core.curve import Curve, arc_lengths
from av_core.types import Float, Lane, LaneGraph, LaneKey, SignalKind
from planning.config import RouteConfig

_SAME_SIGNAL_M = 20.0
"""Stop lines of one signal that are nearer to each other than this count once."""

_LINE_TOLERANCE_M = 0.5
"""A stop line this far outside a piece of the route still belongs to it."""


@dataclass(frozen=True, slots=True)
class RoutePiece:
    """A stretch of one lane. With `change_from`, a lane change from a stretch of that lane to this one."""

    lane: LaneKey
    start_s_m: float
    end_s_m: float
    change_from: LaneKey | None = None
    change_start_s_m: float = 0.0
    change_end_s_m: float = 0.0

    @property
    def length_m(self) -> float:
        return self.end_s_m - self.start_s_m


@dataclass(frozen=True, slots=True)
class RouteSignal:
    """A signal on the route; `stop_s_m` is the stop line's arc length along the route."""

    signal_id: str
    kind: SignalKind
    stop_s_m: float


@dataclass(frozen=True, slots=True)
class Route:
    """The reference path: N points about `spacing_m` apart in the map frame; all arrays are (N,).

    `curve` is its geometry, with arc length from 0. `lane_index` is the row of `pieces` and `lanes`, `lane_s_m` the arc
    length on that lane. `is_change` marks lane changes. `cost_s` is the travel time that the search found.
    """

    pieces: tuple[RoutePiece, ...]
    cost_s: float
    curve: Curve
    z_m: Float
    speed_limit_mps: Float
    width_m: Float
    is_junction: NDArray[np.bool_]
    is_change: NDArray[np.bool_]
    lanes: tuple[LaneKey, ...]
    lane_index: NDArray[np.int64]
    lane_s_m: Float
    signals: tuple[RouteSignal, ...]

    @property
    def s_m(self) -> Float:
        return self.curve.s_m

    @property
    def length_m(self) -> float:
        return self.curve.length_m

    def row_at(self, s_m: float) -> int:
        """Index of the first point at or after `s_m`; the last point beyond the end."""
        return self.curve.row_at(s_m)

    def lane_at(self, s_m: float) -> LaneKey:
        """The lane whose centre the route follows at `s_m`; during a lane change, the lane it changes to."""
        return self.lanes[int(self.lane_index[self.row_at(s_m)])]


@dataclass(frozen=True, slots=True)
class _Samples:
    """Samples along the pieces: xyz (M, 3) and columns (M, 6): limit, width, junction, change, piece number, lane s."""

    xyz: Float
    columns: Float


def build_route(graph: LaneGraph, pieces: Sequence[RoutePiece], cost_s: float, config: RouteConfig) -> Route:
    """Sample and smooth `pieces`; the path stays within `smoothing_max_offset_m` of the lane centres."""
    raw = _concatenate([_sample(graph, piece, number, config.spacing_m) for number, piece in enumerate(pieces)])
    xyz, columns = _resample(raw, config.spacing_m)
    curve = smooth(xyz[:, 0], xyz[:, 1], _end_headings(graph, pieces), config)
    number = columns[:, 4].astype(np.int64)
    lanes = tuple(piece.lane for piece in pieces)
    return Route(
        pieces=tuple(pieces),
        cost_s=cost_s,
        curve=curve,
        z_m=xyz[:, 2],
        speed_limit_mps=columns[:, 0],
        width_m=columns[:, 1],
        is_junction=columns[:, 2] > 0.5,
        is_change=columns[:, 3] > 0.5,
        lanes=lanes,
        lane_index=number,
        lane_s_m=columns[:, 5],
        signals=_signals_along(graph, pieces, curve.s_m, number, columns[:, 5]),
    )


def lane_points(lane: Lane, s_m: Float) -> Float:
    """(M, 3) points at arc lengths `s_m`: cubic Hermite interpolation with the lane's own headings; z is linear."""
    keep = np.concatenate([[True], np.diff(lane.s_m) > 1e-4])
    tangent = np.stack([np.cos(lane.yaw_rad), np.sin(lane.yaw_rad)], axis=1)
    if np.count_nonzero(keep) < 2:
        xy = np.column_stack(lane.curve.pose_at(s_m)[:2])
    else:
        xy = CubicHermiteSpline(lane.s_m[keep], lane.points[keep, :2], tangent[keep])(s_m)
    return np.column_stack([xy, lane.curve.interpolate(s_m, lane.points[:, 2])])


def _sample(graph: LaneGraph, piece: RoutePiece, number: int, spacing_m: float) -> _Samples:
    lane = graph.lanes[piece.lane]
    count = max(2, int(np.ceil(piece.length_m / spacing_m)) + 1)
    s = np.linspace(piece.start_s_m, piece.end_s_m, count, dtype=np.float64)
    xyz = lane_points(lane, s)
    columns = np.zeros((count, 6))
    columns[:, 0] = lane.speed_limit_mps
    columns[:, 1] = lane.curve.interpolate(s, lane.width_m)
    columns[:, 2] = lane.is_junction
    columns[:, 4] = number
    columns[:, 5] = s
    if piece.change_from is not None:
        origin = graph.lanes[piece.change_from]
        t = np.linspace(0.0, 1.0, count)
        blend = (t**3 * (10.0 - 15.0 * t + 6.0 * t**2))[:, None]
        origin_s = np.linspace(piece.change_start_s_m, piece.change_end_s_m, count, dtype=np.float64)
        start = lane_points(origin, origin_s)
        xyz = (1.0 - blend) * start + blend * xyz
        columns[:, 0] = min(origin.speed_limit_mps, lane.speed_limit_mps)
        columns[:, 3] = 1.0
    return _Samples(xyz, columns)


def _concatenate(parts: Sequence[_Samples]) -> _Samples:
    """All parts in a row, without the points that repeat at the joints."""
    xyz = np.concatenate([part.xyz for part in parts])
    columns = np.concatenate([part.columns for part in parts])
    keep = np.ones(len(xyz), dtype=bool)
    keep[:-1] = np.hypot(*np.diff(xyz[:, :2], axis=0).T) > 0.05
    return _Samples(xyz[keep], columns[keep])


def _resample(raw: _Samples, spacing_m: float) -> tuple[Float, Float]:
    s = arc_lengths(raw.xyz[:, 0], raw.xyz[:, 1])
    grid = np.linspace(0.0, s[-1], max(2, round(s[-1] / spacing_m)) + 1)
    xyz = np.column_stack([np.interp(grid, s, raw.xyz[:, i]) for i in range(3)])
    nearest = np.clip(np.searchsorted(s, grid - 1e-9), 0, len(s) - 1)
    return xyz, raw.columns[nearest]


def _end_headings(graph: LaneGraph, pieces: Sequence[RoutePiece]) -> tuple[float, float]:
    """The lanes' headings at the first and at the last point of the route."""
    first, last = pieces[0], pieces[-1]
    start, start_s = (
        (first.lane, first.start_s_m) if first.change_from is None else (first.change_from, first.change_start_s_m)
    )
    return (
        float(graph.lanes[start].curve.pose_at(start_s)[2]),
        float(graph.lanes[last.lane].curve.pose_at(last.end_s_m)[2]),
    )


def smooth(x_m: Float, y_m: Float, end_yaw_rad: tuple[float, float], config: RouteConfig) -> Curve:
    """Whittaker smoothing of three or more evenly spaced points with a penalty on third differences (jerk of the path).

    The path stays within `smoothing_max_offset_m` of the points: the weight of a point that moves more is doubled until
    it no longer does. Leaves the points as they are if 60 rounds are not enough. Eilers (2003), "A Perfect Smoother".

    The smoother turns the ends of a bend towards its chord. So the path is mirrored beyond both ends, at the normal of
    the heading that it has there (`end_yaw_rad`): what is symmetric stays so, and keeps that heading.
    """
    beyond = min(len(x_m) - 1, round(config.smoothing_wavelength_m / config.spacing_m))
    points = np.column_stack([x_m, y_m])
    before = _mirrored(points[beyond:0:-1], points[0], end_yaw_rad[0])
    after = _mirrored(points[-2 : -beyond - 2 : -1], points[-1], end_yaw_rad[1])
    smoothed = _whittaker(np.concatenate([before, points, after]), [beyond, beyond + len(points) - 1], config)
    curve = Curve.through(smoothed[:, 0], smoothed[:, 1]).part(slice(beyond, beyond + len(points)))
    return replace(curve, s_m=curve.s_m - curve.s_m[0])


def _mirrored(points: Float, at: Float, yaw_rad: float) -> Float:
    """Points (N, 2) mirrored at the line through `at` that is normal to `yaw_rad`."""
    ahead = np.array([np.cos(yaw_rad), np.sin(yaw_rad)])
    return np.asarray(points - 2.0 * np.outer((points - at) @ ahead, ahead))


def _whittaker(points: Float, fixed: list[int], config: RouteConfig) -> Float:
    """Points (N, 2) smoothed as `smooth` says; those at the indices `fixed` keep their places."""
    response = 2.0 * np.sin(np.pi * config.spacing_m / config.smoothing_wavelength_m)
    penalty = third_difference_bands(len(points)) * float(response) ** -6
    weight = np.ones(len(points))
    weight[fixed] = 1e3
    for _ in range(60):
        bands = penalty.copy()
        bands[-1] += weight
        result = np.asarray(solveh_banded(bands, weight[:, None] * points))
        far = np.hypot(*(result - points).T) > config.smoothing_max_offset_m
        if not far.any():
            return result
        weight[np.convolve(far, np.ones(3), mode="same") > 0] *= 2.0
    return points


def third_difference_bands(count: int) -> Float:
    """Upper bands (4, count) of D'D for the third-difference matrix D, in the layout of `solveh_banded`."""
    stencil = np.array([-1.0, 3.0, -3.0, 1.0])
    bands = np.zeros((4, count))
    for offset in range(4):
        for i in range(4 - offset):
            bands[3 - offset, i + offset : count - 3 + i + offset] += stencil[i] * stencil[i + offset]
    return bands


def _signals_along(
    graph: LaneGraph, pieces: Sequence[RoutePiece], s_m: Float, number: NDArray[np.int64], lane_s_m: Float
) -> tuple[RouteSignal, ...]:
    found: list[RouteSignal] = []
    for i, piece in enumerate(pieces):
        rows = np.flatnonzero(number == i)
        if len(rows) == 0:
            continue
        first = piece.start_s_m if piece.change_from is None else 0.5 * (piece.start_s_m + piece.end_s_m)
        for signal in graph.signals:
            inside = first - _LINE_TOLERANCE_M <= signal.stop_s_m <= piece.end_s_m + _LINE_TOLERANCE_M
            if signal.lane == piece.lane and inside:
                at = float(np.interp(signal.stop_s_m, lane_s_m[rows], s_m[rows]))
                found.append(RouteSignal(signal.signal_id, signal.kind, at))
    found.sort(key=lambda signal: (signal.stop_s_m, signal.signal_id))
    return tuple(
        signal
        for i, signal in enumerate(found)
        if not any(
            other.signal_id == signal.signal_id and signal.stop_s_m - other.stop_s_m < _SAME_SIGNAL_M
            for other in found[:i]
        )
    )
