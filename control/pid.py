"""A PID controller with filtered derivative, feed-forward, output limits and anti-windup."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PidGains:
    """u = proportional * e + integral * int e dt + derivative * de/dt."""

    proportional: float
    integral: float = 0.0
    derivative: float = 0.0


class Pid:
    """PID with a filtered derivative, output limits and anti-windup.

    The contribution of the integrator stays within +-`integral_limit`. The integrator stops while the output is
    saturated and the error would increase it further (clamping). A change of the gains causes no jump of the output,
    because the integral is stored in units of the output. Raises ValueError unless `output_min` is below `output_max`.
    Astrom, Hagglund (2006), "Advanced PID Control", ch. 3.
    """

    def __init__(self, output_min: float, output_max: float, integral_limit: float, derivative_filter_s: float) -> None:
        if output_min >= output_max:
            raise ValueError(f"output_min {output_min} must be below output_max {output_max}")
        self._min, self._max = output_min, output_max
        self._integral_limit = integral_limit
        self._filter_s = derivative_filter_s
        self.reset()

    @property
    def integral(self) -> float:
        """The contribution of the integrator to the output."""
        return self._integral

    def reset(self) -> None:
        """Clear the integral and the derivative."""
        self._integral = 0.0
        self._slope = 0.0
        self._error: float | None = None

    def step(
        self, error: float, gains: PidGains, dt_s: float, feed_forward: float = 0.0, least_max: float = -math.inf
    ) -> float:
        """The limited output for `error`; `dt_s` > 0 is the time since the last step.

        `least_max` raises the upper limit of this step if that is lower.
        """
        most = max(self._max, least_max)
        if self._error is not None:
            alpha = dt_s / (self._filter_s + dt_s)
            self._slope += alpha * ((error - self._error) / dt_s - self._slope)
        self._error = error
        fixed = feed_forward + gains.proportional * error + gains.derivative * self._slope
        step = gains.integral * error * dt_s
        raw = fixed + self._integral
        winding = (raw > most and step > 0.0) or (raw < self._min and step < 0.0)
        if not winding:
            self._integral = min(max(self._integral + step, -self._integral_limit), self._integral_limit)
        return min(max(fixed + self._integral, self._min), most)
