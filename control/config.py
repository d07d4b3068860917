"""Configuration of the lateral and longitudinal controllers: every number with its unit in its name."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from av_core.config import Strict as _Strict


def _check_rising(table: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if any(after[0] <= before[0] for before, after in pairwise(table)):
        raise ValueError("the speeds, first in each pair, have to rise from pair to pair")
    if any(value <= 0.0 for _, value in table):
        raise ValueError("the values, second in each pair, have to be more than 0")
    return table


SpeedTable = Annotated[tuple[tuple[float, float], ...], Field(min_length=1), AfterValidator(_check_rising)]
"""Pairs (speed_mps, value) by rising speed; linear in between."""


class LateralConfig(_Strict):
    """Steering: PID on the look-ahead error, plus curvature feed-forward (`control.lateral`).

    * Look-ahead distance: `look_ahead_min_m` + `look_ahead_gain_s` * speed, at most `look_ahead_max_m`.
    * `damping`: damping ratio of the feedback; `integral_limit_m` and `error_limit_m` clip its integral and error,
      `feedback_accel_max_mps2` the lateral acceleration that it asks for.
    * `rear_slip_rad_per_mps2`, `understeer_rad_per_mps2`: rear slip angle and extra wheel angle by lateral
      acceleration.
    * `latency_s`: how far the pose is extrapolated; `preview_s`: how far ahead the curvature is read.
    """

    look_ahead_min_m: float = Field(4.5, gt=0.5)
    look_ahead_gain_s: float = Field(0.39, ge=0.0)
    look_ahead_max_m: float = Field(30.0, gt=1.0)
    damping: float = Field(1.15, gt=0.3)
    integral_per_s: float = Field(0.1, ge=0.0)
    derivative_s: float = Field(0.0, ge=0.0)
    derivative_filter_s: float = Field(0.1, gt=0.0)
    integral_limit_m: float = Field(0.4, ge=0.0)
    error_limit_m: float = Field(3.0, gt=0.0)
    feedback_accel_max_mps2: float = Field(12.0, gt=0.0)
    rear_slip_rad_per_mps2: float = Field(0.0051, ge=0.0)
    understeer_rad_per_mps2: float = Field(0.0, ge=0.0)
    latency_s: float = Field(0.1, ge=0.0)
    preview_s: float = Field(0.1, ge=0.0)
    steer_rate_max_per_s: float = Field(4.0, gt=0.0)


class LongitudinalConfig(_Strict):
    """Throttle and brake: PID on the speed, plus the plan's acceleration as feed-forward (`control.longitudinal`).

    * `throttle_accel_mps2`, `brake_decel_mps2`: the pedals of CARLA's cars, as (speed in m/s, acceleration of the full
      pedal), after carla_garage's models of a Lincoln MKZ 2020. Throttle below `throttle_free` does not drive the car.
    * `rolling_decel_mps2`, `drag_per_m`: resistance that the pedals compensate, the latter times speed squared.
    * `pedal_hysteresis_mps2`: acceleration beyond zero from which the controller changes pedals.
    * `emergency_decel_mps2`: planned deceleration from which `jerk_emergency_mps3` applies instead of `jerk_max_mps3`.
    * `accel_max_mps2`, `decel_max_mps2`: limits of the controller's acceleration; a plan's own larger one is followed.
    * `lag_fade_s`: time over which the feedback makes up for the speed error that the jerk limit causes.
    * `rest_speed_mps`, `rest_time_s`: below this speed, brake to rest within this time when the plan comes to rest.
    * `hold_speed_mps`, `hold_brake`: below this speed at the end of a stop, hold the car with this brake command.
    * `launch_speed_mps`, `launch_look_s`: a plan that is faster than this, this far ahead in time, launches the car.
    """

    gain_per_s: SpeedTable = ((0.0, 2.5), (5.0, 2.2))
    integral_per_s2: float = Field(1.0, ge=0.0)
    derivative: float = Field(0.0, ge=0.0)
    derivative_filter_s: float = Field(0.2, gt=0.0)
    integral_limit_mps2: float = Field(1.5, ge=0.0)
    accel_max_mps2: float = Field(3.0, gt=0.0)
    decel_max_mps2: float = Field(8.0, gt=0.0)
    jerk_max_mps3: float = Field(7.0, gt=0.0)
    jerk_emergency_mps3: float = Field(60.0, gt=0.0)
    emergency_decel_mps2: float = Field(3.2, gt=0.0)
    lag_fade_s: float = Field(2.0, gt=0.0)
    throttle_accel_mps2: SpeedTable = ((0.0, 7.0), (5.0, 6.4), (10.0, 5.2), (20.0, 3.4), (40.0, 1.2))
    throttle_free: float = Field(0.3, ge=0.0, lt=1.0)
    brake_decel_mps2: SpeedTable = ((0.0, 20.5), (5.0, 18.5), (7.2, 11.7), (10.0, 7.0), (30.0, 7.0))
    rolling_decel_mps2: float = Field(0.12, ge=0.0)
    drag_per_m: float = Field(0.0004, ge=0.0)
    pedal_hysteresis_mps2: float = Field(0.15, ge=0.0)
    latency_s: float = Field(0.07, ge=0.0)
    rest_speed_mps: float = Field(0.5, gt=0.0)
    rest_time_s: float = Field(0.3, gt=0.0)
    hold_speed_mps: float = Field(0.15, gt=0.0)
    hold_brake: float = Field(0.5, gt=0.0, le=1.0)
    launch_speed_mps: float = Field(0.15, gt=0.0)
    launch_look_s: float = Field(0.6, gt=0.0)


class ControlConfig(_Strict):
    """Both controllers, and `step_s`, the time between two calls."""

    lateral: LateralConfig = LateralConfig()
    longitudinal: LongitudinalConfig = LongitudinalConfig()
    step_s: float = Field(0.05, ge=0.001, le=1.0)
