"""Closed loop: the ego stands beside the road between parked cars, and pulls out into a stream of drivers.

They keep their distance to each other, and to an ego that reaches into their lane.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from av_core.types import Manoeuvre, Pose2D
from tests.planning.closed_loop import Log, ScenePlanner, drive
from tests.planning.lanes_by_hand import join, key, straight
from tests.planning.local.test_among_others import Drivers
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import vehicle

ASIDE_M = -3.2
PARKED = (vehicle(1, 21.4, ASIDE_M, 0.0, 0.0), vehicle(2, -8.6, ASIDE_M, 0.0, 0.0))
"""Before and behind the ego, whose middle is at 1.4 m."""


def pull_out(drivers: Drivers, seconds: float) -> Log:
    lane = replace(straight(key(0), 0, 0, 0, 300.0), speed_limit_mps=13.9)
    planner = ScenePlanner(join([lane]))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(290.0, 0, 0))
    return drive(planner, seconds, 0.0, objects=drivers.seen, watch=drivers.step, offset_m=ASIDE_M)


@pytest.mark.parametrize(("gap_m", "first_m", "seed"), [(38.0, 35.0, 0), (38.0, 10.0, 1), (30.0, 35.0, 1)])
def test_it_pulls_out_into_a_gap(gap_m: float, first_m: float, seed: int) -> None:
    """It touches nobody, and nobody has to brake harder than in a queue."""
    drivers = Drivers(11.0, gap_m, seed, obstacles=PARKED, lane_y_m=0.0, first_m=first_m)
    log = pull_out(drivers, 16.0)
    assert abs(log.column(2)[-1]) < 0.3
    assert log.column(1)[-1] > 20.0
    assert log.plans[60].manoeuvre is Manoeuvre.PULL_OUT
    assert log.plans[-1].manoeuvre is Manoeuvre.FOLLOW_LANE
    assert clearance_m(log, drivers.seen) > 0.4
    assert drivers.least_mps2 > -3.0


def test_it_looks_before_it_starts() -> None:
    """In its first moments no sensor has seen who comes."""
    drivers = Drivers(11.0, 500.0, 0, obstacles=PARKED, lane_y_m=0.0, first_m=-200.0)
    log = pull_out(drivers, 4.0)
    assert log.column(3)[:40].max() < 0.1
    assert log.column(3)[-1] > 2.0


def test_it_lets_a_dense_stream_pass() -> None:
    drivers = Drivers(11.0, 12.0, 0, obstacles=PARKED, lane_y_m=0.0, first_m=10.0)
    log = pull_out(drivers, 12.0)
    assert abs(log.column(2)[-1] - ASIDE_M) < 0.3
    assert clearance_m(log, drivers.seen) > 1.0
