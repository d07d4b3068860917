"""A planned motion: the curve that is driven, with speed and acceleration over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.curve import Curve, arc_lengths

Float = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One moment of a trajectory; `s_m` is the distance from its start along the curve."""

    time_s: float
    s_m: float
    x_m: float
    y_m: float
    yaw_rad: float
    curvature_1pm: float
    speed_mps: float
    accel_mps2: float


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The planned motion of the vehicle frame's origin, N points; all arrays are (N,).

    `curve` holds the poses, with the distance from the start as arc length; `time_s`, from now, increases.

    Raises ValueError for arrays of another length than the curve's, and for times that do not increase.
    """

    curve: Curve
    speed_mps: Float
    accel_mps2: Float
    time_s: Float

    def __post_init__(self) -> None:
        shape = self.curve.s_m.shape
        if any(a.shape != shape for a in (self.speed_mps, self.accel_mps2, self.time_s)):
            raise ValueError("a trajectory needs a speed, an acceleration and a time for each point of its curve")
        if not (self.time_s[1:] > self.time_s[:-1]).all():
            raise ValueError("the times of a trajectory must increase")

    @classmethod
    def through(
        cls,
        poses: tuple[Float, Float, Float],
        curvature_1pm: Float,
        speed_mps: Float,
        accel_mps2: Float,
        time_s: Float,
    ) -> Trajectory:
        """The trajectory through `poses`: x, y and unwrapped heading, (N,) each."""
        x, y, yaw = poses
        return cls(Curve(arc_lengths(x, y), x, y, yaw, curvature_1pm), speed_mps, accel_mps2, time_s)

    def at(self, time_s: float) -> TrajectoryPoint:
        """The moment at `time_s` from now, linear between the points; clamped to the first and the last point."""
        return self._point(time_s, self.time_s)

    def at_distance(self, s_m: float) -> TrajectoryPoint:
        """The moment at which the vehicle has driven `s_m`, interpolated and clamped as in `at`.

        Where the vehicle stands at this distance, it is the moment at which it drives on.
        """
        return self._point(s_m, self.curve.s_m)

    def _point(self, place: float, places: Float) -> TrajectoryPoint:
        # As np.interp does, but with one search for all columns and in Python's floats, which are faster one by one.
        place = max(place, places.item(0))
        low = int(places.searchsorted(place, side="right")) - 1
        high = min(low + 1, len(places) - 1)
        step, beyond = (places.item(high) - places.item(low), place - places.item(low)) if high > low else (1.0, 0.0)
        curve = self.curve
        path = (self.time_s, curve.s_m, curve.x_m, curve.y_m, curve.yaw_rad, curve.curvature_1pm)
        columns = (*path, self.speed_mps, self.accel_mps2)
        return TrajectoryPoint(*((a.item(high) - a.item(low)) / step * beyond + a.item(low) for a in columns))
