"""Extended Kalman filter of the ego's pose: prediction and update equations, without sensors and map.

State (7): x_m, y_m, yaw_rad, speed_mps of the rear axle's centre, gyro_bias_radps, wheel_scale (measured over true
speed, minus 1), slip_s2pm (side-slip angle of the rear axle per lateral acceleration, rad per m/s2).
Reference: Thrun, Burgard, Fox, Probabilistic Robotics (2005), ch. 3.3 and 5.4; the slip term is the steady-state rear
tyre slip of the linear single-track model (Milliken and Milliken, Race Car Vehicle Dynamics, ch. 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from av_core.frames import wrap_angle

Float = NDArray[np.float64]

X, Y, YAW, SPEED, GYRO_BIAS, WHEEL_SCALE, SLIP = range(7)
STATE_SIZE = 7


@dataclass(frozen=True, slots=True)
class ProcessNoise:
    """Process noise of the motion model; densities per root second.

    `lateral_m` applies to straight driving; `lateral_per_accel_m` is added per m/s2 of lateral acceleration, because
    the slip model is linear. `creep_m` remains at standstill. `yaw_per_rate_step` is the uncertain share of the turn
    rate's change over one tick: the gyro samples at ticks, while the car turns in between.
    """

    lateral_m: float = 0.02
    lateral_per_accel_m: float = 0.015
    longitudinal_m: float = 0.02
    creep_m: float = 0.002
    yaw_rad: float = 0.001
    yaw_per_rate_step: float = 0.3
    accel_mps2: float = 1.0
    gyro_bias_radps: float = 1e-5
    wheel_scale: float = 1e-5
    slip_s2pm: float = 2e-5


def predict(
    state: Float,
    covariance: Float,
    gyro_radps: tuple[float, float],
    accel_mps2: float,
    dt_s: float,
    noise: ProcessNoise,
) -> tuple[Float, Float]:
    """Predict state and covariance `dt_s` ahead.

    `gyro_radps` is the turn rate measured at the start and the end of the interval (linear in between), `accel_mps2`
    the forward acceleration (constant).
    """
    v, rate = state[SPEED], sum(gyro_radps) / 2.0 - state[GYRO_BIAS]
    course = state[YAW] + rate * dt_s / 2.0 - state[SLIP] * v * rate
    travel = (v + accel_mps2 * dt_s / 2.0) * dt_s
    c, s = np.cos(course), np.sin(course)
    new = state.copy()
    new[X] += travel * c
    new[Y] += travel * s
    new[YAW] = float(wrap_angle(state[YAW] + rate * dt_s))
    new[SPEED] += accel_mps2 * dt_s

    jacobian = np.eye(STATE_SIZE)
    course_by_bias = -dt_s / 2.0 + state[SLIP] * v
    course_by = {YAW: 1.0, SPEED: -state[SLIP] * rate, GYRO_BIAS: course_by_bias, SLIP: -v * rate}
    for column, by in course_by.items():
        jacobian[X, column] = -travel * s * by
        jacobian[Y, column] = travel * c * by
    jacobian[X, SPEED] += dt_s * c
    jacobian[Y, SPEED] += dt_s * s
    jacobian[YAW, GYRO_BIAS] = -dt_s
    spread = jacobian @ covariance @ jacobian.T + _process_covariance(v, v * rate, c, s, dt_s, noise)
    spread[YAW, YAW] += (noise.yaw_per_rate_step * (gyro_radps[1] - gyro_radps[0]) * dt_s) ** 2
    return new, (spread + spread.T) / 2.0


def _process_covariance(
    speed_mps: float, lateral_accel_mps2: float, c: float, s: float, dt_s: float, noise: ProcessNoise
) -> Float:
    moving = min(1.0, abs(speed_mps))
    along = noise.creep_m + noise.longitudinal_m * moving
    across = noise.creep_m + noise.lateral_m * moving + noise.lateral_per_accel_m * abs(lateral_accel_mps2)
    q = np.zeros((STATE_SIZE, STATE_SIZE))
    turn = np.array([[c, -s], [s, c]])
    q[:2, :2] = turn @ np.diag([along**2, across**2]) @ turn.T * dt_s
    q[YAW, YAW] = noise.yaw_rad**2 * dt_s
    # Acceleration noise is per tick, not per root second: it stands for the IMU's error, held over one tick.
    q[SPEED, SPEED] = (noise.accel_mps2 * dt_s) ** 2
    q[GYRO_BIAS, GYRO_BIAS] = noise.gyro_bias_radps**2 * dt_s
    q[WHEEL_SCALE, WHEEL_SCALE] = noise.wheel_scale**2 * dt_s
    q[SLIP, SLIP] = noise.slip_s2pm**2 * dt_s
    return q


def mahalanobis_squared(covariance: Float, jacobian: Float, innovation: Float, noise: Float) -> float:
    """Squared Mahalanobis distance of an innovation (M,) with Jacobian (M, 7) and measurement covariance (M, M)."""
    spread = jacobian @ covariance @ jacobian.T + noise
    return float(innovation @ np.linalg.solve(spread, innovation))


def update(state: Float, covariance: Float, jacobian: Float, innovation: Float, noise: Float) -> tuple[Float, Float]:
    """Update with one measurement; `innovation` is measured minus predicted. Joseph form keeps the covariance PSD."""
    spread = jacobian @ covariance @ jacobian.T + noise
    gain = np.linalg.solve(spread, jacobian @ covariance).T
    new = state + gain @ innovation
    new[YAW] = float(wrap_angle(new[YAW]))
    keep = np.eye(STATE_SIZE) - gain @ jacobian
    joseph = keep @ covariance @ keep.T + gain @ noise @ gain.T
    return new, (joseph + joseph.T) / 2.0
