"""How far a drive came, and what ends it."""

from __future__ import annotations

import pytest

from scenarios.judging.route_criteria import Deviation, RouteCompletion, Stuck, TimeOut
from scenarios.judging.route_points import RoutePoints
from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.tick import Tick
from tests.scenarios.judged_drives import STEP_S, STRAIGHT, route_on, show, tick_of, ticks_along_x

LONG = RoutePoints(route_on(STRAIGHT, 1.0, 399.0))
"""398 m."""

SHORT = RoutePoints(route_on(STRAIGHT, 1.0, 51.0))


def completed(*parts: list[Tick], points: RoutePoints = LONG) -> float:
    completion = RouteCompletion(points)
    for part in parts:
        show(completion, part)
    return completion.share


def test_half_a_route() -> None:
    assert completed(ticks_along_x(1, 200)) == pytest.approx(0.5, abs=0.003)


def test_a_route_is_complete_beyond_99_percent_and_within_ten_metres() -> None:
    assert completed(ticks_along_x(1, 394.5)) < 1.0
    assert completed(ticks_along_x(1, 396.5)) == 1.0
    assert completed(ticks_along_x(1, 396.5, y_m=-10.5)) < 1.0
    assert completed(ticks_along_x(1, 50.4), points=SHORT) < 1.0
    assert completed(ticks_along_x(1, 51.5), points=SHORT) == 1.0


def test_a_complete_route_stays_complete() -> None:
    assert completed(ticks_along_x(1, 397), ticks_along_x(397, 300)) == 1.0


def test_what_is_skipped_is_not_driven() -> None:
    """The point that was passed is searched two points ahead."""
    assert completed(ticks_along_x(1, 100), [tick_of(300.0)]) == pytest.approx(101.0 / 398.0, abs=0.003)


def end_of(*parts: list[Tick]) -> str | None:
    deviation = Deviation(LONG)
    for part in parts:
        show(deviation, part)
    return deviation.end


def test_thirty_metres_beside_the_route_end_the_drive() -> None:
    assert end_of(ticks_along_x(1, 100), [tick_of(100.0, 29.5)]) is None
    assert end_of(ticks_along_x(1, 100), [tick_of(100.0, -31.2)]) == "left the route by 31 m"


def test_fifteen_metres_beside_it_are_allowed_for_30_percent() -> None:
    beside = 0.3 * LONG.length_m
    assert end_of(ticks_along_x(1, 399, y_m=14.5)) is None
    assert end_of(ticks_along_x(1, 50), ticks_along_x(50, 48 + beside, y_m=16), ticks_along_x(48 + beside, 399)) is None
    assert str(end_of(ticks_along_x(1, 50), ticks_along_x(50, 53 + beside, y_m=16))).startswith("drove beside")


def stood(seconds: float, stuck: Stuck, speed_mps: float = 0.09) -> str | None:
    show(stuck, [tick_of(speed_mps=speed_mps)] * round(seconds / STEP_S))
    return stuck.end


def test_a_stand_of_three_minutes_ends_the_drive() -> None:
    stuck = Stuck(180.0, ScenarioEvents())
    assert stood(179.9, stuck) is None
    assert stood(0.3, stuck) == "stood still for 180 s"


def test_moving_starts_the_stand_anew() -> None:
    stuck = Stuck(180.0, ScenarioEvents())
    assert stood(179.0, stuck) is None
    assert stood(STEP_S, stuck, speed_mps=0.11) is None
    assert stood(179.0, stuck) is None


def test_a_scenario_that_waits_suspends_the_stand_and_both_its_edges_start_it_anew() -> None:
    scenarios = ScenarioEvents()
    stuck = Stuck(180.0, scenarios)
    assert stood(179.0, stuck) is None
    scenarios.begin("Accident_1", waits=True)
    assert stood(300.0, stuck) is None
    scenarios.end("Accident_1")
    assert stood(179.0, stuck) is None
    assert stood(2.0, stuck) is not None


def time_out(ticks: list[Tick], wait_s: float, timeout_s: float = 1e6) -> str | None:
    criterion = TimeOut(LONG, timeout_s)
    show(criterion, [*ticks, tick_of(ticks[-1].centre.x_m, speed_mps=0.0, time_s=wait_s)])
    return criterion.end


def test_each_metre_gives_time_at_a_tenth_of_the_limit() -> None:
    """The limit is 10 m/s: a second for each metre, besides 300 s."""
    assert time_out([tick_of(1.0)], 299.0) is None
    assert time_out([tick_of(1.0)], 301.0) == "time-out after 301 s"
    assert time_out(ticks_along_x(1, 101), 398.0) is None
    assert time_out(ticks_along_x(1, 101), 402.0) is not None


def test_a_scenario_may_allow_less() -> None:
    assert time_out([tick_of(1.0)], 29.0, timeout_s=30.0) is None
    assert time_out([tick_of(1.0)], 31.0, timeout_s=30.0) is not None
