"""Which gaps on the lane that it joins the ego accepts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planning.traffic.gap_acceptance import HYSTERESIS, is_gap_enough

SPEED_MPS = st.floats(0.0, 40.0)
IMPATIENCE = st.floats(0.0, 1.0)


def smallest_m(ego_mps: float, other_mps: float, is_waiting: bool = False, impatience: float = 0.0) -> float:
    """The smallest gap that is accepted, by bisection."""
    low, high = 0.0, 1000.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (
            (low, middle) if is_gap_enough(middle, ego_mps, other_mps, is_waiting, impatience) else (middle, high)
        )
    return high


def test_the_other_one_can_slow_down_at_two_and_a_half() -> None:
    """From 12 to 4 m/s at 2.5 m/s2: the two come 12.8 m nearer; then 2 m and 0.8 s at 4 m/s are left."""
    assert smallest_m(4.0, 12.0) == pytest.approx(12.8 + 2.0 + 3.2)


def test_one_that_is_slower_needs_only_its_own_gap() -> None:
    assert smallest_m(5.0, 3.0) == pytest.approx(2.0 + 4.0)


def test_who_waits_needs_more_until_it_loses_its_patience() -> None:
    assert smallest_m(4.0, 12.0, True) == pytest.approx(HYSTERESIS * smallest_m(4.0, 12.0))
    assert smallest_m(4.0, 12.0, True, 0.0) == pytest.approx(HYSTERESIS * smallest_m(4.0, 12.0))
    assert smallest_m(4.0, 12.0, True, 1.0) == pytest.approx(6.4 + 2.0 + 1.6)


@given(SPEED_MPS, SPEED_MPS, st.booleans(), IMPATIENCE, IMPATIENCE)
def test_the_impatient_never_asks_for_more(
    ego_mps: float, other_mps: float, is_waiting: bool, impatience: float, other: float
) -> None:
    assert (
        smallest_m(ego_mps, other_mps, is_waiting, max(impatience, other))
        <= smallest_m(ego_mps, other_mps, is_waiting, impatience) + 1e-9
    )


@given(SPEED_MPS, SPEED_MPS, st.floats(0.0, 10.0), st.booleans(), IMPATIENCE)
def test_faster_ones_need_more_room_and_no_overlap_is_a_gap(
    ego_mps: float, other_mps: float, faster_mps: float, is_waiting: bool, impatience: float
) -> None:
    faster = smallest_m(ego_mps, other_mps + faster_mps, is_waiting, impatience)
    assert faster >= smallest_m(ego_mps, other_mps, is_waiting, impatience) - 1e-9
    assert not is_gap_enough(0.0, ego_mps, other_mps, is_waiting, impatience)
