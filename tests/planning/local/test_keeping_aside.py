"""The ego keeps away from the doors of vehicles that stand beside its way, within its lane."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Manoeuvre, Pose2D, PredictedObject, TrackedObject
from planning import PlanningConfig, find_route
from planning.local.keeping_aside import offsets_aside
from planning.local.occupancy import TIMES_S, Body, OnRoad
from planning.local.road import road_layout
from tests.planning.closed_loop import CAR, Log
from tests.planning.local.test_passing import clearance_m, drive_past, manoeuvres, two_way_road
from tests.planning.test_traffic import vehicle

HALF_LANE_M = 1.75
DOOR_M = 1.0
"""A door reaches out so far."""


def beside(gap_m: float, x_m: float = 90.0, side: float = -1.0) -> TrackedObject:
    """A parked car at this distance from the side of an ego in the middle of its lane."""
    car = vehicle(1, x_m, 0.0, 0.0, 0.0)
    return replace(car, y_m=side * (0.5 * CAR.width_m + gap_m + 0.5 * car.width_m))


def standing(item: TrackedObject) -> OnRoad:
    """It stands beside a route along the x axis."""
    ones = np.ones(len(TIMES_S))
    half_m = 0.5 * np.array([item.length_m, item.width_m])
    return OnRoad(PredictedObject(item, ()), item.x_m * ones, item.y_m * ones, half_m[0] * ones, half_m[1] * ones)


def farthest_m(log: Log) -> float:
    return float(log.column(2).max())


@pytest.mark.parametrize("speed_mps", [5.0, 8.0, 13.0])
def test_a_parked_car_beside_the_way_is_passed_out_of_reach_of_its_door(speed_mps: float) -> None:
    car = beside(0.6)
    log = drive_past(two_way_road(), lambda _: (car,), 60, speed_mps)
    assert log.has_arrived
    assert clearance_m(log, lambda _: (car,)) > DOOR_M
    assert farthest_m(log) < HALF_LANE_M - 0.5 * CAR.width_m, "it stays in its lane"
    assert Manoeuvre.PASS_THROUGH_ONCOMING_LANE not in manoeuvres(log)
    assert abs(log.column(2)[-1]) < 0.1, "back in the middle of the lane"
    assert log.column(3)[np.abs(log.column(1) - 90.0) < 20.0].min() > speed_mps - 1.5, "it does not slow down"


def test_a_parked_car_whose_measured_speed_is_not_zero_is_passed_like_one_that_stands() -> None:
    """The measured speed of a parked car was 0.4 to 0.9 m/s; the ego stayed in the middle and hit its door."""

    def measured(time_s: float) -> tuple[TrackedObject]:
        return (replace(beside(0.6), velocity_mps=(0.9 * math.cos(3.0 * time_s), 0.0)),)

    log = drive_past(two_way_road(), measured, 60)
    assert log.has_arrived
    assert clearance_m(log, measured) > DOOR_M
    assert np.ptp(log.column(2)[np.abs(log.column(1) - 90.0) < 3.0]) < 0.1, "it does not swing back and forth"


def test_a_car_that_drives_slowly_beside_the_way_is_no_parked_one() -> None:
    log = drive_past(
        two_way_road(), lambda time_s: (replace(beside(0.6, 60.0 + 3.0 * time_s), velocity_mps=(3.0, 0.0)),), 60
    )
    assert farthest_m(log) < 0.1


def test_a_row_of_parked_cars_is_passed_in_one_sweep() -> None:
    row = tuple(replace(beside(0.6, 70.0 + 7.0 * n), track_id=n) for n in range(8))
    log = drive_past(two_way_road(), lambda _: row, 60)
    assert log.has_arrived
    assert clearance_m(log, lambda _: row) > DOOR_M
    along = (log.column(1) > 75.0) & (log.column(1) < 110.0)
    assert np.ptp(log.column(2)[along]) < 0.1


def test_oncoming_traffic_does_not_matter_within_the_lane() -> None:
    car = beside(0.6)

    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        return (car, *(vehicle(2 + n, 150 + 25 * n - 8 * time_s, 3.5, np.pi, 8.0) for n in range(8)))

    log = drive_past(two_way_road(), traffic, 60)
    assert log.has_arrived
    assert clearance_m(log, lambda _: (car,)) > DOOR_M
    assert clearance_m(log, traffic) > 0.7
    assert log.column(3)[np.abs(log.column(1) - 90.0) < 20.0].min() > 6.5


def test_a_car_far_from_the_way_changes_nothing() -> None:
    log = drive_past(two_way_road(), lambda _: (beside(1.3),), 40)
    assert log.has_arrived
    assert np.abs(log.column(2)).max() < 0.1


def test_between_two_rows_of_parked_cars_it_stays_in_the_middle() -> None:
    route = find_route(two_way_road(), Pose2D(0, 0, 0), Pose2D(200, 0, 0), (), PlanningConfig().route)
    layout, body = road_layout(route, two_way_road()), Body(3.8, 1.0, CAR.width_m)
    right, left = standing(beside(0.6)), standing(beside(0.6, side=1.0))
    assert np.abs(offsets_aside(route.s_m, [right, left], 8.0, layout, body)).max() < 1e-9
    alone_m = offsets_aside(route.s_m, [right], 8.0, layout, body)
    assert alone_m.max() == pytest.approx(0.6, abs=1e-6)
    assert np.abs(alone_m + offsets_aside(route.s_m, [left], 8.0, layout, body)).max() < 0.05


def test_it_moves_to_the_right_for_oncoming_cars_that_come_into_its_lane() -> None:
    def invaders(time_s: float) -> tuple[TrackedObject, ...]:
        return tuple(vehicle(1 + n, 200 + 40 * n - 19 * time_s, 2.3, np.pi, 19.0) for n in range(6))

    log = drive_past(two_way_road(), invaders, 60)
    assert log.has_arrived
    assert clearance_m(log, invaders) > 0.8
    assert log.column(2).min() > -HALF_LANE_M + 0.5 * CAR.width_m, "it stays in its lane"
    assert log.column(3)[np.abs(log.column(1) - 90.0) < 60.0].min() > 7.0, "it goes on"
    assert abs(log.column(2)[-1]) < 0.1, "back in the middle of the lane"


@pytest.mark.parametrize("offset_m", [3.0, 3.5])
def test_oncoming_cars_in_their_own_lane_change_nothing(offset_m: float) -> None:
    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        return tuple(vehicle(1 + n, 200 + 40 * n - 12 * time_s, offset_m, np.pi, 12.0) for n in range(12))

    log = drive_past(two_way_road(), traffic, 60)
    assert log.has_arrived
    assert np.abs(log.column(2)).max() < 0.05
