"""Closed loop: the ego passes what blocks its lane, waits where it cannot, and stays behind who waits at a light."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Indicator, LaneGraph, LightState, Manoeuvre, Pose2D, Signal, SignalKind, TrackedObject
from sim_configs.load import load_rig
from tests.planning.closed_loop import CAR, Log, ScenePlanner, drive, follow_mps2
from tests.planning.lanes_by_hand import beside, join, key, straight
from tests.planning.test_traffic import light, vehicle

Traffic = Callable[[float], tuple[TrackedObject, ...]]
LENGTH_M = 220.0


def two_way_road() -> LaneGraph:
    return join([straight(key(0), 0, 0, 0, LENGTH_M), straight(key(0, 1), LENGTH_M, 3.5, np.pi, LENGTH_M)])


def narrow_road() -> LaneGraph:
    return join([straight(key(0), 0, 0, 0, LENGTH_M)])


def two_lane_road() -> LaneGraph:
    right, left = straight(key(0), 0, 0, 0, LENGTH_M), straight(key(0, -2), 0, 3.5, 0, LENGTH_M)
    return join(beside(right, left))


def outline(x_m: float, y_m: float, yaw_rad: float, length_m: float, width_m: float) -> np.ndarray:
    """Points (N, 2) on the edges of a box."""
    along, across = np.linspace(-0.5, 0.5, 21) * length_m, np.linspace(-0.5, 0.5, 11) * width_m
    sides = [np.column_stack([along, np.full(21, side * width_m / 2)]) for side in (-1, 1)]
    ends = [np.column_stack([np.full(11, end * length_m / 2), across]) for end in (-1, 1)]
    points = np.concatenate([*sides, *ends])
    c, s = np.cos(yaw_rad), np.sin(yaw_rad)
    return np.asarray(points @ np.array([[c, s], [-s, c]]) + [x_m, y_m])


def clearance_m(log: Log, traffic: Traffic) -> float:
    """The smallest distance between the ego and anyone in the drive."""
    least = np.inf
    for state, row in zip(log.states[::2], log.rows[::2], strict=True):
        x = state.x_m + CAR.rear_axle_to_centre_m * np.cos(state.yaw_rad)
        y = state.y_m + CAR.rear_axle_to_centre_m * np.sin(state.yaw_rad)
        ego = outline(x, y, state.yaw_rad, CAR.length_m, CAR.width_m)
        for other in traffic(row[0]):
            c, s = np.cos(other.yaw_rad), np.sin(other.yaw_rad)
            local = (ego - [other.x_m, other.y_m]) @ np.array([[c, -s], [s, c]])
            beyond = np.maximum(np.abs(local) - [other.length_m / 2, other.width_m / 2], 0.0)
            least = min(least, float(np.hypot(*beyond.T).min()))
    return least


def drive_past(graph: LaneGraph, traffic: Traffic, seconds: float, speed_mps: float = 8.0) -> Log:
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))
    return drive(planner, seconds, speed_mps, objects=traffic)


def manoeuvres(log: Log) -> set[Manoeuvre]:
    return {plan.manoeuvre for plan in log.plans}


def parked(x_m: float = 90.0) -> TrackedObject:
    return vehicle(1, x_m, -0.5, 0.0, 0.0)


def test_a_parked_car_is_passed_through_the_free_oncoming_lane() -> None:
    log = drive_past(two_way_road(), lambda _: (parked(),), 40)
    assert log.has_arrived
    assert clearance_m(log, lambda _: (parked(),)) > 0.4
    assert Manoeuvre.PASS_THROUGH_ONCOMING_LANE in manoeuvres(log)
    assert {plan.indicator for plan in log.plans} >= {Indicator.LEFT, Indicator.RIGHT}
    assert abs(log.column(2)[-1]) < 0.1, "back on the route"
    assert np.abs(log.column(2)).max() < 2.65, "no farther to the left than needed"


def test_it_waits_for_oncoming_traffic() -> None:
    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        coming = (vehicle(2 + n, 150 + 50 * n - 8 * time_s, 3.5, np.pi, 8.0) for n in range(3))
        return (parked(), *coming)

    log = drive_past(two_way_road(), traffic, 60)
    assert log.has_arrived
    assert clearance_m(log, traffic) > 0.4
    passing = [row[0] for row in log.rows if row[2] > 1.0]
    assert min(passing) > (250 - 100) / 8.0, "after the last of them"
    waiting = [plan for plan, row in zip(log.plans, log.rows, strict=True) if plan.alternatives and row[2] < 0.5]
    assert max(way[:, 1].max() for plan in waiting for way in plan.alternatives) > 2.0, "the way past it, not taken"


def test_several_cars_in_a_row_are_passed_at_once() -> None:
    row = tuple(vehicle(1 + n, 90 + 8 * n, -0.3, 0.0, 0.0) for n in range(3))
    log = drive_past(two_way_road(), lambda _: row, 60)
    assert log.has_arrived
    assert clearance_m(log, lambda _: row) > 0.4


def test_a_lane_in_the_same_direction_is_used_without_looking_for_oncoming_cars() -> None:
    log = drive_past(two_lane_road(), lambda _: (parked(),), 40)
    assert log.has_arrived
    assert clearance_m(log, lambda _: (parked(),)) > 0.4
    assert Manoeuvre.PASS_THROUGH_NEXT_LANE in manoeuvres(log)
    assert Manoeuvre.PASS_THROUGH_ONCOMING_LANE not in manoeuvres(log)


def test_without_another_lane_it_stands_behind() -> None:
    log = drive_past(narrow_road(), lambda _: (vehicle(1, 90.0, 0.0, 0.0, 0.0),), 30)
    assert not log.has_arrived
    assert clearance_m(log, lambda _: (vehicle(1, 90.0, 0.0, 0.0, 0.0),)) > 2.0
    assert manoeuvres(log) == {Manoeuvre.FOLLOW_LANE}


@pytest.mark.parametrize("state", [LightState.RED, LightState.UNKNOWN])
def test_who_waits_at_a_light_is_not_passed(state: LightState) -> None:
    lanes = [
        straight(key(0), 0, 0, 0, 100),
        straight(key(0, 1), 100, 3.5, np.pi, 100),
        straight(key(1), 100, 0, 0, 20, junction=True),
        straight(key(2), 120, 0, 0, 100),
    ]
    graph = join(lanes, (Signal("7", SignalKind.TRAFFIC_LIGHT, key(1), 0.0),))
    queue = tuple(vehicle(1 + n, 94.0 - 8.0 * n, 0.0, 0.0, 0.0) for n in range(3))
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(210, 0, 0))
    log = drive(planner, 40, 8.0, objects=lambda _: queue, lights=lambda _: light(state))
    assert manoeuvres(log) == {Manoeuvre.FOLLOW_LANE}
    assert log.column(1)[-1] < 94 - 16 - 2.2


def test_a_bicycle_is_passed_while_it_rides() -> None:
    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        rider = vehicle(1, 50 + 3 * time_s, -1.0, 0.0, 3.0)
        return (replace(rider, kind=type(rider.kind).BICYCLE, length_m=1.7, width_m=0.6),)

    log = drive_past(two_way_road(), traffic, 40)
    assert log.has_arrived
    assert clearance_m(log, traffic) > 0.5
    assert log.rows[-1][0] < 30.0


def test_a_lane_change_of_the_route_waits_for_the_car_beside() -> None:
    right, left = straight(key(0), 0, 0, 0, LENGTH_M), straight(key(0, -2), 0, 3.5, 0, LENGTH_M)
    planner = ScenePlanner(join(beside(right, left)))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 5.0, 3.5, 0))

    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        return (vehicle(1, 2.0 + 13.0 * time_s, 3.5, 0.0, 13.0),)

    log = drive(planner, 25, 13.0, objects=traffic)
    assert clearance_m(log, traffic) > 0.5


def test_an_obstacle_that_leaves_the_view_beside_the_ego_is_remembered() -> None:
    seen_to_m = 90.0 - 0.5 * 4.5 - 6.0 - CAR.rear_axle_to_centre_m - 0.5 * CAR.length_m

    planner = ScenePlanner(two_way_road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))

    def camera(_: float) -> tuple[TrackedObject, ...]:
        progress = planner.progress
        return (parked(),) if progress is None or progress.s_m < seen_to_m else ()

    log = drive(planner, 40, 8.0, objects=camera)
    assert log.has_arrived
    assert clearance_m(log, lambda _: (parked(),)) > 0.4


class Stream:
    """Oncoming cars in a row that brake for the ego in their lane and for each other (IDM), as drivers do."""

    def __init__(self, planner: ScenePlanner, places_m: np.ndarray, speed_mps: float, sight_m: float = 200.0) -> None:
        self._planner, self._free_mps, self._time_s, self._sight_m = planner, speed_mps, 0.0, sight_m
        self._x_m, self._speed_mps = np.array(places_m), np.full(len(places_m), speed_mps)
        self.seen: dict[float, tuple[TrackedObject, ...]] = {}
        self.hardest_mps2 = 0.0

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        dt, self._time_s = time_s - self._time_s, time_s
        ahead_m = np.append(np.inf, np.diff(self._x_m) - 4.6)
        ahead_mps = np.append(0.0, self._speed_mps[:-1])
        accel = np.minimum(self._accel(np.inf, 0.0), self._accel(ahead_m, ahead_mps))
        ego = self._planner.progress
        if ego is not None and ego.cross_track_m > 0.9:
            to_ego_m = self._x_m - 2.3 - (ego.s_m + 3.8)
            accel = np.where(to_ego_m > 0.0, np.minimum(accel, self._accel(to_ego_m, 0.0)), accel)
        self.hardest_mps2 = min(self.hardest_mps2, float(accel.min()))
        self._speed_mps = np.maximum(self._speed_mps + np.maximum(accel, -7.0) * dt, 0.0)
        self._x_m = self._x_m - self._speed_mps * dt
        near = np.flatnonzero((self._x_m > -60.0) & (self._x_m < self._sight_m)).tolist()
        cars = tuple(vehicle(100 + n, self._x_m[n], 3.5, np.pi, self._speed_mps[n]) for n in near)
        self.seen[round(time_s, 3)] = cars
        return (parked(), *cars)

    def _accel(self, gap_m: np.ndarray | float, ahead_mps: np.ndarray | float) -> np.ndarray:
        return follow_mps2(self._speed_mps, self._free_mps, gap_m, ahead_mps)


@pytest.mark.parametrize("seed", [1, 6])
def test_it_passes_between_cars_that_come_in_sight_late(seed: int) -> None:
    """They come in sight 52 m behind the obstacle, with gaps of 20 to 100 m, and brake for an ego in their lane."""
    planner = ScenePlanner(two_way_road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))
    gaps_m = np.random.default_rng(seed).uniform(20.0, 100.0, 40)
    stream = Stream(planner, 120.0 + np.cumsum(gaps_m), speed_mps=11.1, sight_m=142.0)
    log = drive(planner, 45, 8.0, objects=stream)
    assert log.has_arrived
    assert clearance_m(log, lambda time_s: (parked(), *stream.seen[round(time_s, 3)])) > 0.3


def test_an_obstacle_that_drives_off_in_view_is_forgotten() -> None:
    """The camera shows an empty road before the ego that waits for oncoming traffic."""
    planner = ScenePlanner(two_way_road(), cameras=load_rig("compact").cameras)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))

    def traffic(time_s: float) -> tuple[TrackedObject, ...]:
        coming = (vehicle(2 + n, 130 + 30 * n - 8 * time_s, 3.5, np.pi, 8.0) for n in range(30))
        return (*coming, parked()) if time_s < 25.0 else tuple(coming)

    log = drive(planner, 60, 8.0, objects=traffic)
    waits = [row[3] for row in log.rows if 22.0 < row[0] < 25.0]
    assert max(waits) < 0.5
    assert log.has_arrived


@pytest.mark.parametrize("gap_m", [70.0, 95.0])
def test_it_passes_in_a_stream_where_a_gap_is_long_enough(gap_m: float) -> None:
    planner = ScenePlanner(two_way_road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(LENGTH_M - 10.0, 0, 0))
    stream = Stream(planner, 120.0 + gap_m * np.arange(40), speed_mps=11.0)
    log = drive(planner, 40, 8.0, objects=stream)
    assert log.has_arrived == (gap_m > 80.0)
    assert clearance_m(log, lambda time_s: (parked(), *stream.seen[round(time_s, 3)])) > 0.4
    assert stream.hardest_mps2 > -3.0, "nobody has to brake harder than is comfortable"


class TrafficBeside:
    """Cars in a row on the left lane that keep their distance to each other and to the ego in their lane (IDM)."""

    def __init__(self, planner: ScenePlanner, gaps_m: tuple[float, float], speed_mps: float, seed: int) -> None:
        self._planner, self._free_mps, self._time_s = planner, speed_mps, 0.0
        self._rng = np.random.default_rng(seed)
        self._x_m = 800.0 - np.cumsum(self._rng.uniform(*gaps_m, 40))
        self._speed_mps = np.full(40, speed_mps)
        self.seen: dict[float, tuple[TrackedObject, ...]] = {}

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        dt, self._time_s = time_s - self._time_s, time_s
        ahead_m = np.append(np.inf, self._x_m[:-1] - self._x_m[1:] - 4.6)
        accel = self._accel(ahead_m, np.append(self._free_mps, self._speed_mps[:-1]))
        ego = self._planner.progress
        ego_m = ego.s_m if ego is not None else 0.0
        if ego is not None and ego.cross_track_m > 1.0:
            to_ego_m = ego_m - 1.0 - (self._x_m + 2.3)
            accel = np.where(to_ego_m > 0.0, np.minimum(accel, self._accel(to_ego_m, self._free_mps)), accel)
        self._speed_mps = np.maximum(self._speed_mps + np.maximum(accel, -7.0) * dt, 0.0)
        self._x_m = self._x_m + self._speed_mps * dt
        near = np.flatnonzero((self._x_m > ego_m - 60.0) & (self._x_m < ego_m + 150.0)).tolist()
        cars = tuple(vehicle(100 + n, self._x_m[n], 3.5, 0.0, self._speed_mps[n]) for n in near)
        self.seen[round(time_s, 3)] = cars
        seems_mps = float(abs(self._rng.normal(0.0, 2.0)))  # monocular depth is noisy
        stands = (vehicle(1, STANDS_M, -0.5, 0.0, seems_mps),) if abs(STANDS_M - ego_m) < SEEN_M else ()
        return (*stands, *cars)

    def _accel(self, gap_m: np.ndarray, ahead_mps: np.ndarray | float) -> np.ndarray:
        return follow_mps2(self._speed_mps, self._free_mps, gap_m, ahead_mps)


STANDS_M, SEEN_M = 330.0, 75.0
"""Where a vehicle stands on the motorway, and from how far the ego sees it."""


@pytest.mark.parametrize(("speed_mps", "seed"), [(18.0, 1), (18.0, 2), (16.7, 2), (16.7, 4)])
def test_it_passes_what_stands_on_a_motorway_through_a_gap_beside_it_without_a_stop(
    speed_mps: float, seed: int
) -> None:
    right, left = straight(key(0), 0, 0, 0, 700.0), straight(key(0, -2), 0, 3.5, 0, 700.0)
    graph = join([replace(lane, speed_limit_mps=18.0) for lane in beside(right, left)])
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(690.0, 0, 0))
    traffic = TrafficBeside(planner, (25.0, 45.0), speed_mps, seed)
    log = drive(planner, 60, 15.0, objects=traffic)
    assert log.has_arrived
    assert min(row[3] for row in log.rows if STANDS_M - 100.0 < row[1] < STANDS_M) > 8.0
    stands = vehicle(1, STANDS_M, -0.5, 0.0, 0.0)
    assert clearance_m(log, lambda time_s: (stands, *traffic.seen[round(time_s, 3)])) > 0.5
