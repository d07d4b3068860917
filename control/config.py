"""Configuration of the lateral and longitudinal controllers: every number with its unit in its name."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from av_core.config import Strict as _Strict


def _check_rising(table: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if any(after[0] <= before[0] for before, after in pairwise(table)):
        raise ValueError("the speeds, the first number of each pair, must increase from pair to pair")
    if any(value <= 0.0 for _, value in table):
        raise ValueError("the values, the second number of each pair, must be more than 0")
    return table


SpeedTable = Annotated[tuple[tuple[float, float], ...], Field(min_length=1), AfterValidator(_check_rising)]
"""Pairs (speed_mps, value) in the order of increasing speed; values in between are interpolated linearly."""


class LateralConfig(_Strict):
    """Steering: PID on the look-ahead error, plus curvature feed-forward (`control.lateral`).

    * Look-ahead distance: `look_ahead_min_m` + `look_ahead_gain_s` * speed, at most `look_ahead_max_m`.
    * `damping`: damping ratio of the feedback.
    * `integral_per_s`, `derivative_s`: integral and derivative gain, relative to the proportional gain.
      `derivative_filter_s`: time constant of the derivative's filter.
    * `integral_limit_m`, `error_limit_m`: limits of the integral and of the error.
    * `feedback_accel_max_mps2`: limit of the lateral acceleration that the feedback commands.
    * `rear_slip_rad_per_mps2`, `understeer_rad_per_mps2`: rear slip angle, and additional wheel angle, per lateral
      acceleration.
    * `latency_s`: time by which the pose is extrapolated; `preview_s`: time ahead at which the curvature is read.
    * `steer_rate_max_per_s`: maximum change of the steering command per second.
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

    * `gain_per_s`: proportional gain by speed. `integral_per_s2`, `derivative`: the other gains.
      `derivative_filter_s`: time constant of the derivative's filter. `integral_limit_mps2`: limit of the integral.
    * `accel_max_mps2`, `decel_max_mps2`: limits of the controller's acceleration; a larger one of the plan is followed.
    * `jerk_max_mps3`: limit of the change of acceleration. `jerk_emergency_mps3` replaces it if the planned
      deceleration is at least `emergency_decel_mps2`.
    * `lag_fade_s`: time over which the feedback corrects the speed error that the jerk limit causes.
    * `throttle_accel_mps2`, `brake_decel_mps2`: acceleration with the pedal fully pressed, by speed, for CARLA's cars;
      after carla_garage's models of a Lincoln MKZ 2020. Throttle below `throttle_free` does not drive the car.
    * `rolling_decel_mps2`, `drag_per_m`: resistances that the pedals compensate; the second is multiplied by speed
      squared.
    * `pedal_hysteresis_mps2`: acceleration beyond zero at which the controller changes from one pedal to the other.
    * `latency_s`: time until a pedal command takes effect.
    * `rest_speed_mps`, `rest_time_s`: below this speed, the car is braked to rest within this time if the plan stops.
    * `hold_speed_mps`, `hold_brake`: below this speed at the end of a stop, the car is held with this brake command.
    * `launch_speed_mps`, `launch_look_s`: a held car starts if the plan exceeds this speed at this time ahead.
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
    """Configuration of both controllers; `step_s` is the time between two calls."""

    lateral: LateralConfig = LateralConfig()
    longitudinal: LongitudinalConfig = LongitudinalConfig()
    step_s: float = Field(0.05, ge=0.001, le=1.0)
