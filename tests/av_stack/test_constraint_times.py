"""Time and lost distance by kind of constraint, and what the result's table says about a parked car."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import Constraint, ConstraintKind
from av_stack.results.constraint_times import ConstraintTimes

LIMIT = Constraint(ConstraintKind.SPEED_LIMIT, distance_m=0.0)


def parked(track_id: str) -> Constraint:
    return Constraint(ConstraintKind.OBSTACLE, track_id, 3.5)


def test_time_and_lost_distance_by_kind_longest_first() -> None:
    times = ConstraintTimes()
    for _ in range(40):
        times.add(LIMIT, 9.0, 10.0, 0.05)
    for number in range(100):
        times.add(parked(str(number // 50)), 0.0, 10.0, 0.05)
    in_stop = np.arange(140) >= 120
    figures = times.figures(in_stop)
    assert list(figures) == ["standing vehicle ahead", "speed limit"], "the longest first, and none that never bound"
    assert figures["speed limit"] == {
        "time_s": pytest.approx(2.0),
        "standing_s": 0.0,
        "lost_m": pytest.approx(2.0),
        "outside_stops_s": pytest.approx(2.0),
        "outside_stops_lost_m": pytest.approx(2.0),
    }
    assert figures["standing vehicle ahead"]["standing_s"] == pytest.approx(5.0)
    assert figures["standing vehicle ahead"]["lost_m"] == pytest.approx(50.0)
    assert figures["standing vehicle ahead"]["outside_stops_s"] == pytest.approx(4.0)


def test_the_longest_stand_goes_on_when_the_tracker_names_the_vehicle_anew() -> None:
    times = ConstraintTimes()
    assert times.longest_stand() is None
    times.add(Constraint(ConstraintKind.RED_LIGHT, "412", 1.0), 0.0, 10.0, 3.0)
    times.add(parked("57"), 0.0, 10.0, 2.0)
    times.add(parked("81"), 0.0, 10.0, 2.0)
    times.add(LIMIT, 5.0, 10.0, 60.0)
    assert times.longest_stand() == {
        "time_s": 4.0,
        "kind": "standing vehicle ahead",
        "object_id": "81",
        "distance_m": 3.5,
    }


def test_a_plan_without_a_constraint_and_a_tick_that_was_never_planned_are_left_out() -> None:
    times = ConstraintTimes()
    times.add(None, 0.0, 10.0, 1.0)
    times.add(LIMIT, 10.0, 10.0, 1.0)
    assert list(times.figures(np.zeros(3, dtype=bool))) == ["speed limit"]
