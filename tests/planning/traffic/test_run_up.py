"""Whether an ego that has lost its patience wants a run-up before a stream."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import ObjectKind, TrackedObject
from planning.junctions.entry import Junction
from planning.signals import EgoOnRoute
from planning.traffic.conflicts import Conflict
from planning.traffic.run_up import room_m

EGO = EgoOnRoute(s_m=50.0, speed_mps=0.0, front_m=4.0, rear_m=1.0, time_s=60.0, impatience=1.0)
CAR = TrackedObject(9, ObjectKind.CAR, 0.0, 0.0, 0.0, (16.0, 0.0), 4.6, 1.9, 1.5)
CROSSES = Conflict(
    CAR,
    low_s_m=56.0,
    high_s_m=60.0,
    enter_s=2.0,
    leave_s=2.6,
    s_at_enter_m=58.0,
    half_s_at_enter_m=1.0,
    along_mps=0.0,
    turn_rad=0.0,
    ends_along=False,
    on_approach=False,
    must_yield=False,
)
JUNCTION = Junction(from_s_m=52.0, to_s_m=70.0, wait_s_m=51.0, free_s_m=55.0, clear_s_m=62.0, has_light=False)


@pytest.mark.parametrize("junction", [JUNCTION, replace(JUNCTION, from_s_m=45.0)])
def test_room_before_the_nearest_stream(junction: Junction) -> None:
    assert room_m([replace(CROSSES, low_s_m=57.5), CROSSES], EGO, [junction]) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("ego", "conflict", "junction"),
    [
        (replace(EGO, impatience=0.9), CROSSES, JUNCTION),
        (replace(EGO, speed_mps=1.0), CROSSES, JUNCTION),
        (EGO, replace(CROSSES, item=replace(CAR, velocity_mps=(5.0, 0.0))), JUNCTION),
        (EGO, replace(CROSSES, along_mps=15.0), JUNCTION),
        (EGO, CROSSES, replace(JUNCTION, has_light=True)),
        (EGO, CROSSES, replace(JUNCTION, from_s_m=45.0, free_s_m=48.0)),
    ],
    ids=["has patience", "drives", "slow stream", "joins", "light", "tail on the ways of others"],
)
def test_no_run_up(ego: EgoOnRoute, conflict: Conflict, junction: Junction) -> None:
    assert room_m([conflict], ego, [junction]) == np.inf
