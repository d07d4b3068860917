"""Kalman filter of the tracker: predicts and updates the states of many objects at once.

The motion model is constant turn rate and acceleration (CTRA). State (6): x_m, y_m, vx_mps, vy_mps in the map frame,
accel_mps2 along the velocity, turn_radps. The velocity is Cartesian, so that the model holds at standstill, where a
heading is undefined, and the measured position is linear in the state (Li and Jilkov, "Survey of maneuvering target
tracking, part I", IEEE T-AES 39 (4), 2003, sec. V.B).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from av_core.compiled import compiled, inner
from av_core.types import Float

X, Y, VX, VY, ACCEL, TURN = range(6)
STATE_SIZE = 6
SOFT_MPS = 0.5
"""Speed, m/s, below which the acceleration fades out, because its direction becomes undefined."""

ACCEL_TIME_S, TURN_TIME_S = 1.5, 2.0
"""Decay times of acceleration and turn rate, s: nobody brakes or turns for ever."""

LATERAL_MAX_MPS2, RADIUS_MIN_M = 5.0, 4.0
"""Maximum lateral acceleration by the tyres and minimum turn radius by the steering; a higher turn rate is clipped as
noise."""


FREE_TIME_S = 8.0
"""Time constant with which drivers approach their road's free-flow speed, s."""

FREE_GAIN_MAX_MPS2 = 1.0
"""Maximum acceleration towards a higher free-flow speed, m/s2."""

FREE_LOSS_MAX_MPS2 = 1.5
"""Maximum deceleration towards a lower free-flow speed, m/s2."""

DRIVES_MPS = 2.0
"""Speed, m/s, at which the pull towards the free-flow speed is halved: a slower vehicle may be about to stop, and a
standing one is not expected to start."""

_POSITION = np.eye(STATE_SIZE)[None, :2].copy()
"""Measurement Jacobian of a position."""


@inner
def _sandwich(out: Float, a: Float, b: Float, is_added: bool) -> None:
    """Write the sandwich product `a b a^T`, made symmetric, to `out`, or add it where `is_added`; `out` may be `b`."""
    size, count = a.shape
    half = np.empty((size, count))
    for i in range(size):
        for j in range(count):
            total = 0.0
            for k in range(count):
                total += a[i, k] * b[k, j]
            half[i, j] = total
    for i in range(size):
        for j in range(i + 1):
            total = mirrored = 0.0
            for k in range(count):
                total += half[i, k] * a[j, k]
                mirrored += half[j, k] * a[i, k]
            total = (total + mirrored) / 2.0
            if is_added:
                total += out[i, j]
            out[i, j] = out[j, i] = total


@inner
def _invert(matrix: Float, out: Float, count: int) -> None:
    """Invert a positive definite matrix of `count` rows, 1 or 2, into `out`."""
    if count == 1:
        out[0, 0] = 1.0 / matrix[0, 0]
        return
    area = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    out[0, 0], out[1, 1] = matrix[1, 1] / area, matrix[0, 0] / area
    out[0, 1], out[1, 0] = -matrix[0, 1] / area, -matrix[1, 0] / area


@inner
def _soft_speed(vx_mps: float, vy_mps: float) -> float:
    """Speed, smoothly bounded below by `SOFT_MPS`."""
    return math.sqrt(vx_mps * vx_mps + vy_mps * vy_mps + SOFT_MPS**2)


@compiled("Tuple((float64[:, :, :], float64[:, :]))(float64[:, :], float64[:, :], float64[:])")
def _velocity_innovation(states: Float, velocities: Float, span_s: Float) -> tuple[Float, Float]:
    """Measurement Jacobians (N, 2, 6) of the mean velocity over the last `span_s`, and innovations (N, 2), m/s."""
    jacobians, innovations = np.zeros((len(states), 2, STATE_SIZE)), np.empty((len(states), 2))
    for n in range(len(states)):
        vx, vy, back = states[n, VX], states[n, VY], span_s[n] / 2.0
        soft = _soft_speed(vx, vy)
        jacobians[n, 0, VX] = jacobians[n, 1, VY] = 1.0
        jacobians[n, 0, ACCEL], jacobians[n, 1, ACCEL] = -back * vx / soft, -back * vy / soft
        jacobians[n, 0, TURN], jacobians[n, 1, TURN] = back * vy, -back * vx
        for k in range(2):
            told = states[n, VX + k] + jacobians[n, k, ACCEL] * states[n, ACCEL]
            innovations[n, k] = velocities[n, k] - (told + jacobians[n, k, TURN] * states[n, TURN])
    return jacobians, innovations


