"""Closed loop: an ego that turns left meets those who come to the same road."""

from __future__ import annotations

import numpy as np

from av_core.curve import Curve
from av_core.types import ConstraintKind, LaneGraph, ObjectKind, Pose2D, TrackedObject
from tests.planning.closed_loop import ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, end_of, join, key, straight
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import vehicle

NORTH_RAD = 0.5 * np.pi


def joining_turns() -> LaneGraph:
    """A road along y = 0 with a junction from which one to the north, x = 8, begins.

    It is reached by a left turn from the west, and by a right turn from the east.
    """
    west_rad = np.pi
    lanes = [
        straight(key(0), -100, 0, 0, 96),
        straight(key(1), -4, 0, 0, 28, junction=True),
        arc(key(2), -4, 0, 0, 12, NORTH_RAD, junction=True),
        straight(key(3), 8, 12, NORTH_RAD, 200),
        straight(key(4), 24, 0, 0, 100),
        straight(key(10), 424, 3.5, west_rad, 408),
        straight(key(11), 16, 3.5, west_rad, 28, junction=True),
        arc(key(12), 16, 3.5, west_rad, 8, -NORTH_RAD, junction=True),
        straight(key(13), 8, 11.5, NORTH_RAD, 0.5, junction=True),
        straight(key(14), -12, 3.5, west_rad, 100),
    ]
    return join(lanes)


class TurningStream:
    """Oncoming cars that turn right with their speed, as those of the Leaderboard's streams do."""

    def __init__(self, speed_mps: float, spacing_m: tuple[float, float], seed: int) -> None:
        graph = joining_turns()
        self._way = Curve.joined([graph.lanes[key(number)].curve for number in (10, 12, 13, 3)])
        self._speed_mps = speed_mps
        self._from_m = 520.0 - np.cumsum(np.random.default_rng(seed).uniform(*spacing_m, 120))

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        s_m = self._from_m + self._speed_mps * time_s
        near = np.flatnonzero((s_m > 300.0) & (s_m < 560.0))
        x, y, yaw = self._way.pose_at(s_m[near])
        return tuple(vehicle(100 + n, x[i], y[i], yaw[i], self._speed_mps) for i, n in enumerate(near.tolist()))


def test_an_ego_that_turns_left_waits_for_a_gap_of_those_who_turn_right_to_the_same_road() -> None:
    """Only those before them tell that they will turn."""
    planner = ScenePlanner(joining_turns())
    planner.navigate(Pose2D(-70.0, 0.0, 0.0), Pose2D(8.0, 200.0, NORTH_RAD))
    stream = TurningStream(11.0, (30.0, 60.0), seed=1)
    log = drive(planner, 40.0, 8.0, objects=stream)
    on_their_road = log.column(1) > 85.0
    assert on_their_road.any()
    assert clearance_m(log, stream) > 1.0


def test_a_pedestrian_on_the_road_to_which_the_ego_turns_is_not_followed() -> None:
    """The ego turns left by 130 degrees; the pedestrian walks 20 degrees off the west, nearly along its new road."""
    bend = arc(key(1), 60, 0, 0, 12, 2.3, junction=True)
    x_m, y_m, yaw_rad = end_of(bend)
    planner = ScenePlanner(join([straight(key(0), 0, 0, 0, 60), bend, straight(key(2), x_m, y_m, yaw_rad, 80)]))
    end = Pose2D(x_m + 70 * np.cos(yaw_rad), y_m + 70 * np.sin(yaw_rad), yaw_rad)
    planner.navigate(Pose2D(10.0, 0.0, 0.0), end)
    walks_rad = 2.8
    course = np.array([np.cos(walks_rad), np.sin(walks_rad)])
    velocity_mps = float(1.4 * course[0]), float(1.4 * course[1])

    def walker(time_s: float) -> tuple[TrackedObject, ...]:
        x, y = np.array([x_m - 6.23, y_m + 2.48]) + (1.4 * time_s - 20.0) * course
        return (TrackedObject(5, ObjectKind.PEDESTRIAN, float(x), float(y), walks_rad, velocity_mps, 0.5, 0.5, 1.75),)

    log = drive(planner, 25.0, 6.0, objects=walker)
    causes = {plan.constraint.kind for plan in log.plans if plan.constraint and plan.constraint.object_id == "5"}
    assert causes == {ConstraintKind.PEDESTRIAN}
    assert clearance_m(log, walker) > 1.0
