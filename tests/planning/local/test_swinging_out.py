"""The ego swings out around an obstacle close before it: the path, its exact check, and a closed loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import ObjectKind, Pose2D, PredictedObject
from planning.local.occupancy import Body, EgoOnRoad, OnRoad
from planning.local.swinging_out import is_clear, two_arcs
from tests.planning.closed_loop import CAR, ScenePlanner, drive
from tests.planning.local.test_passing import (
    Traffic,
    clearance_m,
    manoeuvres,
    narrow_road,
    outline,
    two_lane_road,
    two_way_road,
)
from tests.planning.test_traffic import vehicle

BODY = Body(3.8, 1.0, 1.9, 6.5)
FRONT_M = 0.5 * CAR.length_m + CAR.rear_axle_to_centre_m


def before(gap_m: float) -> Traffic:
    """A car that stands so far before an ego at the start of its road."""
    car = vehicle(1, FRONT_M + gap_m + 2.25, 0.0, 0.0, 0.0)
    return lambda _: (replace(car, length_m=4.5),)


@pytest.mark.parametrize("gap_m", [3.0, 5.0, 7.0])
@pytest.mark.parametrize("road", [two_way_road, two_lane_road])
def test_an_ego_close_behind_an_obstacle_gets_past_it(gap_m: float, road: type) -> None:
    planner = ScenePlanner(road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(80.0, 0, 0))
    log = drive(planner, 30.0, objects=before(gap_m))
    assert log.has_arrived
    assert clearance_m(log, before(gap_m)) > 0.3
    assert abs(log.column(2)[-1]) < 0.1, "back on the route"


def test_without_a_lane_beside_it_the_ego_stays() -> None:
    planner = ScenePlanner(narrow_road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(80.0, 0, 0))
    log = drive(planner, 8.0, objects=before(4.0))
    assert log.column(1).max() < 0.5
    assert len(manoeuvres(log)) == 1


@given(st.floats(-0.3, 0.8), st.floats(-0.5, 1.5), st.floats(2.0, 3.5))
def test_the_arcs_lead_from_the_ego_to_the_offset(turn_rad: float, offset_m: float, aside_m: float) -> None:
    swing = two_arcs(EgoOnRoad(50.0, offset_m, 0.0, turn_rad=turn_rad), aside_m, 70.0, 6.5)
    if swing is None:
        return
    assert (swing.s_m[0], swing.offset_m[0]) == pytest.approx((50.0, offset_m))
    assert np.diff(swing.s_m).min() > 0.0
    assert np.interp(70.0, swing.s_m, swing.offset_m) >= aside_m - 0.01
    assert swing.offset_m[-1] == pytest.approx(0.0, abs=1e-9)
    slope = np.diff(swing.offset_m) / np.diff(swing.s_m)
    assert np.arctan(slope[0]) == pytest.approx(turn_rad, abs=0.1)


@settings(deadline=None)
@given(st.floats(4.0, 14.0), st.floats(-1.5, 1.5), st.floats(0.3, 2.5), st.floats(0.3, 1.2))
def test_a_path_that_is_clear_touches_nothing(s_m: float, d_m: float, half_s_m: float, half_d_m: float) -> None:
    swing = two_arcs(EgoOnRoad(0.0, 0.0, 0.0), 3.0, 20.0, 6.5)
    assert swing is not None
    constant = np.full(25, s_m), np.full(25, d_m), np.full(25, half_s_m), np.full(25, half_d_m)
    item = vehicle(1, s_m, d_m, 0.0, 0.0)
    way = OnRoad(PredictedObject(replace(item, kind=ObjectKind.CAR)), *constant)
    turn = np.arctan(np.gradient(swing.offset_m, swing.s_m))
    least_m = np.inf
    for s, d, angle in zip(swing.s_m.tolist(), swing.offset_m.tolist(), turn.tolist(), strict=True):
        middle_m = 0.5 * (BODY.front_m - BODY.rear_m)
        centre = s + middle_m * np.cos(angle), d + middle_m * np.sin(angle)
        points = outline(*centre, angle, BODY.front_m + BODY.rear_m, BODY.width_m)
        beyond = np.maximum(np.abs(points - [s_m, d_m]) - [half_s_m, half_d_m], 0.0)
        least_m = min(least_m, float(np.hypot(*beyond.T).min()))
    if is_clear(swing.s_m, swing.offset_m, way, BODY):
        assert least_m > 0.25
    elif least_m > 0.5:
        pytest.fail(f"{least_m:.2f} m are enough")
