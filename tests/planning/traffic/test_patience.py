"""How the ego loses its patience, and finds it again."""

from __future__ import annotations

import pytest

from planning.traffic.patience import IMPATIENT_S, PATIENT_S, Patience

STEP_S = 0.05


def after(patience: Patience, begin_s: float, seconds: float, speed_mps: float, gives_way: bool) -> float:
    """The impatience after so long in one state."""
    impatience = 0.0
    for step in range(1, round(seconds / STEP_S) + 1):
        impatience = patience.update(begin_s + step * STEP_S, speed_mps, gives_way)
    return impatience


def test_patience_ends_with_the_time_of_the_wait() -> None:
    assert after(Patience(), 0.0, PATIENT_S, 0.0, gives_way=True) == 0.0
    assert after(Patience(), 0.0, 0.5 * (PATIENT_S + IMPATIENT_S) + STEP_S, 0.0, gives_way=True) == pytest.approx(0.5)
    assert after(Patience(), 0.0, 2.0 * IMPATIENT_S, 0.0, gives_way=True) == 1.0


@pytest.mark.parametrize(("speed_mps", "gives_way"), [(0.0, False), (5.0, True)])
def test_only_who_stands_and_gives_way_waits(speed_mps: float, gives_way: bool) -> None:
    assert after(Patience(), 0.0, 2.0 * IMPATIENT_S, speed_mps, gives_way) == 0.0


def test_a_wait_lasts_until_the_ego_is_through_the_gap() -> None:
    patience = Patience()
    assert after(patience, 0.0, 30.0, 0.0, gives_way=True) == 1.0
    assert after(patience, 30.0, 3.0, 4.0, gives_way=False) == 1.0
    assert after(patience, 33.0, 1.0, 0.0, gives_way=True) == 1.0
    assert after(patience, 34.0, 8.0, 8.0, gives_way=False) == 0.0
