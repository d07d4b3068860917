"""What the pace leaves out, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from scenarios.judging.pace import Pace, stops

STEP_S = 0.05
BRAKING = np.linspace(10.0, 0.0, 101)
STAND = np.zeros(100)


def ratio(speed_mps: NDArray[np.float64], held: NDArray[np.bool_], limit_mps: float = 10.0) -> float:
    pace = Pace()
    for speed, is_held in zip(speed_mps, held, strict=True):
        pace.update(float(speed), float(speed) * STEP_S, limit_mps, STEP_S, bool(is_held))
    return pace.ratio


def test_a_steady_drive_is_its_speed_over_the_limit() -> None:
    assert ratio(np.full(100, 7.0), np.zeros(100, dtype=bool)) == pytest.approx(0.7)


def test_a_stop_at_red_is_left_out_from_braking_to_pulling_away_also_when_it_turns_green_before_the_ego_moves() -> None:
    speed = np.concatenate([np.full(50, 10.0), BRAKING, STAND, BRAKING[::-1], np.full(50, 10.0)])
    held = np.zeros(len(speed), dtype=bool)
    held[100:200] = True
    assert ratio(speed, held) == pytest.approx(1.0, abs=0.01)


def test_a_stand_that_nothing_asks_for_counts() -> None:
    speed = np.concatenate([np.full(50, 10.0), BRAKING, STAND, BRAKING[::-1], np.full(50, 10.0)])
    assert ratio(speed, np.zeros(len(speed), dtype=bool)) < 0.6


def test_slowing_for_a_light_that_turns_green_in_time_counts() -> None:
    speed = np.concatenate([np.full(50, 10.0), np.linspace(10.0, 2.0, 80), np.linspace(2.0, 10.0, 80)])
    assert not stops(speed, np.ones(len(speed), dtype=bool)).any()
    assert ratio(speed, np.ones(len(speed), dtype=bool)) < 0.8


def test_creeping_before_a_stop_counts() -> None:
    speed = np.concatenate([np.full(100, 2.0), np.linspace(2.0, 0.0, 20), STAND])
    held = np.ones(len(speed), dtype=bool)
    assert not stops(speed, held)[:99].any()
    assert ratio(speed, held) == pytest.approx(0.2)