@compiled("void(float64[:, :], float64[:, :, :], float64[:, :, :], float64[:, :], float64[:, :, :], float64)")
def _kalman_update(
    states: Float, covariances: Float, jacobians: Float, innovations: Float, noise: Float, gate: float
) -> None:
    """Kalman update of states and covariances in place, in Joseph form.

    `jacobians` (N or 1, K, 6) and `innovations` (N, K) are the measurement's; K is 1 or 2. Where the squared
    Mahalanobis distance exceeds `gate`, the noise is raised until it equals `gate`.
    """
    count = innovations.shape[1]
    shared, gain, raised = np.empty((2, STATE_SIZE)), np.empty((STATE_SIZE, 2)), np.empty((2, 2))
    spread, inverse, keep = np.empty((2, 2)), np.empty((2, 2)), np.empty((STATE_SIZE, STATE_SIZE))
    for n in range(len(states)):
        by = jacobians[n if len(jacobians) > 1 else 0]
        for k in range(count):
            for j in range(STATE_SIZE):
                shared[k, j] = 0.0
                for i in range(STATE_SIZE):
                    shared[k, j] += by[k, i] * covariances[n, i, j]
        for k in range(count):
            for m in range(count):
                spread[k, m] = noise[n, k, m]
                for i in range(STATE_SIZE):
                    spread[k, m] += shared[k, i] * by[m, i]
        _invert(spread, inverse, count)
        distance = 0.0
        for k in range(count):
            for m in range(count):
                distance += innovations[n, k] * inverse[k, m] * innovations[n, m]
        surprise = max(distance / gate, 1.0)
        for k in range(count):
            for m in range(count):
                raised[k, m] = noise[n, k, m] + (surprise - 1.0) * spread[k, m]
        for i in range(STATE_SIZE):
            for k in range(count):
                gain[i, k] = 0.0
                for m in range(count):
                    gain[i, k] += inverse[k, m] / surprise * shared[m, i]
                states[n, i] += gain[i, k] * innovations[n, k]
            for j in range(STATE_SIZE):
                keep[i, j] = 1.0 if i == j else 0.0
                for k in range(count):
                    keep[i, j] -= gain[i, k] * by[k, j]
        _sandwich(covariances[n], keep, covariances[n], False)
        _sandwich(covariances[n], gain[:, :count], raised[:count, :count], True)


@inner
def _free_flow_accel(vx_mps: float, vy_mps: float, free_mps: float) -> tuple[float, float, float]:
    """Acceleration, m/s2, towards the speed `free_mps`, and its derivatives by vx and vy; zeros where that is NaN."""
    if math.isnan(free_mps):
        return 0.0, 0.0, 0.0
    soft, square = _soft_speed(vx_mps, vy_mps), vx_mps * vx_mps + vy_mps * vy_mps
    wanted = (free_mps - soft) / FREE_TIME_S
    bounded = min(max(wanted, -FREE_LOSS_MAX_MPS2), FREE_GAIN_MAX_MPS2)
    drives = square / (square + DRIVES_MPS**2)
    per_v = 2.0 * bounded * DRIVES_MPS**2 / (square + DRIVES_MPS**2) ** 2
    if bounded == wanted:
        per_v -= drives / (soft * FREE_TIME_S)
    return bounded * drives, per_v * vx_mps, per_v * vy_mps


