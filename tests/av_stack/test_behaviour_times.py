"""Time in each behaviour over a drive, and how often it began."""

from __future__ import annotations

import pytest

from av_core.types import Behaviour, Cause, CauseKind, Decision
from av_stack.results.behaviour_times import BehaviourTimes

FOLLOW = Decision(Behaviour.FOLLOW_LANE, (Cause(CauseKind.LANE_IS_FREE),))
STOP = Decision(Behaviour.STOP, (Cause(CauseKind.STOPS_FOR, "7", "red light"),))


def test_time_standing_time_and_number_of_each_behaviour_longest_first() -> None:
    times = BehaviourTimes()
    for decision, speed_mps, ticks in ((FOLLOW, 8.0, 40), (STOP, 3.0, 20), (STOP, 0.0, 100), (FOLLOW, 8.0, 20)):
        for _ in range(ticks):
            times.add(decision, speed_mps, 0.05)
    assert times.figures() == {
        "stop": {"time_s": pytest.approx(6.0), "standing_s": pytest.approx(5.0), "times": 1},
        "follow lane": {"time_s": pytest.approx(3.0), "standing_s": 0.0, "times": 2},
    }
    assert list(times.figures()) == ["stop", "follow lane"]


def test_a_plan_without_a_decision_counts_for_nothing() -> None:
    times = BehaviourTimes()
    times.add(None, 0.0, 0.05)
    assert times.figures() == {}
    times.add(STOP, 0.0, 0.05)
    times.add(None, 0.0, 0.05)
    times.add(STOP, 0.0, 0.05)
    assert times.figures()["stop"]["times"] == 2
