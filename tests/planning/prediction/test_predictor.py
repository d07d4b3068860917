"""The prediction stage: which modes a road user gets, and where they lead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import LaneGraph, LaneKey, ObjectKind, Prediction, Signal, SignalKind, Stamp, TrackedObject
from planning import Predictor
from planning.config import PredictionConfig
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import ego_state, scene_of
from tests.planning.lanes_by_hand import arc, beside, join, key, straight

STAMP = Stamp(3, 0.15)


def fork(*signals: Signal) -> LaneGraph:
    """A lane of 100 m to the east, then straight on or to the left through a junction."""
    return join(
        [
            straight(key(0), 0, 0, 0, 100),
            straight(key(1), 100, 0, 0, 40, junction=True),
            arc(key(2), 100, 0, 0, 15, np.pi / 2, junction=True),
        ],
        signals,
    )


def thing(
    x: float, y: float, velocity: tuple[float, float], kind: ObjectKind = ObjectKind.CAR, yaw: float = 0.0
) -> TrackedObject:
    return TrackedObject(7, kind, x, y, yaw, velocity, 4.5, 1.9, 1.5)


def predicted(graph: LaneGraph, *objects: TrackedObject, config: PredictionConfig | None = None) -> Prediction:
    ego = ego_state(VehicleState(0.0, 0.0, 0.0, 0.0), STAMP)
    return Predictor(graph, config).predict(scene_of(ego, objects, {}))


def test_every_object_of_the_scene_is_there_in_its_order_with_the_times() -> None:
    parked, car = thing(20.0, 0.0, (0.2, 0.0)), thing(50.0, 0.0, (8.0, 0.0))
    prediction = predicted(fork(), parked, car, config=PredictionConfig(horizon_s=3.0, step_s=0.5))
    assert prediction.stamp == STAMP
    assert prediction.times_s.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
    assert prediction.horizon_s == 3.0
    assert [(one.item.x_m, len(one.modes)) for one in prediction.objects] == [(20.0, 0), (50.0, 1)]
    assert predicted(fork()).objects == ()


def test_a_vehicle_follows_its_lane_and_the_straightest_way_at_a_fork() -> None:
    (one,) = predicted(fork(), thing(80.0, 0.3, (10.0, 0.0))).objects
    (mode,) = one.modes
    assert np.allclose(mode.x_m, 80.0 + 10.0 * np.arange(0.0, 5.01, 0.25))
    assert np.allclose(mode.y_m, 0.3)
    assert mode.on_approach
    assert not mode.must_yield


@pytest.mark.parametrize(("x_m", "speed_mps", "can_stop"), [(80.0, 10.0, True), (80.0, 16.0, False), (97.0, 1.0, True)])
def test_who_can_no_longer_stop_before_the_junction_is_not_on_approach(
    x_m: float, speed_mps: float, can_stop: bool
) -> None:
    (one,) = predicted(fork(), thing(x_m, 0.0, (speed_mps, 0.0))).objects
    assert [mode.on_approach for mode in one.modes] == [can_stop]


def test_a_vehicle_in_a_bend_follows_it() -> None:
    (one,) = predicted(fork(), thing(110.6, 4.4, (7.1, 7.1), yaw=np.pi / 4)).objects
    mode = one.modes[0]
    assert not mode.on_approach
    assert mode.yaw_rad[0] == pytest.approx(np.pi / 4, abs=0.05)
    assert mode.yaw_rad[-1] == pytest.approx(np.pi / 2, abs=0.01)
    assert np.allclose(mode.x_m[-3:], 115.0, atol=0.1)


@pytest.mark.parametrize("lane", [key(0), key(1)])
def test_who_comes_to_a_sign_must_yield(lane: LaneKey) -> None:
    graph = fork(Signal("3", SignalKind.YIELD, lane, 0.0))
    approaching, inside = predicted(graph, thing(80.0, 0.0, (10.0, 0.0)), thing(120.0, 0.0, (10.0, 0.0))).objects
    assert [mode.must_yield for mode in approaching.modes] == [True]
    assert [mode.must_yield for mode in inside.modes] == [False]


def test_who_changes_lane_may_also_keep_its_velocity() -> None:
    graph = join(beside(straight(key(0, -2), 0, 0, 0, 200), straight(key(0, -1), 0, 3.5, 0, 200)))
    (one,) = predicted(graph, thing(50.0, 0.8, (10.0, 1.0))).objects
    moving, along = one.modes
    assert moving.y_m[-1] == pytest.approx(0.8 + 5.0)
    assert np.allclose(along.y_m, 0.8)


@pytest.mark.parametrize(("x_m", "sigma_mps", "may_leave"), [(50, 0.3, True), (50, 0.5, False), (20, 0.5, True)])
def test_a_far_vehicle_leaves_its_lane_if_that_is_no_error_of_its_track(
    x_m: float, sigma_mps: float, may_leave: bool
) -> None:
    covariance = np.diag([4.0, 0.1, 4.0, sigma_mps**2])
    (one,) = predicted(fork(), replace(thing(x_m, 0.0, (10.0, 1.0)), covariance=covariance)).objects
    assert (len(one.modes) == 2) is may_leave


@pytest.mark.parametrize(("along_m", "may_leave"), [(0.5, True), (3.0, False)])
def test_in_a_bend_an_error_along_the_lane_counts_as_well(along_m: float, may_leave: bool) -> None:
    graph = join([arc(key(0), 30, 0, 0, 30, np.pi / 2)])
    course = np.pi / 4 + 0.15  # in the middle of the bend, whose heading is 45 degrees
    place = 30.0 + 30.0 * np.sin(np.pi / 4), 30.0 * (1.0 - np.cos(np.pi / 4))
    item = thing(*place, (8.0 * np.cos(course), 8.0 * np.sin(course)), yaw=course)
    covariance = np.diag([along_m**2, along_m**2, 0.01, 0.01])
    (one,) = predicted(graph, replace(item, covariance=covariance)).objects
    assert (len(one.modes) == 2) is may_leave


@pytest.mark.parametrize("item", [thing(50.0, 0.0, (1.0, 1.0), ObjectKind.PEDESTRIAN), thing(50.0, 30.0, (3.0, 1.0))])
def test_pedestrians_and_vehicles_off_the_lanes_keep_their_velocity(item: TrackedObject) -> None:
    (one,) = predicted(fork(), item).objects
    (mode,) = one.modes
    assert mode.x_m[-1] == pytest.approx(50.0 + 5.0 * item.velocity_mps[0])
    assert mode.y_m[-1] == pytest.approx(item.y_m + 5.0 * item.velocity_mps[1])
    assert not mode.on_approach


@settings(deadline=None)
@given(st.sampled_from(ObjectKind), st.floats(-80, 80), st.floats(-80, 80), st.floats(-3.1, 3.1))
def test_no_velocity_is_more_than_the_kind_can_do(kind: ObjectKind, vx: float, vy: float, yaw: float) -> None:
    (one,) = predicted(fork(), thing(50.0, 0.0, (vx, vy), kind, yaw)).objects
    velocity, config = np.array(one.item.velocity_mps), PredictionConfig()
    assert np.hypot(*velocity) <= np.hypot(vx, vy) + 1e-9
    if kind is ObjectKind.PEDESTRIAN:
        assert one.item.speed_mps <= config.walker_fastest_mps + 1e-9
    else:
        ahead, left = np.array([np.cos(yaw), np.sin(yaw)]), np.array([-np.sin(yaw), np.cos(yaw)])
        assert abs(velocity @ left) <= config.vehicle_slip_max * abs(velocity @ ahead) + 1e-9
    assert bool(one.modes) == (one.item.speed_mps > config.moving_speed_mps)
    for mode in one.modes:
        assert np.isfinite([mode.x_m, mode.y_m, mode.yaw_rad]).all()
        assert (mode.x_m[0], mode.y_m[0]) == pytest.approx((50.0, 0.0), abs=1e-6)


def test_objects_are_predicted_independently_of_each_other() -> None:
    """So the planner may look at some of them only."""
    rng = np.random.default_rng(5)
    draws = rng.uniform((0, -20, -9, -9), (140, 20, 9, 9), (30, 4)).tolist()
    many = [replace(thing(x, y, (vx, vy), yaw=0.1), track_id=n) for n, (x, y, vx, vy) in enumerate(draws)]
    together = predicted(fork(), *many).objects
    for item, among in zip(many, together, strict=True):
        (alone,) = predicted(fork(), item).objects
        assert alone.item == among.item
        for one, other in zip(alone.modes, among.modes, strict=True):
            assert np.array_equal([one.x_m, one.y_m, one.yaw_rad], [other.x_m, other.y_m, other.yaw_rad])


@pytest.mark.parametrize(("speed_mps", "ways"), [(5.0, 2), (16.0, 2), (22.0, 1)])
def test_a_vehicle_that_is_too_fast_for_a_turn_goes_straight_on(speed_mps: float, ways: int) -> None:
    """At the beginning of the turn it could follow both lanes; its radius is 15 m."""
    (one,) = predicted(fork(), thing(102.0, 0.0, (speed_mps, 0.0))).objects
    assert len(one.modes) == ways
    assert max(abs(float(mode.y_m[8])) for mode in one.modes) > 2.0 if ways == 2 else abs(one.modes[0].y_m[-1]) < 0.1


def test_a_vehicle_that_is_too_fast_for_every_lane_follows_the_one_on_which_it_is() -> None:
    bend = join([arc(key(0), 0, 0, 0, 15, np.pi / 2)])
    (one,) = predicted(bend, thing(3.0, 0.3, (24.0, 4.5), yaw=0.19)).objects
    assert any(abs(float(mode.yaw_rad[4])) > 0.5 for mode in one.modes)
