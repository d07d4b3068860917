"""Closed loop: an ego that is stuck before an oncoming driver, who stops before it, backs up and lets it pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import Manoeuvre, Pose2D, PredictedObject, Prediction, Stamp, TrackedObject
from planning.backing_up import BackingUp, Where
from planning.local.occupancy import Body
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, DT_S, Log, ScenePlanner, drive, ego_state, follow_mps2
from tests.planning.local.test_passing import clearance_m, manoeuvres, outline, two_way_road
from tests.planning.test_traffic import clearance, on_long_road, vehicle

SPEED_MPS, SEEN_M, LENGTH_M, WIDTH_M = 11.0, 50.0, 4.5, 1.9
OBSTACLE = replace(vehicle(1, 45.0, 0.0, 0.0, 0.0), length_m=18.0)


class Oncoming:
    """Drivers in a row who come the other way, and stop before an ego in their lane; the ego sees those near it."""

    def __init__(self, first_m: float, headway_s: float, count: int) -> None:
        self._x_m = first_m + np.arange(count) * headway_s * SPEED_MPS
        self._speed_mps = np.full(count, SPEED_MPS)
        self._seen: dict[float, tuple[TrackedObject, ...]] = {}
        self._ego_x_m = 0.0

    def step(self, ego: VehicleState) -> None:
        """Drive on for one step; the ego is where it is now."""
        self._ego_x_m = ego.x_m
        ahead_m = np.append(-np.inf, self._x_m[:-1]) + LENGTH_M
        ahead_mps = np.append(SPEED_MPS, self._speed_mps[:-1])
        centre_m = CAR.rear_axle_to_centre_m
        x_m, y_m = ego.x_m + centre_m * np.cos(ego.yaw_rad), ego.y_m + centre_m * np.sin(ego.yaw_rad)
        body = outline(x_m, y_m, ego.yaw_rad, CAR.length_m, CAR.width_m)
        in_lane = body[np.abs(body[:, 1] - 3.5) < 0.5 * WIDTH_M + 0.2]
        if len(in_lane):
            front_m = float(in_lane[:, 0].max()) + 0.5 * LENGTH_M
            comes = (self._x_m > front_m) & (front_m > ahead_m)
            ahead_m, ahead_mps = np.where(comes, front_m, ahead_m), np.where(comes, 0.0, ahead_mps)
        accel = np.clip(follow_mps2(self._speed_mps, SPEED_MPS, self._x_m - ahead_m, ahead_mps, 2.0), -8.0, 2.0)
        self._speed_mps = np.maximum(self._speed_mps + accel * DT_S, 0.0)
        self._x_m = self._x_m - self._speed_mps * DT_S

    def seen(self, time_s: float) -> tuple[TrackedObject, ...]:
        if time_s not in self._seen:
            near = np.flatnonzero(np.abs(self._x_m - self._ego_x_m) < SEEN_M).tolist()
            cars = (vehicle(10 + n, float(self._x_m[n]), 3.5, np.pi, float(self._speed_mps[n])) for n in near)
            self._seen[time_s] = (OBSTACLE, *cars)
        return self._seen[time_s]


def meet(oncoming: Oncoming, seconds: float) -> Log:
    planner = ScenePlanner(two_way_road())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(200.0, 0, 0))
    return drive(planner, seconds, 0.0, objects=oncoming.seen, watch=oncoming.step)


def test_an_ego_before_an_oncoming_driver_backs_up_and_passes_later() -> None:
    oncoming = Oncoming(first_m=95.0, headway_s=6.0, count=3)
    log = meet(oncoming, 60.0)
    assert Manoeuvre.BACK_UP in manoeuvres(log), "they met"
    assert log.column(3).min() < -0.5
    assert log.has_arrived
    assert clearance_m(log, oncoming.seen) > 0.3


def test_an_ego_that_just_waits_stays_where_it_is() -> None:
    oncoming = Oncoming(first_m=60.0, headway_s=2.5, count=20)
    log = meet(oncoming, 30.0)
    assert Manoeuvre.BACK_UP not in manoeuvres(log)
    assert log.column(3).min() > -0.05


def test_an_ego_that_cannot_get_back_gives_up() -> None:
    """It has come 10 m and is stuck; a car stops right behind it as soon as it backs up."""
    backing_up, stuck = BackingUp(Body(3.8, 1.0, 1.9)), Where(1.0, 0.3, 2.0, is_in_their_way=True, wants_to_pass=True)
    reversed_s: list[float] = []
    for frame, time_s in enumerate(np.arange(0.0, 30.0, DT_S).tolist()):
        state = VehicleState(min(2.0 * time_s, 10.0), 0.0, 0.0, 2.0 if time_s < 5.0 else 0.0)
        behind = (vehicle(5, state.x_m - 4.5, 0.0, 0.0, 0.0),) if reversed_s else ()
        ego = ego_state(state, Stamp(frame, time_s))
        prediction = Prediction(ego.stamp, np.arange(3.0), tuple(PredictedObject(one) for one in behind))
        where = stuck if time_s > 5.0 else replace(stuck, wants_to_pass=False)
        if backing_up.update(ego, ego.stamp, where, prediction) is not None:
            reversed_s.append(time_s)
    assert 8.9 < reversed_s[0] < 9.2
    assert 3.9 < reversed_s[-1] - reversed_s[0] < 4.2


def test_one_that_goes_out_of_sight_right_behind_the_ego_is_not_touched() -> None:
    """On obstacles 8 the ego backed up into a car that its radars had lost 2 m behind it."""
    backing_up, stuck = BackingUp(Body(3.8, 1.0, 1.9)), Where(1.0, 0.3, 2.0, is_in_their_way=True, wants_to_pass=True)
    state, rear_m = VehicleState(0.0, 0.0, 0.0, 2.0), 5.5
    for frame, time_s in enumerate(np.arange(0.0, 40.0, DT_S).tolist()):
        gap_m = state.x_m - 1.0 - rear_m
        car = vehicle(5, rear_m - 2.25, 0.0, 0.0, 0.0)
        seen = (PredictedObject(car),) if time_s > 5.0 and gap_m > 2.6 else ()
        ego = ego_state(state, Stamp(frame, time_s))
        where = stuck if time_s > 5.0 else replace(stuck, wants_to_pass=False)
        back = backing_up.update(ego, ego.stamp, where, Prediction(ego.stamp, np.arange(3.0), seen))
        speed_mps = 2.0 if time_s < 5.0 else 0.0 if back is None else -abs(float(back.speed_mps[1]))
        state = replace(state, x_m=state.x_m + speed_mps * DT_S, speed_mps=speed_mps)
        assert time_s < 5.0 or gap_m > 0.8
    assert gap_m < 5.0, "it backed up"


@pytest.mark.parametrize(("beside_m", "backs_up"), [(2.1, False), (2.5, True)])
def test_the_way_back_keeps_clear_of_who_stands_beside_it(beside_m: float, backs_up: bool) -> None:
    """On obstacles 2 the ego touched a car with its rear corner: the radar saw it 0.3 m farther away than it was."""
    backing_up, stuck = BackingUp(Body(3.8, 1.0, 1.9)), Where(1.0, 0.3, 2.0, is_in_their_way=True, wants_to_pass=True)
    backed_up = False
    for frame, time_s in enumerate(np.arange(0.0, 12.0, DT_S).tolist()):
        state = VehicleState(min(2.0 * time_s, 10.0), 0.0, 0.0, 2.0 if time_s < 5.0 else 0.0)
        ego = ego_state(state, Stamp(frame, time_s))
        car = PredictedObject(vehicle(5, 6.5, beside_m, 0.0, 0.0))
        where = stuck if time_s > 5.0 else replace(stuck, wants_to_pass=False)
        backed_up |= backing_up.update(ego, ego.stamp, where, Prediction(ego.stamp, np.arange(3.0), (car,))) is not None
    assert backed_up is backs_up


def cross_stream(time_s: float, gap_m: float, speed_mps: float) -> tuple[TrackedObject, ...]:
    """Cars that cross a straight road from left to right, one after the other, for ever."""
    first = int(speed_mps * time_s // gap_m)
    return tuple(
        vehicle(i, 60.0, gap_m * i - speed_mps * time_s, -0.5 * np.pi, speed_mps) for i in range(first - 2, first + 4)
    )


@pytest.mark.parametrize(("gap_m", "speed_mps"), [(22.0, 9.0), (34.0, 16.0)])
def test_an_ego_without_patience_takes_a_run_up_before_a_stream(gap_m: float, speed_mps: float) -> None:
    """From 2 m before the stream it needs 26 m and 36 m: it would wait for ever."""
    log = drive(on_long_road(), 45.0, 10.0, objects=lambda time_s: cross_stream(time_s, gap_m, speed_mps))
    assert Manoeuvre.BACK_UP in manoeuvres(log)
    assert log.column(1)[-1] > 70.0
    assert clearance(log, [list(cross_stream(time_s, gap_m, speed_mps)) for time_s in log.column(0)]) > 1.5
