"""Constant turn rate and acceleration as a Kalman filter's motion, for many road users at once.

State (6): x_m, y_m, vx_mps, vy_mps in the map frame, accel_mps2 along the velocity, turn_radps. The velocity is kept
Cartesian, so that the model holds at standstill, where a heading means nothing, and the measured position is linear in
the state (Li and Jilkov, "Survey of maneuvering target tracking, part I", IEEE T-AES 39 (4), 2003, sec. V.B).
"""

from __future__ import annotations

import math

import numpy as np

from av_stack.types import Float

X, Y, VX, VY, ACCEL, TURN = range(6)
STATE_SIZE = 6
SOFT_MPS = 0.5
"""Below this speed an acceleration fades out, as its direction does."""

ACCEL_TIME_S, TURN_TIME_S = 1.5, 2.0
"""Nobody brakes or turns for ever: both decay with these time constants."""

LATERAL_MAX_MPS2, RADIUS_MIN_M = 5.0, 4.0
"""What tyres and steering allow: a turn rate beyond is noise that the filter has taken for a turn."""


_EYE = np.eye(STATE_SIZE)


def predict(states: Float, covariances: Float, dt_s: float, noise: Float) -> tuple[Float, Float]:
    """States (N, 6) and covariances (N, 6, 6) after `dt_s` seconds.

    `noise` (N, 4) holds densities per root second: of the velocity in x and y (m/s), the acceleration (m/s2), the turn
    rate (rad/s).
    """
    velocity, accel = states[:, VX : VY + 1], states[:, ACCEL, None]
    soft = _soft(velocity)
    along = velocity / soft
    angle = states[:, TURN] * dt_s
    turn = _rotations(angle)
    after = _times(turn, velocity + dt_s * accel * along)
    accel_decay, turn_decay = math.exp(-dt_s / ACCEL_TIME_S), math.exp(-dt_s / TURN_TIME_S)

    across = _EYE[:2, :2] - along[:, :, None] * along[:, None, :]
    jacobian = np.empty((len(states), STATE_SIZE, STATE_SIZE))
    jacobian[:] = _EYE
    by_state = jacobian[:, VX : VY + 1, VX:]
    by_state[:, :, :2] = turn @ (_EYE[:2, :2] + (dt_s * accel / soft)[:, :, None] * across)
    by_state[:, :, 2] = dt_s * _times(turn, along)
    by_state[:, :, 3] = dt_s * _left_of(after)
    jacobian[:, :VX, VX:] = dt_s / 2.0 * (by_state + _EYE[:2, :4])
    jacobian[:, ACCEL, ACCEL], jacobian[:, TURN, TURN] = accel_decay, turn_decay

    new = states.copy()
    new[:, :VX] += dt_s / 2.0 * (velocity + after)
    new[:, VX : VY + 1] = after
    new[:, ACCEL] *= accel_decay
    most = np.minimum(LATERAL_MAX_MPS2 / soft[:, 0], soft[:, 0] / RADIUS_MIN_M)
    new[:, TURN] = np.minimum(np.maximum(new[:, TURN] * turn_decay, -most), most)
    spread = jacobian @ covariances @ jacobian.transpose(0, 2, 1)
    diagonal(spread)[:, VX:] += noise**2 * dt_s
    return new, (spread + spread.transpose(0, 2, 1)) / 2.0


def correct(
    states: Float, covariances: Float, positions: Float, noise: Float, gate: float = np.inf
) -> tuple[Float, Float]:
    """States (N, 6) and covariances (N, 6, 6) with measured positions (N, 2) folded in; `noise` (N, 2, 2).

    One whose squared Mahalanobis distance is beyond `gate` counts for as little as it takes to bring it there.
    """
    return _fold(states, covariances, _EYE[:2], positions - states[:, :VX], noise, gate)


def correct_velocity(
    states: Float, covariances: Float, velocities: Float, noise: Float, span_s: Float, gate: float
) -> tuple[Float, Float]:
    """The same with velocities (N, 2) m/s that are means over the last `span_s` (N,) seconds."""
    velocity, back = states[:, VX : VY + 1], span_s[:, None] / 2.0
    seen = np.zeros((len(states), 2, STATE_SIZE))
    seen[:, :, VX : VY + 1] = _EYE[:2, :2]
    seen[:, :, ACCEL], seen[:, :, TURN] = -back * velocity / _soft(velocity), -back * _left_of(velocity)
    return _fold(states, covariances, seen, velocities - _times(seen, states), noise, gate)


def correct_across(
    states: Float, covariances: Float, across: Float, sigma_mps: Float, gate: float
) -> tuple[Float, Float]:
    """The same with velocities that have no part along unit vectors `across` (N, 2), but for `sigma_mps` (N,)."""
    seen = np.zeros((len(states), 1, STATE_SIZE))
    seen[:, 0, VX : VY + 1] = across
    return _fold(states, covariances, seen, -_times(seen, states), sigma_mps[:, None, None] ** 2, gate)


def _fold(states: Float, covariances: Float, seen: Float, off: Float, noise: Float, gate: float) -> tuple[Float, Float]:
    """Kalman's correction, in Joseph's form, for what `seen` (N, K, 6) of the states is `off` (N, K) of what was
    measured."""
    shared = seen @ covariances
    spread = shared @ seen.swapaxes(-1, -2) + noise
    inverse = np.asarray(np.linalg.inv(spread))
    distance = (off * _times(inverse, off)).sum(axis=1)
    surprise = np.maximum(distance / gate, 1.0)[:, None, None]
    noise = noise + (surprise - 1.0) * spread
    gain = (inverse / surprise @ shared).transpose(0, 2, 1)
    keep = _EYE - gain @ seen
    joseph = keep @ covariances @ keep.transpose(0, 2, 1) + gain @ noise @ gain.transpose(0, 2, 1)
    return states + _times(gain, off), (joseph + joseph.transpose(0, 2, 1)) / 2.0


def _soft(velocity: Float) -> Float:
    """Speeds (N, 1) that do not fall below `SOFT_MPS`."""
    return np.asarray(np.sqrt((velocity**2).sum(axis=1, keepdims=True) + SOFT_MPS**2))


def _left_of(vectors: Float) -> Float:
    """Vectors (N, 2) turned by a right angle to the left."""
    return np.asarray(vectors[:, ::-1] * np.array([-1.0, 1.0]))


def diagonal(matrices: Float) -> Float:
    """(N, K) view of the diagonals of (N, K, K)."""
    return np.asarray(np.einsum("nii->ni", matrices))


def _times(matrices: Float, vectors: Float) -> Float:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _rotations(angle_rad: Float) -> Float:
    out = np.empty((len(angle_rad), 2, 2))
    out[:, 0, 0] = out[:, 1, 1] = np.cos(angle_rad)
    out[:, 1, 0] = np.sin(angle_rad)
    out[:, 0, 1] = -out[:, 1, 0]
    return out
