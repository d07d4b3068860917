"""Closed loop: the route leads across the lanes of a road, and others drive on the lane between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from av_core.types import LaneGraph, Pose2D, TrackedObject
from planning.local.found_way import held_lane
from planning.local.occupancy import EgoOnRoad
from planning.local.road import lanes_aside_m, road_layout
from planning.route import find_route
from tests.planning.closed_loop import ScenePlanner, drive
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import vehicle

LENGTH_M, LANE_M = 260.0, 3.5


def three_lanes() -> LaneGraph:
    right, middle = beside(straight(key(0), 0, 0, 0, LENGTH_M), straight(key(0, -2), 0, LANE_M, 0, LENGTH_M))
    middle, left = beside(middle, straight(key(0, -3), 0, 2.0 * LANE_M, 0, LENGTH_M))
    return join([right, middle, left])


@dataclass(frozen=True)
class RowOfCars:
    """Cars on the middle lane that never brake."""

    speed_mps: float
    gap_m: float
    first_m: float
    count: int = 14

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        places_m = self.first_m - self.gap_m * np.arange(self.count) + self.speed_mps * time_s
        seen = [(number, float(x_m)) for number, x_m in enumerate(places_m) if -60.0 < x_m < LENGTH_M]
        return tuple(vehicle(100 + number, x_m, LANE_M, 0.0, self.speed_mps) for number, x_m in seen)


@pytest.mark.parametrize("cars", [RowOfCars(12.0, 25.0, 30.0), RowOfCars(17.0, 40.0, 30.0)])
def test_it_does_not_change_lanes_before_cars_that_would_have_to_brake(cars: RowOfCars) -> None:
    """The route leads across the lanes; the gaps are too short to become as fast as these cars."""
    planner = ScenePlanner(three_lanes())
    planner.navigate(Pose2D(0, 2.0 * LANE_M, 0), Pose2D(LENGTH_M - 30.0, 0, 0))
    log = drive(planner, 20.0, 9.0, objects=cars)
    assert clearance_m(log, cars) > 0.5


def test_it_stays_in_its_lane_beside_a_queue_without_gaps() -> None:
    """The route changes lanes, and no path was found: the ego followed the route into the car beside it (Town10HD)."""
    length_m = 70.0
    right, left = beside(straight(key(0), 0, 0, 0, length_m), straight(key(0, -2), 0, LANE_M, 0, length_m))
    planner = ScenePlanner(join([right, left]))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(length_m - 10.0, LANE_M, 0))
    queue = RowOfCars(4.0, 8.0, 60.0, count=40)
    log = drive(planner, 30.0, 2.5, objects=queue)
    assert clearance_m(log, queue) > 0.5
    assert log.column(3)[-1] < 0.1


def test_the_lanes_move_to_the_left_of_a_route_that_leads_to_the_right() -> None:
    graph = three_lanes()
    route = find_route(graph, Pose2D(0, 2.0 * LANE_M, 0), Pose2D(LENGTH_M - 30.0, 0, 0))
    aside_m = lanes_aside_m(road_layout(route, graph))
    assert aside_m[0] == pytest.approx(0.0)
    assert aside_m[-1] == pytest.approx(2.0 * LANE_M, abs=0.5)
    assert np.all(np.diff(aside_m) > -0.2)


@pytest.mark.parametrize(("offset_m", "beside_m"), [(0.4, 0.4), (1.6, 1.6), (1.9, -1.6), (3.5, 0.0), (-0.5, -0.5)])
def test_a_held_lane_leads_to_the_middle_of_the_nearest_one(offset_m: float, beside_m: float) -> None:
    graph = three_lanes()
    layout = road_layout(find_route(graph, Pose2D(0, 0, 0), Pose2D(LENGTH_M - 30.0, 0, 0)), graph)
    assert layout.from_nearest_middle_m(50, offset_m) == pytest.approx(beside_m, abs=0.02)
    start = EgoOnRoad(s_m=0.0, offset_m=offset_m, speed_mps=5.0)
    found = held_lane(start, np.full(60, offset_m - beside_m), beside_m)
    assert found.offset_m[0] == pytest.approx(offset_m)
    assert found.offset_m[12] == pytest.approx(offset_m - beside_m)
    assert found.offset_m[-1] == 0.0
