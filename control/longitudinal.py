"""Longitudinal control: the throttle and brake commands that follow the plan's speed, by PID and feed-forward."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from av_core.types import EgoState, Plan
from control.config import LongitudinalConfig
from control.pid import Pid, PidGains

_SAME_MPS = 1e-6
"""Maximum difference of a plan's first speed from the measured speed for which both count as equal, m/s."""


class Pedal(Enum):
    """The pedal that is in use; only one is pressed at a time."""

    THROTTLE = "throttle"
    BRAKE = "brake"


class LongitudinalController:
    """PID on the speed, plus the plan's acceleration as feed-forward; the sum, an acceleration, goes to one pedal."""

    def __init__(self, config: LongitudinalConfig, step_s: float) -> None:
        self._config = config
        self._step_s = step_s
        self._pid = Pid(
            -config.decel_max_mps2, config.accel_max_mps2, config.integral_limit_mps2, config.derivative_filter_s
        )
        self._accel = 0.0
        self._eased = 0.0
        self._lag_mps = 0.0
        self._pedal = Pedal.BRAKE
        self._holding = False

    def step(self, plan: Plan, ego: EgoState) -> tuple[float, float]:
        """(throttle, brake), each in [0, 1]; at least one of them is 0."""
        config = self._config
        speed = max(ego.speed_mps, 0.0)
        if self._hold(plan, speed):
            self._pid.reset()
            self._accel = self._eased = self._lag_mps = 0.0
            self._pedal = Pedal.BRAKE
            return 0.0, config.hold_brake
        planned = self._planned(plan, speed)
        emergency = planned < -config.emergency_decel_mps2
        jerk = config.jerk_emergency_mps3 if emergency else config.jerk_max_mps3
        change = jerk * self._step_s
        error = plan.trajectory.at(0.0).speed_mps - speed
        lag = self._lag(planned, change)
        if abs(error) > _SAME_MPS:
            left = error - lag
            error = left if error * left > 0.0 else 0.0
        wanted = self._pid.step(error, self._gains(speed), self._step_s, planned, least_max=planned)
        self._accel = min(max(wanted, self._accel - change), self._accel + change)
        return self._pedals(self._accel, speed)

    def _lag(self, planned_mps2: float, change_mps2: float) -> float:
        """The part of the speed error that the jerk limit causes after a jump of the planned acceleration; it fades.

        `step` subtracts it from the speed error. Otherwise the feedback would correct this part at once, with more
        acceleration than planned. There are two exceptions:

        * If the plan begins at the measured speed, nothing is subtracted, because this would only delay braking.
        * The subtraction never changes the sign of the error. Otherwise a car that must stop would get throttle, and a
          car that has braked hard and may drive on would stand for seconds.
        """
        self._eased = min(max(planned_mps2, self._eased - change_mps2), self._eased + change_mps2)
        self._lag_mps += (planned_mps2 - self._eased) * self._step_s
        self._lag_mps *= max(1.0 - self._step_s / self._config.lag_fade_s, 0.0)
        return self._lag_mps

    def _planned(self, plan: Plan, speed_mps: float) -> float:
        """The plan's acceleration at the time when the present pedal command takes effect.

        At the end of a stop it is at most the value that brings the vehicle to rest. The plan is already at rest then,
        but the vehicle still rolls. Its speed error is small compared with the integral of the braking before, so
        without this limit it would creep for seconds.
        """
        config = self._config
        planned = plan.trajectory.at(config.latency_s).accel_mps2
        if speed_mps < config.rest_speed_mps and self._comes_to_rest(plan):
            self._pid.reset()
            planned = min(planned, -speed_mps / config.rest_time_s)
        return planned

    def _comes_to_rest(self, plan: Plan) -> bool:
        soon = plan.trajectory.at(self._config.launch_look_s).speed_mps
        return soon < self._config.launch_speed_mps and soon <= plan.trajectory.at(0.0).speed_mps

    def _gains(self, speed_mps: float) -> PidGains:
        config = self._config
        return PidGains(_interpolate(config.gain_per_s, speed_mps), config.integral_per_s2, config.derivative)

    def _hold(self, plan: Plan, speed_mps: float) -> bool:
        """Whether to hold the car with the brake: from the end of a stop until the plan starts."""
        config = self._config
        soon = plan.trajectory.at(config.launch_look_s).speed_mps
        now = plan.trajectory.at(0.0).speed_mps
        if self._holding:
            self._holding = soon < config.launch_speed_mps or soon < now
        else:
            self._holding = speed_mps < config.hold_speed_mps and self._comes_to_rest(plan)
        return self._holding

    def _pedals(self, accel_mps2: float, speed_mps: float) -> tuple[float, float]:
        config = self._config
        force = accel_mps2 + config.drag_per_m * speed_mps**2 + config.rolling_decel_mps2
        if self._pedal is Pedal.THROTTLE and force < -config.pedal_hysteresis_mps2:
            self._pedal = Pedal.BRAKE
        elif self._pedal is Pedal.BRAKE and force > config.pedal_hysteresis_mps2:
            self._pedal = Pedal.THROTTLE
        if self._pedal is Pedal.BRAKE:
            return 0.0, min(max(-force / _interpolate(config.brake_decel_mps2, speed_mps), 0.0), 1.0)
        if force <= 0.0:
            return 0.0, 0.0
        share = force / _interpolate(config.throttle_accel_mps2, speed_mps)
        return min(config.throttle_free + (1.0 - config.throttle_free) * share, 1.0), 0.0


def _interpolate(table: Sequence[tuple[float, float]], speed_mps: float) -> float:
    """The table's value at a speed: linear between its rows, constant beyond them."""
    speeds, values = zip(*table, strict=True)
    return float(np.interp(speed_mps, speeds, values))
