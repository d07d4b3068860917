"""The geometry of roads and paths: arc length, the pose at an arc length, and the projection of positions.

`Curve` does every nearest-point search, projection and interpolation along a lane, a route or a plan; `LanePoints`
(`lane_points`) searches all lanes of a map at once. Frames are those of `av_core.types`: x, y and headings in the map
frame, offsets positive to the left (ISO 8855).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]
Numbers = Float | float
"""One number or an array of them."""

Rows = NDArray[np.int64] | int

PIECE_MIN_M = 1e-6
"""Pieces between two points count as at least this long, so that repeated points do no harm."""


def ahead_and_left(dx_m: Numbers, dy_m: Numbers, yaw_rad: Numbers) -> tuple[Float, Float]:
    """A displacement in the map frame as (ahead, left) of the heading `yaw_rad`, m; arrays of any one shape."""
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    return dx_m * c + dy_m * s, -dx_m * s + dy_m * c


def arc_lengths(x_m: Float, y_m: Float) -> Float:
    """Arc length (N,) at each of N points, from 0 at the first."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x_m), np.diff(y_m)))])


def heading_and_curvature(x_m: Float, y_m: Float) -> tuple[Float, Float]:
    """Heading (unwrapped) and signed curvature of a polyline of two or more points, by central differences."""
    dx, dy = np.gradient(x_m), np.gradient(y_m)
    ddx, ddy = np.gradient(dx), np.gradient(dy)
    speed = np.maximum(np.hypot(dx, dy), 1e-6)
    curvature = (dx * ddy - dy * ddx) / speed**3
    if len(x_m) > 4:
        curvature[:2] = curvature[2]
        curvature[-2:] = curvature[-3]
    return np.unwrap(np.arctan2(dy, dx)), curvature


