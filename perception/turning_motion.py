"""Constant turn rate and acceleration as a Kalman filter's motion, for many road users at once.

State (6): x_m, y_m, vx_mps, vy_mps in the map frame, accel_mps2 along the velocity, turn_radps. The velocity is kept
Cartesian, so that the model holds at standstill, where a heading means nothing, and the measured position is linear in
the state (Li and Jilkov, "Survey of maneuvering target tracking, part I", IEEE T-AES 39 (4), 2003, sec. V.B).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

X, Y, VX, VY, ACCEL, TURN = range(6)
STATE_SIZE = 6
SOFT_MPS = 0.5
"""Below this speed an acceleration fades out, as its direction does."""

ACCEL_TIME_S, TURN_TIME_S = 1.5, 2.0
"""Nobody brakes or turns for ever: both decay with these time constants."""

LATERAL_MAX_MPS2, RADIUS_MIN_M = 5.0, 4.0
"""What tyres and steering allow: a turn rate beyond is noise that the filter has taken for a turn."""


def predict(states: Float, covariances: Float, dt_s: float, noise: Float) -> tuple[Float, Float]:
    """States (N, 6) and covariances (N, 6, 6) after `dt_s` seconds.

    `noise` (N, 3) holds densities per root second: of the velocity (m/s), the acceleration (m/s2), the turn rate
    (rad/s).
    """
    velocity = states[:, 2:4]
    soft = np.sqrt((velocity**2).sum(axis=1) + SOFT_MPS**2)[:, None]
    along = velocity / soft
    pushed = velocity + dt_s * states[:, ACCEL, None] * along
    angle = states[:, TURN] * dt_s
    turn = _rotations(angle)
    after = np.einsum("nij,nj->ni", turn, pushed)

    by_velocity = np.eye(2) + (dt_s * states[:, ACCEL] / soft[:, 0])[:, None, None] * (
        np.eye(2) - along[:, :, None] * along[:, None, :]
    )
    jacobian = np.tile(np.eye(STATE_SIZE), (len(states), 1, 1))
    jacobian[:, 2:4, 2:4] = turn @ by_velocity
    jacobian[:, 2:4, ACCEL] = dt_s * np.einsum("nij,nj->ni", turn, along)
    jacobian[:, 2:4, TURN] = dt_s * np.einsum("nij,nj->ni", _rotations(angle + np.pi / 2.0), pushed)
    jacobian[:, 0:2, 2:] = dt_s / 2.0 * jacobian[:, 2:4, 2:]
    jacobian[:, 0:2, 2:4] += dt_s / 2.0 * np.eye(2)
    jacobian[:, ACCEL, ACCEL] = np.exp(-dt_s / ACCEL_TIME_S)
    jacobian[:, TURN, TURN] = np.exp(-dt_s / TURN_TIME_S)

    new = states.copy()
    new[:, 0:2] += dt_s / 2.0 * (velocity + after)
    new[:, 2:4] = after
    new[:, ACCEL] *= np.exp(-dt_s / ACCEL_TIME_S)
    most = np.minimum(LATERAL_MAX_MPS2 / soft[:, 0], soft[:, 0] / RADIUS_MIN_M)
    new[:, TURN] = np.clip(new[:, TURN] * np.exp(-dt_s / TURN_TIME_S), -most, most)
    spread = jacobian @ covariances @ jacobian.transpose(0, 2, 1)
    variance = noise**2 * dt_s
    for column, which in ((VX, 0), (VY, 0), (ACCEL, 1), (TURN, 2)):
        spread[:, column, column] += variance[:, which]
    return new, (spread + spread.transpose(0, 2, 1)) / 2.0


def correct(
    state: Float, covariance: Float, position: Float, noise: Float, gate: float = np.inf
) -> tuple[Float, Float]:
    """One state (6,) and covariance (6, 6) with a measured position (2,) of covariance `noise` (2, 2) folded in.

    One whose squared Mahalanobis distance is beyond `gate` counts for as little as it takes to bring it there.
    """
    return _fold(state, covariance, np.eye(2, STATE_SIZE), position - state[:2], noise, gate)


def correct_velocity(
    state: Float, covariance: Float, velocity: Float, noise: Float, span_s: float, gate: float
) -> tuple[Float, Float]:
    """The same with a velocity (2,) m/s that is the mean over the last `span_s` seconds."""
    soft = float(np.hypot(np.hypot(state[VX], state[VY]), SOFT_MPS))
    along, back = state[VX : VY + 1] / soft, span_s / 2.0
    left = np.array([-state[VY], state[VX]])
    seen = np.zeros((2, STATE_SIZE))
    seen[:, VX : VY + 1] = np.eye(2)
    seen[:, ACCEL], seen[:, TURN] = -back * along, -back * left
    off = velocity - (state[VX : VY + 1] - back * (state[ACCEL] * along + state[TURN] * left))
    return _fold(state, covariance, seen, off, noise, gate)


def _fold(state: Float, covariance: Float, seen: Float, off: Float, noise: Float, gate: float) -> tuple[Float, Float]:
    """Kalman's correction, in Joseph's form, for what `seen` (2, 6) of the state is `off` (2,) of what was measured."""
    spread = seen @ covariance @ seen.T + noise
    distance = float(off @ np.linalg.solve(spread, off))
    if distance > gate:
        noise = noise + (distance / gate - 1.0) * spread
        spread = seen @ covariance @ seen.T + noise
    gain = np.linalg.solve(spread, seen @ covariance).T
    keep = np.eye(STATE_SIZE) - gain @ seen
    joseph = keep @ covariance @ keep.T + gain @ noise @ gain.T
    return state + gain @ off, (joseph + joseph.T) / 2.0


def _rotations(angle_rad: Float) -> Float:
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)
