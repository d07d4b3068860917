"""Quarters of a route that are slower than the traffic."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.judging.minimum_speed import MinimumSpeed
from scenarios.judging.route_points import RoutePoints
from scenarios.judging.tick import Tick
from tests.scenarios.judged_drives import STRAIGHT, car, route_on, show, ticks_along_x

POINTS = RoutePoints(route_on(STRAIGHT, 1.0, 399.0))


def among(ticks: list[Tick], *speeds_mps: float, background: tuple[int, ...] = (0, 1)) -> list[Tick]:
    """The ticks with cars of these speeds; those with the numbers `background` are background traffic."""
    cars = tuple(car(number, 0.0, 50.0, speed) for number, speed in enumerate(speeds_mps))
    ids = frozenset(background)
    return [replace(tick, truth=replace(tick.truth, objects=cars, background_ids=ids)) for tick in ticks]


def judged(*parts: list[Tick]) -> MinimumSpeed:
    criterion = MinimumSpeed(POINTS)
    for part in parts:
        show(criterion, part)
    return criterion


@settings(deadline=None, max_examples=10)
@given(ego_mps=st.floats(5.0, 20.0), traffic_mps=st.floats(5.0, 20.0))
def test_each_quarter_compares_the_means(ego_mps: float, traffic_mps: float) -> None:
    criterion = judged(among(ticks_along_x(1, 399, ego_mps), 0.0, 2.0 * traffic_mps))
    assert criterion.percent == pytest.approx([100.0 * ego_mps / traffic_mps] * 4, abs=0.02)
    assert len(criterion.infractions.minimum_speed_percent) == (4 if criterion.percent[0] < 100.0 else 0)


def test_only_slow_quarters_count() -> None:
    criterion = judged(among(ticks_along_x(1, 205), 20.0), among(ticks_along_x(205, 399), 10.0))
    slow = criterion.infractions.minimum_speed_percent
    assert slow[:2] == (50.0, 50.0)
    assert len(slow) == 3
    assert slow[2] > 90.0  # the first ticks of the third quarter


def test_no_traffic_and_standing_traffic_ask_for_nothing() -> None:
    assert judged(among(ticks_along_x(1, 399))).percent == (100.0,) * 4
    assert judged(among(ticks_along_x(1, 399), 0.0)).percent == (100.0,) * 4


def test_vehicles_of_scenarios_are_no_traffic() -> None:
    assert judged(among(ticks_along_x(1, 399), 20.0, background=())).infractions.minimum_speed_percent == ()


def test_ticks_without_traffic_do_not_count() -> None:
    criterion = judged(among(ticks_along_x(1, 50, 2.0)), among(ticks_along_x(50, 110, 20.0), 20.0))
    assert criterion.percent == (100.0,)


@pytest.mark.parametrize(("end_m", "quarters"), [(95.0, 0), (105.0, 1), (370.0, 3), (385.0, 4)])
def test_the_last_quarter_counts_beyond_95_percent(end_m: float, quarters: int) -> None:
    assert len(judged(among(ticks_along_x(1, end_m), 20.0)).percent) == quarters
