"""A lens that is mostly covered is noticed while the car drives, and remembered while it stands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from perception.health.covered import DRIVING_MPS, WINDOW_S, CoverDetector

DT_S = 0.05
Float32 = NDArray[np.float32]


def view(number: int, covered_share: float, rng: np.random.Generator, is_moving: bool = True) -> Float32:
    """A road whose texture moves below a sky of one grey, with a little noise; its left part is covered."""
    phase = number if is_moving else 0
    x, y = np.meshgrid(np.arange(160), np.arange(90))
    road = 100.0 + 20.0 * np.sin(0.13 * x + 0.7 * phase) * np.cos(0.21 * y + 0.5 * phase)
    picture = np.where(y < 30, 180.0, road)
    picture = np.where(x < covered_share * 160, 35.0, picture)
    return np.asarray(picture + rng.normal(0.0, 0.4, picture.shape), np.float32)


def told(covered_share: float, speed_mps: float, count: int = 60) -> list[bool]:
    detector, rng = CoverDetector(), np.random.default_rng(0)
    return [
        detector.update(view(number, covered_share, rng, speed_mps > 0.0), number * DT_S, speed_mps)
        for number in range(count)
    ]


@pytest.mark.parametrize("share", [0.8, 0.95])
def test_a_covered_lens_is_noticed_within_a_second(share: float) -> None:
    assert told(share, 8.0).index(True) * DT_S == pytest.approx(WINDOW_S)


@pytest.mark.parametrize(("share", "speed_mps"), [(0.0, 8.0), (0.1, 8.0), (0.8, 0.0), (0.8, 0.9 * DRIVING_MPS)])
def test_a_clean_lens_is_none_and_a_slow_car_cannot_tell(share: float, speed_mps: float) -> None:
    assert not any(told(share, speed_mps))


def test_a_car_that_stopped_for_it_waits_until_the_lens_is_clean() -> None:
    detector, rng = CoverDetector(), np.random.default_rng(0)
    for number in range(30):
        detector.update(view(number, 0.8, rng), number * DT_S, 8.0)
    assert all(detector.update(view(30, 0.8, rng, False), number * DT_S, 0.0) for number in range(30, 90))
    clean = [detector.update(view(30, 0.0, rng, False), number * DT_S, 0.0) for number in range(90, 95)]
    assert not clean[-1]
