"""Steering while the ego drives backwards along a path at walking speed."""

from __future__ import annotations

import math

from av_core.frames import wrap_angle
from av_core.types import EgoState, Plan, VehicleParameters
from control.config import LateralConfig
from control.lateral import wheel_angle_limit

_LENGTH_M = 2.0
"""Distance over which both errors decay, critically damped, m."""

_PREVIEW_S = 0.3
"""Time ahead at which the curvature is read, s: the wheels need this time to turn."""

_FEEDBACK_MAX_1PM = 0.2
"""Maximum curvature of the feedback, 1/m."""


class ReverseSteering:
    """Feed-forward of the path's curvature, and feedback of the cross-track error e and the heading error h.

    While the car drives backwards, e changes by -h per metre, and its heading by minus its curvature. With the feedback
    2 h / l - e / l^2, e decays over the length l.
    """

    def __init__(self, vehicle: VehicleParameters, config: LateralConfig, step_s: float) -> None:
        self._vehicle = vehicle
        self._change = config.steer_rate_max_per_s * step_s
        self._steer = 0.0

    def step(self, plan: Plan, ego: EgoState) -> float:
        """Steering command in [-1, 1], positive to the left."""
        curve = plan.trajectory.curve
        row = curve.nearest(ego.x_m, ego.y_m)
        yaw = float(curve.yaw_rad[row])
        beside_m = (ego.y_m - float(curve.y_m[row])) * math.cos(yaw) - (ego.x_m - float(curve.x_m[row])) * math.sin(yaw)
        turned = math.sin(float(wrap_angle(ego.yaw_rad - yaw)))
        feedback = 2.0 * turned / _LENGTH_M - beside_m / _LENGTH_M**2
        feedback = min(max(feedback, -_FEEDBACK_MAX_1PM), _FEEDBACK_MAX_1PM)
        soon = curve.interpolate(curve.s_m[row] + _PREVIEW_S * abs(ego.speed_mps), curve.curvature_1pm)
        angle = math.atan(self._vehicle.wheelbase_m * (float(soon) + feedback))
        wanted = angle / wheel_angle_limit(self._vehicle, abs(ego.speed_mps))
        wanted = min(max(wanted, self._steer - self._change), self._steer + self._change)
        self._steer = min(max(wanted, -1.0), 1.0)
        return self._steer
