"""The motion model against its own derivative, the correction against the information form of Kalman's filter."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import Float
from perception.tracking.turning_motion import (
    STATE_SIZE,
    constrain_velocity,
    correct_velocity,
    predict,
    update_positions,
)

COUNT = 7


def drawn(seed: int) -> tuple[Float, Float, np.random.Generator]:
    rng = np.random.default_rng(seed)
    states = rng.normal(0.0, 1.0, (COUNT, STATE_SIZE)) * [50.0, 50.0, 8.0, 8.0, 1.0, 0.1]
    root = rng.normal(0.0, 1.0, (COUNT, STATE_SIZE, STATE_SIZE))
    return states, root @ root.transpose(0, 2, 1) + np.eye(STATE_SIZE), rng


def predicted(states: Float, covariances: Float, dt_s: float, noise: Float, free_mps: Float) -> tuple[Float, Float]:
    """`predict` of copies, each with its own row of `noise`."""
    states, covariances = states.copy(), covariances.copy()
    predict(states, covariances, dt_s, noise, np.arange(len(states)), free_mps)
    return states, covariances


def correct(
    states: Float, covariances: Float, positions: Float, noise: Float, gate: float = np.inf
) -> tuple[Float, Float]:
    """`update_positions` of copies."""
    off_m, states, covariances = positions - states[:, :2], states.copy(), covariances.copy()
    update_positions(states, covariances, off_m, noise, gate)
    return states, covariances


@pytest.mark.parametrize("seed", range(3))
def test_a_prediction_spreads_the_covariance_by_its_own_derivative(seed: int) -> None:
    states, covariances, _ = drawn(seed)
    noise, dt_s, step = np.full((COUNT, 4), 0.3), 0.1, 1e-5
    free = np.array([np.nan, 2.0, 5.0, 8.0, 11.0, 15.0, 30.0])
    columns = []
    for i in range(STATE_SIZE):
        moved = [states + sign * step * np.eye(STATE_SIZE)[i] for sign in (1, -1)]
        ahead, behind = (predicted(one, covariances, dt_s, noise, free)[0] for one in moved)
        columns.append((ahead - behind) / (2.0 * step))
    jacobian = np.stack(columns, axis=2)
    expected = jacobian @ covariances @ jacobian.transpose(0, 2, 1)
    expected += np.diag([0.0, 0.0, *[0.3**2 * dt_s] * 4])
    np.testing.assert_allclose(predicted(states, covariances, dt_s, noise, free)[1], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_correction_adds_information(seed: int) -> None:
    states, covariances, rng = drawn(seed)
    noise = np.tile(np.array([[0.5, 0.2], [0.2, 0.4]]), (COUNT, 1, 1))
    measured, across = rng.normal(0.0, 3.0, (COUNT, 2)), np.tile([0.6, 0.8], (COUNT, 1))
    ahead = np.zeros((1, STATE_SIZE))
    ahead[0, 2:4] = 0.6, 0.8
    for found, seen, spread, value in (
        (correct(states, covariances, measured, noise), np.eye(STATE_SIZE)[:2], noise, measured),
        (correct_velocity(states, covariances, measured, noise, np.zeros(COUNT), np.inf), np.eye(STATE_SIZE)[2:4],
         noise, measured),
        (constrain_velocity(states, covariances, across, np.full(COUNT, 0.3), np.inf), ahead,
         np.full((COUNT, 1, 1), 0.09), np.zeros((COUNT, 1))),
    ):  # fmt: skip
        before, told = np.linalg.inv(covariances), np.linalg.inv(spread)
        after = np.linalg.inv(before + seen.T @ told @ seen)
        gained = before @ states[:, :, None] + seen.T @ told @ value[:, :, None]
        np.testing.assert_allclose(found[1], after, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(found[0], (after @ gained)[:, :, 0], rtol=1e-8, atol=1e-8)


def test_what_surprises_counts_for_as_little_as_brings_it_to_the_gate() -> None:
    states, covariances, _ = drawn(0)
    noise, far = np.tile(0.1 * np.eye(2), (COUNT, 1, 1)), states[:, :2] + 100.0
    believed, doubted = (correct(states, covariances, far, noise, gate)[0] for gate in (np.inf, 6.0))
    spread = covariances[:, :2, :2] + noise
    off = far - states[:, :2]
    surprise = np.einsum("ni,nij,nj->n", off, np.linalg.inv(spread), off) / 6.0
    assert (surprise > 10.0).all()
    np.testing.assert_allclose((doubted - states) * surprise[:, None], believed - states, rtol=1e-9, atol=1e-9)


def test_nobody_is_moved_or_corrected_without_error() -> None:
    none = np.zeros((0, STATE_SIZE)), np.zeros((0, STATE_SIZE, STATE_SIZE))
    assert predicted(*none, 0.1, np.zeros((0, 4)), np.zeros(0))[0].shape == (0, STATE_SIZE)
    assert correct(*none, np.zeros((0, 2)), np.zeros((0, 2, 2)))[1].shape == (0, STATE_SIZE, STATE_SIZE)


def after(speed_mps: float, free_mps: float, seconds: float) -> float:
    states = np.array([[0.0, 0.0, 0.6 * speed_mps, -0.8 * speed_mps, 0.0, 0.0]])
    covariances, noise = np.eye(STATE_SIZE)[None], np.zeros((1, 4))
    for _ in range(round(seconds / 0.05)):
        states, covariances = predicted(states, covariances, 0.05, noise, np.array([free_mps]))
    assert states[0, 3] == pytest.approx(-states[0, 2] * 0.8 / 0.6)
    return float(np.hypot(*states[0, 2:4]))


def test_who_drives_comes_to_the_speed_of_its_road_and_who_stands_stays() -> None:
    assert 7.5 < after(4.0, 8.0, 40.0) < 8.0 < after(12.0, 8.0, 40.0) < 8.2
    assert after(20.0, 8.0, 1.0) > 18.4  # no harder than drivers brake
    assert after(0.0, 8.0, 3.0) == 0.0
    assert after(0.3, 8.0, 1.0) < 0.4
    assert after(4.0, np.nan, 15.0) == pytest.approx(4.0)
