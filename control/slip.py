"""Estimates the softness of the tyres, relative to a dry road, from the car's response to steering in bends."""

from __future__ import annotations

import numpy as np

SOFTNESS_MAX = 5.0
UNDERSTEER_MIN = 0.001
"""Minimum understeer gradient for an update, rad per m/s^2; a smaller one has too little effect on the wheel angle."""

FILTER_S = 0.3
ANSWER_S = 0.15
"""Lag of the yaw rate behind the wheel angle, s."""

LEARN_S = 0.6
ACCEL_MIN_MPS2 = 0.7
"""Minimum lateral acceleration for an update, m/s^2."""


class TyreSoftness:
    """The factor by which slip angles and understeer are larger than on a dry road (1).

    Water reduces the cornering stiffness of all tyres by the same factor. So the wheel angle in addition to that of the
    geometry grows by this factor. It is fitted by normalised least mean squares on low-pass filtered signals.
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
