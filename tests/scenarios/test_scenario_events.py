"""What the scenario engine tells the judge, and what counts of it."""

from __future__ import annotations

import pytest

from scenarios.judging.scenario_events import ScenarioEvents
from scenarios.judging.score import Infractions
from tests.scenarios.judged_drives import car, tick_of


def test_a_scenario_that_was_not_finished_in_time() -> None:
    events = ScenarioEvents()
    events.begin("Accident_1")
    events.begin("Accident_2")
    events.end("Accident_1", is_timed_out=True)
    events.end("Accident_2")
    assert events.infractions == Infractions(scenario_timeouts=1)
    assert events.descriptions == ["Accident_1: not finished in time"]


@pytest.mark.parametrize(("places_m", "failed"), [((-30.0,), 1), ((-30.0, 10.0), 0), ((10.0, -30.0), 1), ((), 0)])
@pytest.mark.parametrize("is_ended", [True, False])
def test_the_emergency_vehicle_must_end_up_ahead(places_m: tuple[float, ...], failed: int, is_ended: bool) -> None:
    events = ScenarioEvents()
    events.begin("Yield_1", emergency_id=9)
    for x_m in places_m:
        events.update(tick_of(0.0, objects=[car(9, x_m, 3.5, 15.0), car(8, -40.0)]))
    if is_ended:
        events.end("Yield_1")
        events.update(tick_of(0.0, objects=[car(9, -30.0)]))  # after its end it does not count
    assert events.infractions == Infractions(failed_yields=failed)


def test_a_vehicle_that_is_gone_keeps_its_last_place() -> None:
    events = ScenarioEvents()
    events.begin("Yield_1", emergency_id=9)
    events.update(tick_of(0.0, objects=[car(9, 10.0)]))
    events.update(tick_of(0.0, objects=[car(8, -10.0)]))
    assert events.infractions == Infractions()


def test_permissions_last_as_long_as_a_scenario_that_gives_them() -> None:
    events = ScenarioEvents()
    events.begin("a", waits=True)
    events.begin("b", waits=True, allows_oncoming_lane=True)
    events.end("a")
    assert (events.may_stand, events.is_oncoming_lane_allowed) == (True, True)
    events.end("b")
    assert (events.may_stand, events.is_oncoming_lane_allowed) == (False, False)


def test_a_scenario_begins_and_ends_once() -> None:
    events = ScenarioEvents()
    events.begin("a")
    with pytest.raises(ValueError, match="runs already"):
        events.begin("a")
    events.end("a")
    with pytest.raises(ValueError, match="does not run"):
        events.end("a")
