"""Every number of control, with its unit in its name."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Field

from av_stack.config import Strict as _Strict


def _check_rising(table: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if any(after[0] <= before[0] for before, after in pairwise(table)):
        raise ValueError("the speeds, first in each pair, have to rise from pair to pair")
    if any(value <= 0.0 for _, value in table):
        raise ValueError("the values, second in each pair, have to be more than 0")
    return table


SpeedTable = Annotated[tuple[tuple[float, float], ...], Field(min_length=1), AfterValidator(_check_rising)]
"""Pairs (speed_mps, value) by rising speed; linear in between."""


class LateralConfig(_Strict):
    """Steering: look-ahead error feedback on top of curvature feed-forward."""

    look_ahead_min_m: float = Field(4.0, gt=0.5)
    look_ahead_gain_s: float = Field(0.7, ge=0.0)
    look_ahead_max_m: float = Field(30.0, gt=1.0)
    damping: float = Field(1.0, gt=0.3)
    integral_per_s: float = Field(0.3, ge=0.0)
    derivative_s: float = Field(0.0, ge=0.0)
    derivative_filter_s: float = Field(0.1, gt=0.0)
    integral_limit_m: float = Field(0.4, ge=0.0)
    error_limit_m: float = Field(3.0, gt=0.0)
    rear_slip_rad_per_mps2: float = Field(0.006, ge=0.0)
    understeer_rad_per_mps2: float = Field(0.0025, ge=0.0)
    latency_s: float = Field(0.1, ge=0.0)
    preview_s: float = Field(0.1, ge=0.0)
    steer_rate_max_per_s: float = Field(4.0, gt=0.0)


class LongitudinalConfig(_Strict):
    """Throttle and brake: speed feedback on top of the plan's acceleration.

    The pedals are those of CARLA's cars: `throttle_accel_mps2` and `brake_decel_mps2` are (speed in m/s, acceleration
    of the full pedal) after carla_garage's models of a Lincoln MKZ 2020. Throttle below `throttle_free` does not drive.
    """

    gain_per_s: SpeedTable = ((0.0, 2.0), (5.0, 1.6), (15.0, 1.2), (30.0, 0.9))
    integral_per_s2: float = Field(0.4, ge=0.0)
    derivative: float = Field(0.0, ge=0.0)
    derivative_filter_s: float = Field(0.2, gt=0.0)
    integral_limit_mps2: float = Field(1.5, ge=0.0)
    accel_max_mps2: float = Field(3.0, gt=0.0)
    decel_max_mps2: float = Field(8.0, gt=0.0)
    jerk_max_mps3: float = Field(7.0, gt=0.0)
    jerk_emergency_mps3: float = Field(60.0, gt=0.0)
    emergency_decel_mps2: float = Field(3.2, gt=0.0)
    throttle_accel_mps2: SpeedTable = ((0.0, 7.0), (5.0, 6.4), (10.0, 5.2), (20.0, 3.4), (40.0, 1.2))
    throttle_free: float = Field(0.3, ge=0.0, lt=1.0)
    brake_decel_mps2: SpeedTable = ((0.0, 20.5), (5.0, 18.5), (7.2, 11.7), (10.0, 7.0), (30.0, 7.0))
    rolling_decel_mps2: float = Field(0.12, ge=0.0)
    drag_per_m: float = Field(0.0004, ge=0.0)
    pedal_hysteresis_mps2: float = Field(0.15, ge=0.0)
    latency_s: float = Field(0.2, ge=0.0)
    rest_speed_mps: float = Field(0.5, gt=0.0)
    rest_time_s: float = Field(0.3, gt=0.0)
    hold_speed_mps: float = Field(0.15, gt=0.0)
    hold_brake: float = Field(0.5, gt=0.0, le=1.0)
    launch_speed_mps: float = Field(0.15, gt=0.0)
    launch_look_s: float = Field(0.6, gt=0.0)


class ControlConfig(_Strict):
    lateral: LateralConfig = LateralConfig()  # type: ignore[call-arg]
    longitudinal: LongitudinalConfig = LongitudinalConfig()  # type: ignore[call-arg]
    step_s: float = Field(0.05, ge=0.001, le=1.0)
