"""Estimates how much softer the tyres are than on a dry road, from the car's response to its steering in bends."""

from __future__ import annotations

import numpy as np

SOFTNESS_MAX = 5.0
UNDERSTEER_MIN = 0.001
"""Understeer gradient, rad per m/s^2, below which its effect on the wheel angle is too small to learn from."""

FILTER_S = 0.3
ANSWER_S = 0.15
"""Time that the yaw rate lags behind the wheels."""

LEARN_S = 0.6
ACCEL_MIN_MPS2 = 0.7
"""Lateral acceleration above which the factor is updated."""


class TyreSoftness:
    """The factor on slip angles and understeer, 1 on a dry road.

    Water scales the tyres' cornering stiffness, so the wheel angle beyond the geometry's grows by one factor with the
    slip of all tyres. That factor is fitted by normalised least mean squares on low-pass filtered signals.
    """

    def __init__(self, wheelbase_m: float, understeer_rad_per_mps2: float, step_s: float) -> None:
        self._wheelbase_m, self._understeer, self._step_s = wheelbase_m, understeer_rad_per_mps2, step_s
        self._wheel_rad = self._turn_radps = 0.0
        self.factor = 1.0

    def step(self, wheel_rad: float, yaw_rate_radps: float, speed_mps: float) -> float:
        """Update and return the factor, from the commanded wheel angle and the car's present yaw rate and speed."""
        dt = self._step_s
        self._wheel_rad += dt / (FILTER_S + ANSWER_S + dt) * (wheel_rad - self._wheel_rad)
        self._turn_radps += dt / (FILTER_S + dt) * (yaw_rate_radps - self._turn_radps)
        accel = speed_mps * self._turn_radps
        if abs(accel) < ACCEL_MIN_MPS2 or self._understeer < UNDERSTEER_MIN:
            return self.factor
        expected = self._understeer * accel
        beyond = self._wheel_rad - float(np.arctan(self._wheelbase_m * self._turn_radps / speed_mps))
        self.factor += dt / LEARN_S * (beyond / expected - self.factor)
        self.factor = min(max(self.factor, 1.0), SOFTNESS_MAX)
        return self.factor
