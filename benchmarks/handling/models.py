"""The published models of a CARLA car that the default handling is held against.

PDM-Lite's ego model (carla_garage, branch leaderboard_2, `team_code/config.py`) was fitted to a Lincoln MKZ 2020 on a
CARLA server at 20 Hz: a kinematic bicycle for the turn, polynomials of the speed for throttle and full brake. It took
the bicycle from World on Rails, whose speed is linear in the pedals.
"""

from __future__ import annotations

import math

import numpy as np

MODEL = "vehicle.lincoln.mkz_2020"
STEP_S = 0.05
PEDAL_FREE = 0.3
"""Throttle below which PDM-Lite's model keeps the speed."""

FRONT_M, REAR_M, STEER_GAIN = -0.090769015, 1.4178275, 0.36848336
RAILS_BRAKE_MPS2, RAILS_THROTTLE_MPS2 = -4.952399, 0.5633837
BRAKE = (
    9.31711370e-03,
    8.20967431e-02,
    -2.83832427e-03,
    5.06587474e-05,
    -4.90357228e-07,
    2.44419284e-09,
    -4.91381935e-12,
)
THROTTLE = (
    9.63873001e-01, 4.37535692e-04, -3.80192912e-01, 1.74950069e00, 9.16787414e-02, -7.05461530e-02, -1.05996152e-03,
    6.71079346e-04,
)  # fmt: skip


def turn_radps(speed_mps: float, steer: float) -> float:
    """Yaw rate of the kinematic bicycle of both models, rad/s; `steer` in [-1, 1]."""
    slip = math.atan(REAR_M / (FRONT_M + REAR_M) * math.tan(STEER_GAIN * steer))
    return speed_mps / REAR_M * math.sin(slip)


def braked_mps(speed_mps: float) -> float:
    """PDM-Lite's speed after a step of 0.05 s of full brake, m/s."""
    return max(float((3.6 * speed_mps) ** np.arange(1, 8) @ np.array(BRAKE)) / 3.6, 0.0)


def driven_mps(speed_mps: float, throttle: float) -> float:
    """PDM-Lite's speed after a step of 0.05 s of throttle in [0, 1], m/s."""
    if throttle < PEDAL_FREE:
        return speed_mps
    v, t = 3.6 * speed_mps, throttle
    terms = (v, v**2, t, t**2, v * t, v * t**2, v**2 * t, v**2 * t**2)
    return max(float(np.dot(terms, THROTTLE)) / 3.6, 0.0)


def rails_braked_mps(speed_mps: float) -> float:
    """World on Rails' speed after a step of 0.05 s of brake, m/s."""
    return max(speed_mps + RAILS_BRAKE_MPS2 * STEP_S, 0.0)


def rails_driven_mps(speed_mps: float, throttle: float) -> float:
    """World on Rails' speed after a step of 0.05 s of throttle in [0, 1], m/s."""
    return speed_mps + RAILS_THROTTLE_MPS2 * throttle * STEP_S