@compiled("void(float64[:, :], float64[:, :, :], float64, float64[:, :], int64[:], float64[:])")
def predict(
    states: Float, covariances: Float, dt_s: float, noise: Float, kinds: NDArray[np.int64], free_mps: Float
) -> None:
    """Predict states (N, 6) and covariances (N, 6, 6) `dt_s` seconds ahead, in place.

    `kinds` (N,) index the rows of `noise` (M, 4), densities per root second: of the velocity in x and y (m/s), the
    acceleration (m/s2), the turn rate (rad/s). `free_mps` (N,) is each object's expected free-flow speed; NaN where
    unknown.
    """
    accel_decay, turn_decay = math.exp(-dt_s / ACCEL_TIME_S), math.exp(-dt_s / TURN_TIME_S)
    jacobian = np.eye(STATE_SIZE)
    for n in range(len(states)):
        vx, vy, own_accel, angle = states[n, VX], states[n, VY], states[n, ACCEL], states[n, TURN] * dt_s
        pull, pull_x, pull_y = _free_flow_accel(vx, vy, free_mps[n])
        accel = own_accel + pull
        soft = _soft_speed(vx, vy)
        ax, ay = vx / soft, vy / soft
        c, s = math.cos(angle), math.sin(angle)
        gone_x, gone_y = vx + dt_s * accel * ax, vy + dt_s * accel * ay
        after_x, after_y = c * gone_x - s * gone_y, s * gone_x + c * gone_y

        share = dt_s * accel / soft
        xx, xy = 1.0 + share * (1.0 - ax * ax) + dt_s * ax * pull_x, -share * ax * ay + dt_s * ax * pull_y
        yx, yy = -share * ax * ay + dt_s * ay * pull_x, 1.0 + share * (1.0 - ay * ay) + dt_s * ay * pull_y
        jacobian[VX, VX], jacobian[VX, VY] = c * xx - s * yx, c * xy - s * yy
        jacobian[VY, VX], jacobian[VY, VY] = s * xx + c * yx, s * xy + c * yy
        jacobian[VX, ACCEL], jacobian[VY, ACCEL] = dt_s * (c * ax - s * ay), dt_s * (s * ax + c * ay)
        jacobian[VX, TURN], jacobian[VY, TURN] = -dt_s * after_y, dt_s * after_x
        for i in range(2):
            for j in range(VX, STATE_SIZE):
                jacobian[i, j] = dt_s / 2.0 * jacobian[VX + i, j]
            jacobian[i, VX + i] += dt_s / 2.0
        jacobian[ACCEL, ACCEL], jacobian[TURN, TURN] = accel_decay, turn_decay

        states[n, X] += dt_s / 2.0 * (vx + after_x)
        states[n, Y] += dt_s / 2.0 * (vy + after_y)
        states[n, VX], states[n, VY], states[n, ACCEL] = after_x, after_y, own_accel * accel_decay
        most = min(LATERAL_MAX_MPS2 / soft, soft / RADIUS_MIN_M)
        states[n, TURN] = min(max(states[n, TURN] * turn_decay, -most), most)
        _sandwich(covariances[n], jacobian, covariances[n], False)
        for i in range(4):
            covariances[n, VX + i, VX + i] += noise[kinds[n], i] ** 2 * dt_s


def update_positions(states: Float, covariances: Float, off_m: Float, noise: Float, gate: float) -> None:
    """Update states (N, 6), covariances (N, 6, 6) in place by position innovations `off_m` (N, 2); `noise` (N, 2, 2).

    An innovation whose squared Mahalanobis distance exceeds `gate` is weighted down until it equals `gate`.
    """
    _kalman_update(states, covariances, _POSITION, off_m, noise, gate)


def correct_velocity(
    states: Float, covariances: Float, velocities: Float, noise: Float, span_s: Float, gate: float
) -> tuple[Float, Float]:
    """New states and covariances from velocities (N, 2) m/s that are means over the last `span_s` (N,) seconds.

    `noise` and `gate` are as in `update_positions`.
    """
    jacobians, innovations = _velocity_innovation(states, velocities, span_s)
    return _updated_copy(states, covariances, jacobians, innovations, noise, gate)


def constrain_velocity(
    states: Float, covariances: Float, across: Float, sigma_mps: Float, gate: float
) -> tuple[Float, Float]:
    """New states and covariances from the constraint of no velocity along unit vectors `across` (N, 2).

    `sigma_mps` (N,) is the constraint's standard deviation; `gate` is as in `update_positions`.
    """
    return correct_radial_speed(states, covariances, across, np.zeros(len(states)), sigma_mps, gate)


def correct_radial_speed(
    states: Float, covariances: Float, sight: Float, radial_mps: Float, sigma_mps: Float, gate: float
) -> tuple[Float, Float]:
    """New states and covariances from speeds (N,) m/s along unit vectors `sight` (N, 2).

    `sigma_mps` (N,) is their standard deviation; `gate` is as in `update_positions`.
    """
    jacobians = np.zeros((len(states), 1, STATE_SIZE))
    jacobians[:, 0, VX : VY + 1] = sight
    innovations = radial_mps - (sight * states[:, VX : VY + 1]).sum(axis=1)
    return _updated_copy(states, covariances, jacobians, innovations[:, None], sigma_mps[:, None, None] ** 2, gate)


def _updated_copy(
    states: Float, covariances: Float, jacobians: Float, innovations: Float, noise: Float, gate: float
) -> tuple[Float, Float]:
    """`_kalman_update` on copies of the states and covariances."""
    states, covariances = states.copy(), covariances.copy()
    _kalman_update(states, covariances, jacobians, innovations, noise, gate)
    return states, covariances
