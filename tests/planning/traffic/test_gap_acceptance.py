"""Which gaps on the lane that it joins the ego accepts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planning.traffic.gap_acceptance import HYSTERESIS, Follower, is_gap_enough

TIMES_S = np.arange(0.0, 20.01, 0.1)
SPEED_MPS = st.floats(0.5, 20.0)
IMPATIENCE = st.floats(0.0, 1.0)


def smallest_m(
    ego_mps: float,
    other_mps: float,
    is_waiting: bool = False,
    impatience: float = 0.0,
    is_going: bool = False,
    accel_mps2: float = 3.5,
) -> float:
    """The smallest gap behind an ego that accelerates up to the other one's speed, by bisection."""
    gains_s = np.minimum(TIMES_S, max(other_mps - ego_mps, 0.0) / accel_mps2)
    rear_m = ego_mps * TIMES_S + accel_mps2 * gains_s * (TIMES_S - 0.5 * gains_s)
    low, high = 0.0, 500.0
    for _ in range(25):
        middle = (low + high) / 2.0
        follower = Follower(other_mps, 0.0, -middle, 0.0)
        enough = is_gap_enough(TIMES_S, rear_m, follower, is_waiting, is_going, impatience)
        low, high = (low, middle) if enough else (middle, high)
    return high


def test_the_ego_gets_as_fast_as_the_other_one() -> None:
    """From 4 m/s to 11 m/s, while the other one slows from 12 to 11 m/s: 2 s, and 8 m; then 0.8 s are left."""
    assert smallest_m(4.0, 12.0) == pytest.approx(8.0 + 2.0 + 0.8 * 11.0, abs=0.5)


def test_one_that_is_slower_needs_only_its_own_gap() -> None:
    assert smallest_m(5.0, 3.0) == pytest.approx(2.0 + 4.0, abs=0.1)


def test_who_waits_needs_more_until_it_loses_its_patience() -> None:
    assert smallest_m(4.0, 12.0, True) > 1.15 * smallest_m(4.0, 12.0)
    assert smallest_m(4.0, 4.0, True) == pytest.approx(HYSTERESIS * smallest_m(4.0, 4.0), abs=0.1)
    assert smallest_m(4.0, 12.0, True, 1.0) == pytest.approx(8.0 + 2.0 + 0.4 * 11.0, abs=0.5)


def test_who_goes_already_needs_less() -> None:
    assert smallest_m(4.0, 12.0, impatience=1.0, is_going=True) == pytest.approx(8.0 + 2.0, abs=0.5)
    assert smallest_m(4.0, 12.0, is_going=True) == smallest_m(4.0, 12.0), "a patient ego is not in a hurry"


def test_the_driver_behind_keeps_its_speed_until_it_enters() -> None:
    late = Follower(10.0, 3.0, 5.0, 0.0)
    assert late.fronts_m(np.array([0.0, 3.0, 4.0])) == pytest.approx([-25.0, 5.0, 14.75])


def test_one_that_creeps_beside_the_ego_s_way_is_behind_when_it_enters() -> None:
    """It is beside the ego's rear when the ego joins, but enters only after 8 s."""
    creeps = Follower(0.5, 8.0, 5.0, 1.0)
    assert is_gap_enough(TIMES_S, 3.0 * TIMES_S, creeps, True, False, 0.0)
    assert not is_gap_enough(TIMES_S, 3.0 * TIMES_S, Follower(0.5, 1.5, 5.0, 1.0), True, False, 0.0)


def test_one_that_comes_after_all_is_ignored() -> None:
    assert is_gap_enough(TIMES_S, TIMES_S, Follower(20.0, 25.0, 0.0, 1.0), True, False, 0.0)


def test_an_ego_that_never_joins_has_no_gap() -> None:
    assert not is_gap_enough(TIMES_S, TIMES_S + 500.0, Follower(5.0, 0.0, 0.0, 30.0), False, False, 1.0)


@settings(deadline=None, max_examples=50)
@given(SPEED_MPS, SPEED_MPS, st.booleans(), IMPATIENCE, IMPATIENCE)
def test_the_impatient_never_asks_for_more(
    ego_mps: float, other_mps: float, is_waiting: bool, impatience: float, other: float
) -> None:
    more, less = max(impatience, other), min(impatience, other)
    assert smallest_m(ego_mps, other_mps, is_waiting, more) <= smallest_m(ego_mps, other_mps, is_waiting, less) + 0.1


@settings(deadline=None, max_examples=50)
@given(SPEED_MPS, SPEED_MPS, st.floats(0.0, 10.0), st.booleans(), IMPATIENCE)
def test_faster_ones_need_more_room_and_no_overlap_is_a_gap(
    ego_mps: float, other_mps: float, faster_mps: float, is_waiting: bool, impatience: float
) -> None:
    slower_m = smallest_m(ego_mps, other_mps, is_waiting, impatience, accel_mps2=1.0)
    assert smallest_m(ego_mps, other_mps + faster_mps, is_waiting, impatience, accel_mps2=1.0) >= slower_m - 0.2
    assert slower_m > 0.0
