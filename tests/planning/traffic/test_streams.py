"""Closed loop: an ego from a side road crosses or joins a stream whose gaps are too short for a patient one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import LaneGraph, Pose2D, TrackedObject
from tests.planning.closed_loop import Log, ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, join, key, straight
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import vehicle

START, NORTH_RAD = Pose2D(0.0, -80.0, 0.5 * np.pi), 0.5 * np.pi


def side_road(joins: bool) -> LaneGraph:
    """A road to the east, y = 0, and one from the south that joins it at x = 8 m or crosses it at x = 0."""
    lanes = [
        straight(key(10), -400, 0, 0, 388),
        straight(key(11), -12, 0, 0, 24, junction=True),
        straight(key(12), 12, 0, 0, 300),
        straight(key(0), 0, -88, NORTH_RAD, 80),
    ]
    if joins:
        lanes += [
            arc(key(1), 0, -8, NORTH_RAD, 8, -NORTH_RAD, junction=True),
            straight(key(2), 8, 0, 0, 4, junction=True),
        ]
    else:
        lanes += [straight(key(1), 0, -8, NORTH_RAD, 16, junction=True), straight(key(3), 0, 8, NORTH_RAD, 150)]
    return join([replace(lane, speed_limit_mps=16.0) for lane in lanes])


class Stream:
    """Cars on the road to the east that keep their speed whatever the ego does, as those of the Leaderboard's streams.

    The ego's tracks of them are noisy.
    """

    def __init__(self, speed_mps: float, spacing_m: tuple[float, float], seed: int) -> None:
        self._rng, self._speed_mps = np.random.default_rng(seed), speed_mps
        self._from_m = 60.0 - np.cumsum(self._rng.uniform(*spacing_m, 120))

    def cars(self, time_s: float) -> tuple[TrackedObject, ...]:
        """The cars near the junction, where they are."""
        x_m = self._from_m + self._speed_mps * time_s
        near = np.flatnonzero((x_m > -90.0) & (x_m < 120.0)).tolist()
        return tuple(vehicle(100 + n, x_m[n], 0.0, 0.0, self._speed_mps) for n in near)

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        return tuple(self._as_tracked(car) for car in self.cars(time_s))

    def _as_tracked(self, car: TrackedObject) -> TrackedObject:
        along_m, across_m, faster_mps = self._rng.normal(0.0, (0.25, 0.15, 0.2))
        return vehicle(car.track_id, car.x_m + along_m, across_m, 0.0, car.velocity_mps[0] + faster_mps)


def drive_into(joins: bool, speed_mps: float, spacing_m: tuple[float, float], seed: int) -> tuple[Log, Stream]:
    planner = ScenePlanner(side_road(joins))
    planner.navigate(START, Pose2D(200.0, 0.0, 0.0) if joins else Pose2D(0.0, 120.0, NORTH_RAD))
    stream = Stream(speed_mps, spacing_m, seed)
    return drive(planner, 45.0, 8.0, objects=stream), stream


@pytest.mark.parametrize(
    ("joins", "speed_mps", "spacing_m", "seed"), [(True, 11.0, (20.0, 50.0), 4), (False, 16.0, (15.0, 70.0), 2)]
)
def test_an_impatient_ego_gets_through_a_dense_stream(
    joins: bool, speed_mps: float, spacing_m: tuple[float, float], seed: int
) -> None:
    log, stream = drive_into(joins, speed_mps, spacing_m, seed)
    assert log.column(1).max() > 100.0, "it is through"
    assert clearance_m(log, stream.cars) > 1.0


@pytest.mark.parametrize("sets_off_s", np.arange(8.0, 14.0, 0.5).tolist())
def test_the_ego_does_not_drive_into_a_car_that_sets_off(sets_off_s: float) -> None:
    """A car that stood before the junction sets off while the ego waits or joins; for a moment it is slow."""

    def starter(time_s: float) -> tuple[TrackedObject, ...]:
        driving_s = max(time_s - sets_off_s, 0.0)
        faster_s = min(driving_s, 2.7)
        speed_mps = 3.0 * faster_s
        x_m = -16.0 + 1.5 * faster_s**2 + speed_mps * (driving_s - faster_s)
        return (vehicle(7, x_m, 0.0, 0.0, speed_mps),)

    planner = ScenePlanner(side_road(joins=True))
    planner.navigate(START, Pose2D(200.0, 0.0, 0.0))
    log = drive(planner, sets_off_s + 8.0, 8.0, objects=starter)
    assert clearance_m(log, starter) > 0.3