@dataclass(frozen=True, slots=True)
class Projection:
    """Positions in coordinates of a curve (Frenet frame); all arrays have the shape of the positions.

    * `row`: index of the curve's point that the projection started from.
    * `s_m`, `d_m`: arc length along the curve, and offset to its left.
    * `yaw_rad`: heading of the curve at `s_m`, map frame.
    """

    row: Rows
    s_m: Float
    d_m: Float
    yaw_rad: Float


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve in the map frame, sampled at N points; all arrays are (N,).

    `s_m` is arc length and never decreases; `yaw_rad` (unwrapped) and `curvature_1pm` (positive to the left) belong to
    the points. `pose_at` takes the curve to go on straight beyond its ends.

    Raises ValueError for arrays that are empty, of unequal lengths or not finite, and for decreasing `s_m`.
    """

    s_m: Float
    x_m: Float
    y_m: Float
    yaw_rad: Float
    curvature_1pm: Float

    def __post_init__(self) -> None:
        shape = (max(len(self.s_m), 1),)
        columns = (self.s_m, self.x_m, self.y_m, self.yaw_rad, self.curvature_1pm)
        if any(column.shape != shape for column in columns):
            raise ValueError("a curve needs one or more points, and all of its arrays in the shape (N,)")
        if not np.isfinite(self.s_m + self.x_m + self.y_m + self.yaw_rad + self.curvature_1pm).all():
            raise ValueError("a curve needs finite values")
        if (self.s_m[1:] < self.s_m[:-1]).any():
            raise ValueError("the arc length of a curve must not decrease")

    @classmethod
    def through(cls, x_m: ArrayLike, y_m: ArrayLike) -> Curve:
        """The curve through N >= 2 points, with heading and curvature by central differences.

        Raises ValueError as the class does, and for a single point, which has no heading.
        """
        x, y = np.asarray(x_m, dtype=np.float64), np.asarray(y_m, dtype=np.float64)
        if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
            raise ValueError("a curve needs two or more points, x and y in the shape (N,)")
        return cls(arc_lengths(x, y), x, y, *heading_and_curvature(x, y))

    @classmethod
    def joined(cls, parts: Sequence[Curve]) -> Curve:
        """The curves in a row, each with its arc length from the end of the one before; headings are unwrapped."""
        starts = np.cumsum([0.0, *(part.length_m for part in parts[:-1])])
        s = np.concatenate([part.s_m + start for part, start in zip(parts, starts, strict=True)])
        return cls(
            s,
            np.concatenate([part.x_m for part in parts]),
            np.concatenate([part.y_m for part in parts]),
            np.unwrap(np.concatenate([part.yaw_rad for part in parts])),
            np.concatenate([part.curvature_1pm for part in parts]),
        )

    @property
    def length_m(self) -> float:
        return float(self.s_m[-1])

    def row_at(self, s_m: float) -> int:
        """The first point at or after `s_m`; the last point beyond the end."""
        return min(int(self.s_m.searchsorted(s_m)), len(self.s_m) - 1)

    def rows_at(self, s_m: Float) -> NDArray[np.int64]:
        """`row_at` for arc lengths in an array of any shape."""
        return np.minimum(self.s_m.searchsorted(s_m), len(self.s_m) - 1)

    def rows_between(self, low_s_m: float, high_s_m: float) -> slice:
        """The points from `low_s_m` to `high_s_m`, both included; at least two of them where the curve has two."""
        low = int(self.s_m.searchsorted(low_s_m))
        high = max(low + 2, int(self.s_m.searchsorted(high_s_m, side="right")))
        return slice(max(min(low, len(self.s_m) - 2), 0), min(high, len(self.s_m)))

    def part(self, rows: slice) -> Curve:
        """The curve through some of the points, with their arc lengths."""
        return Curve(self.s_m[rows], self.x_m[rows], self.y_m[rows], self.yaw_rad[rows], self.curvature_1pm[rows])

    def interpolate(self, s_m: Numbers, values: Float) -> Float:
        """The values (N,) that belong to the curve's points, linear in between; beyond the ends, those of the ends."""
        return np.asarray(np.interp(s_m, self.s_m, values))

    def pose_at(self, s_m: Numbers, d_m: Numbers = 0.0) -> tuple[Float, Float, Float]:
        """(x, y, heading) at arc lengths `s_m`, `d_m` to the left of the curve; linear between its points."""
        yaw = self.interpolate(s_m, self.yaw_rad)
        cos, sin = np.cos(yaw), np.sin(yaw)
        beyond = s_m - np.minimum(np.maximum(s_m, self.s_m[0]), self.s_m[-1])
        x = self.interpolate(s_m, self.x_m) + beyond * cos - d_m * sin
        y = self.interpolate(s_m, self.y_m) + beyond * sin + d_m * cos
        return np.asarray(x), np.asarray(y), yaw

    def nearest(
        self, x_m: Numbers, y_m: Numbers, rows: slice | None = None, penalty_m2: Float | None = None
    ) -> NDArray[np.int64] | int:
        """The point nearest to each position (arrays of any one shape); of equally near ones the first.

        `rows` limits the search, for a curve that crosses itself. `penalty_m2`, one value for each of the points
        searched, is added to the squared distances.
        """
        first = 0 if rows is None else rows.start
        x, y = (self.x_m, self.y_m) if rows is None else (self.x_m[rows], self.y_m[rows])
        if not isinstance(x_m, np.ndarray) or x_m.ndim == 0:
            squared = (x - x_m) ** 2 + (y - y_m) ** 2
            return first + int((squared if penalty_m2 is None else squared + penalty_m2).argmin())
        # |p - c|^2 without |p|^2, which is the same for all c: one matrix product instead of two differences.
        cx, cy, rx, ry = x - x[0], y - y[0], np.ravel(x_m) - x[0], np.ravel(y_m) - y[0]
        squared = cx**2 + cy**2 if penalty_m2 is None else cx**2 + cy**2 + penalty_m2
        cost = squared[None, :] - 2.0 * (np.outer(rx, cx) + np.outer(ry, cy))
        return np.asarray(first + np.argmin(cost, axis=1).reshape(x_m.shape))

    def project(self, x_m: Numbers, y_m: Numbers, row: Rows | None = None, follow_bend: bool = True) -> Projection:
        """Positions (arrays of any one shape) in coordinates of the curve, computed from their nearest points.

        `row` gives the indices of these points where the caller knows them. From its nearest point the curve is
        continued with the curvature there, also beyond its ends. With `follow_bend` False it is continued straight on
        the tangent instead; use this for positions far beyond an end, where a continued bend leads anywhere.

        The result is exact on straight stretches. On a bend of curvature k, `s_m` is off by |k d a|, where a is the
        distance along the curve from the nearest point; without `follow_bend`, `d_m` is off by k a^2 / 2. With points
        1 m apart, a is at most 0.5 m.
        """
        row = self.nearest(x_m, y_m) if row is None else row
        yaw = self.yaw_rad[row]
        ahead, left = ahead_and_left(x_m - self.x_m[row], y_m - self.y_m[row], yaw)
        if follow_bend:
            curvature = self.curvature_1pm[row]
            left, yaw = left - 0.5 * curvature * ahead**2, yaw + curvature * ahead
        return Projection(row, self.s_m[row] + ahead, left, yaw)

    def project_on_piece(self, x_m: float, y_m: float, near: int) -> Projection:
        """A position in coordinates of the straight piece beside the point `near`, for a curve of two or more points.

        `row` of the result is the piece's first point, `yaw_rad` the piece's direction. `s_m` stays within the piece,
        `d_m` is the distance to its line.
        """
        row = min(near, len(self.s_m) - 2)
        along, _ = ahead_and_left(x_m - self.x_m[row], y_m - self.y_m[row], self.yaw_rad[near])
        if along < 0.0 and row > 0:
            row -= 1
        dx, dy = x_m - float(self.x_m[row]), y_m - float(self.y_m[row])
        piece_x, piece_y = float(self.x_m[row + 1] - self.x_m[row]), float(self.y_m[row + 1] - self.y_m[row])
        length_m2 = max(piece_x**2 + piece_y**2, PIECE_MIN_M**2)
        share = min(max((dx * piece_x + dy * piece_y) / length_m2, 0.0), 1.0)
        return Projection(
            row=row,
            s_m=self.s_m[row] + share * (self.s_m[row + 1] - self.s_m[row]),
            d_m=(dy * piece_x - dx * piece_y) / max(np.hypot(piece_x, piece_y), PIECE_MIN_M),
            yaw_rad=np.arctan2(piece_y, piece_x),
        )

    def distance_m(self, x_m: Float, y_m: Float) -> Float:
        """Distance from positions (arrays of any one shape) to the polyline through two or more points."""
        piece_x, piece_y = np.diff(self.x_m), np.diff(self.y_m)
        dx, dy = x_m[..., None] - self.x_m[:-1], y_m[..., None] - self.y_m[:-1]
        length_m2 = np.maximum(piece_x**2 + piece_y**2, PIECE_MIN_M**2)
        share = np.clip((dx * piece_x + dy * piece_y) / length_m2, 0.0, 1.0)
        return np.asarray(np.hypot(dx - share * piece_x, dy - share * piece_y).min(axis=-1))
