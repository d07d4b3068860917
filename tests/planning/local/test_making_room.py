"""Closed loop: the ego lets a vehicle in a hurry pass that comes from behind, and is back in its lane afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import LaneGraph, Manoeuvre, Pose2D, TrackedObject
from planning.local.making_room import along_edge
from tests.planning.closed_loop import DT_S, Log, ScenePlanner, drive
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import vehicle

LENGTH_M, EGO_MPS = 700.0, 12.0
RIGHT_Y, LEFT_Y = 0.0, 3.5


def two_lanes() -> LaneGraph:
    return join(beside(straight(key(0), 0, RIGHT_Y, 0, LENGTH_M), straight(key(0, -2), 0, LEFT_Y, 0, LENGTH_M)))


def three_lanes() -> LaneGraph:
    right, middle = beside(straight(key(0), 0, RIGHT_Y, 0, LENGTH_M), straight(key(0, -2), 0, LEFT_Y, 0, LENGTH_M))
    middle, left = beside(middle, straight(key(0, -3), 0, 7.0, 0, LENGTH_M))
    may_change = np.ones(len(middle.s_m), dtype=bool)
    return join([right, replace(middle, right=right.key, right_change=may_change), left])


def one_lane_each_way() -> LaneGraph:
    return join([straight(key(0), 0, 0, 0, LENGTH_M), straight(key(0, 1), LENGTH_M, 3.5, np.pi, LENGTH_M)])


class Rescue:
    """A vehicle that keeps to the middle of the ego's lane, is 25 m/s faster than the ego, and brakes behind it."""

    def __init__(self, planner: ScenePlanner, lane_y_m: float, others: tuple[TrackedObject, ...] = ()) -> None:
        self._planner, self._y_m, self._others = planner, lane_y_m, others
        self._x_m, self._mps = -95.0, 30.0
        self.passed_s = float("inf")
        self.seen: dict[float, tuple[TrackedObject, ...]] = {}

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        ego = self._planner.progress
        ego_s_m, aside_m = (ego.s_m, abs(ego.cross_track_m)) if ego is not None else (0.0, 0.0)
        room_m = ego_s_m - 1.0 - 2.5 - 3.0 - self._x_m
        free_mps = np.sqrt(EGO_MPS**2 + 10.0 * max(room_m, 0.0)) if aside_m < 2.0 and room_m > -4.0 else 37.0
        self._mps = float(np.clip(min(free_mps, 37.0), self._mps - 8.0 * DT_S, self._mps + 8.0 * DT_S))
        if aside_m < 2.0 and 0.0 > room_m > -4.0:
            self._mps = 0.5 * EGO_MPS
        self._x_m += self._mps * DT_S
        if self._x_m > ego_s_m + 8.0:
            self.passed_s = min(self.passed_s, time_s)
        moved = (
            vehicle(o.track_id, o.x_m + o.velocity_mps[0] * time_s, o.y_m, o.yaw_rad, o.velocity_mps[0])
            for o in self._others
        )
        self.seen[round(time_s, 3)] = (vehicle(50, self._x_m, self._y_m, 0.0, self._mps), *moved)
        return self.seen[round(time_s, 3)]


def let_pass(graph: LaneGraph, lane_y_m: float, others: tuple[TrackedObject, ...] = ()) -> tuple[Log, Rescue]:
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, lane_y_m, 0), Pose2D(LENGTH_M - 10.0, lane_y_m, 0))
    rescue = Rescue(planner, lane_y_m, others)
    return drive(planner, 25.0, EGO_MPS, objects=rescue), rescue


@pytest.mark.parametrize(("lane_y_m", "side"), [(LEFT_Y, -1.0), (RIGHT_Y, 1.0)])
def test_it_changes_to_the_lane_beside_and_comes_back(lane_y_m: float, side: float) -> None:
    log, rescue = let_pass(two_lanes(), lane_y_m)
    offset = side * log.column(2)
    assert rescue.passed_s < 10.0
    assert offset.max() == pytest.approx(3.5, abs=0.5)
    assert offset.min() > -0.3
    assert clearance_m(log, lambda time_s: rescue.seen[round(time_s, 3)]) > 0.3
    assert abs(log.column(2)[-1]) < 0.2, "back in its lane"
    assert log.column(3).min() > 6.0
    assert Manoeuvre.PASS_THROUGH_NEXT_LANE in {plan.manoeuvre for plan in log.plans}


