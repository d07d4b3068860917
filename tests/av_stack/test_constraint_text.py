"""The words for what limits a plan, and how statistics count it."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.types import Constraint, ConstraintKind, Plan, Stamp, Trajectory
from av_stack.results.constraint_text import describe

KIND = ConstraintKind


@pytest.mark.parametrize(("constraint", "words"), [
    (Constraint(KIND.SPEED_LIMIT, distance_m=4.0, value=50.0 / 3.6), "speed limit 50 km/h"),
    (Constraint(KIND.CURVE, distance_m=4.0, value=-0.0512), "curve 0.05 1/m"),
    (Constraint(KIND.LEADER, "57", 12.6), "vehicle 57 ahead 13 m"),
    (Constraint(KIND.OBSTACLE, "57", 0.0), "vehicle 57 ahead 0 m"),
    (Constraint(KIND.CROSSING_TRAFFIC, "5", 7.2), "giving way to vehicle 5 in 7 m"),
    (Constraint(KIND.CROSSING_TRAFFIC, "", 1.2), "giving way to a vehicle in 1 m"),
    (Constraint(KIND.MERGING_TRAFFIC, "5", 0.0), "letting vehicle 5 in"),
    (Constraint(KIND.PEDESTRIAN, "80", 3.0), "walker 80 crossing in 3 m"),
    (Constraint(KIND.RED_LIGHT, "412", 18.0), "red light 412 in 18 m"),
    (Constraint(KIND.YELLOW_LIGHT, "412", 18.0), "yellow light 412 in 18 m"),
    (Constraint(KIND.UNSEEN_LIGHT, "412", 18.0), "unseen light 412 in 18 m"),
    (Constraint(KIND.LIGHT_OUT_OF_VIEW, "412", 18.0), "light 412 is out of view"),
    (Constraint(KIND.LIGHT_NOT_SEEN, "412", 18.0), "light 412 is not seen"),
    (Constraint(KIND.OFF_LIGHT, "412", 18.0), "light 412 is off"),
    (Constraint(KIND.STOP_SIGN, "13", 1.0), "stop sign 13 in 1 m"),
    (Constraint(KIND.YIELD_SIGN, "13", 1.0), "yield sign 13"),
    (Constraint(KIND.CAMERA_CAUTION, name="rear black"), "sensor rear black: slower"),
    (Constraint(KIND.CAMERA_SLOW, name="torn"), "camera torn: slowing down"),
    (Constraint(KIND.CAMERA_STOP, name="torn"), "camera torn: safe stop"),
    (Constraint(KIND.POSITION_STOP, name="position uncertain"), "position uncertain: safe stop"),
    (Constraint(KIND.REQUESTED_STOP, name="stop requested"), "stop requested"),
    (Constraint(KIND.END_OF_ROUTE, distance_m=99.7), "end of route in 100 m"),
    (None, ""),
])  # fmt: skip
def test_words(constraint: Constraint | None, words: str) -> None:
    assert describe(constraint) == words


def plan(constraint: Constraint | None, is_accelerating: bool = False) -> Plan:
    t = np.arange(3.0)
    return Plan(Stamp(0, 0.0), Trajectory.through((t, t, t), t, t, t, t), constraint, is_accelerating=is_accelerating)


def test_statistics_count_main_kinds_only() -> None:
    assert {kind.counted_as.counted_as for kind in KIND} == {kind.counted_as for kind in KIND}
    yellow = Constraint(KIND.YELLOW_LIGHT, "412", 18.0)
    assert plan(yellow).limited_by == Constraint(KIND.RED_LIGHT, "412", 18.0)
    assert plan(Constraint(KIND.CAMERA_STOP, name="torn")).limited_by == Constraint(KIND.CAMERA)
    assert plan(Constraint(KIND.SPEED_LIMIT, value=13.9)).limited_by == Constraint(KIND.SPEED_LIMIT)


def test_while_the_ego_accelerates_as_it_can_that_limits_it() -> None:
    assert plan(Constraint(KIND.RED_LIGHT, "412", 18.0), True).limited_by == Constraint(KIND.ACCELERATION)
    assert plan(None).limited_by is None