def test_it_waits_for_a_gap_beside_it() -> None:
    beside_ego = tuple(vehicle(number, -12.0 + 11.0 * number, LEFT_Y, 0.0, 14.0) for number in range(3))
    log, rescue = let_pass(two_lanes(), RIGHT_Y, beside_ego)
    assert rescue.passed_s < 20.0
    assert clearance_m(log, lambda time_s: rescue.seen[round(time_s, 3)]) > 0.3


def test_it_changes_into_a_gap_between_cars_beside_it() -> None:
    """With the distances of a pass through oncoming traffic, `occupancy.WIDE`, it finds no gap of 60 m or 80 m."""
    queue = tuple(vehicle(number, -95.0 + 60.0 * number, LEFT_Y, 0.0, 14.0) for number in range(5))
    log, rescue = let_pass(two_lanes(), RIGHT_Y, queue)
    assert rescue.passed_s < 10.0
    assert log.column(2).max() > 2.5
    assert clearance_m(log, lambda time_s: rescue.seen[round(time_s, 3)]) > 0.3


def test_it_changes_into_a_gap_of_34_m_without_braking_there() -> None:
    """Cars at 50 km/h leave such gaps on a motorway that is full. In it, the ego keeps up with them."""
    queue = tuple(vehicle(number, -106.0 + 34.0 * number, LEFT_Y, 0.0, 14.0) for number in range(9))
    log, rescue = let_pass(two_lanes(), RIGHT_Y, queue)
    assert rescue.passed_s < 10.0
    assert clearance_m(log, lambda time_s: rescue.seen[round(time_s, 3)]) > 0.3
    assert log.column(3).min() > 8.0


def test_from_the_right_edge_it_finds_a_gap_on_the_left() -> None:
    """Beside the middle lane no gap is free on the right, and one on the left is free when the ego is at the edge."""
    right = tuple(vehicle(number, -100.0 + 15.0 * number, RIGHT_Y, 0.0, 14.0) for number in range(20))
    left = tuple(vehicle(20 + number, -40.0 + 15.0 * number, 7.0, 0.0, 14.0) for number in range(12))
    log, rescue = let_pass(three_lanes(), LEFT_Y, right + left)
    assert log.column(2).min() == pytest.approx(-0.6, abs=0.15), "at the right edge"
    assert log.column(2).max() > 2.5, "in the lane on the left"
    assert rescue.passed_s < 20.0
    assert clearance_m(log, lambda time_s: rescue.seen[round(time_s, 3)]) > 0.3


def test_the_way_to_the_edge_is_gentle_at_every_speed() -> None:
    s_m = np.arange(160, dtype=np.float64)
    for speed_mps, offset_m in ((5.0, 0.0), (12.0, 0.0), (27.0, 0.0), (23.0, 2.4)):
        offsets_m = along_edge(s_m, offset_m, speed_mps, np.full(160, -1.75), 0.95)
        assert speed_mps * np.abs(np.diff(offsets_m)).max() < 0.81
        assert offsets_m[-1] == pytest.approx(-0.6)


def test_without_a_lane_beside_it_keeps_to_the_edge_and_slows_down() -> None:
    log, _ = let_pass(one_lane_each_way(), RIGHT_Y)
    assert log.column(2).min() == pytest.approx(-0.6, abs=0.15)
    assert log.column(2).max() < 0.3, "never into the oncoming lane"
    speed_mps = log.column(3)[(log.column(0) > 4.0) & (log.column(0) < 12.0)]
    assert speed_mps == pytest.approx(np.full(len(speed_mps), 0.6 * 13.9), abs=0.5)


def test_for_ordinary_traffic_it_stays_where_it_is() -> None:
    planner = ScenePlanner(two_lanes())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))
    log = drive(
        planner,
        15.0,
        EGO_MPS,
        objects=lambda t: (
            vehicle(50, -40.0 + 16.0 * t if t < 6 else 56 + 13.0 * (t - 6), 0.0, 0.0, 16.0 if t < 6 else 13.0),
        ),
    )
    assert np.abs(log.column(2)).max() < 0.2
