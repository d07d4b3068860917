"""Which crossing vehicles the ego gives way to, before and after it has lost its patience."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import (
    Constraint,
    ConstraintKind,
    LaneGraph,
    ObjectKind,
    Pose2D,
    PredictedMode,
    PredictedObject,
    Prediction,
    Stamp,
    TrackedObject,
)
from planning import Predictor, find_route
from planning.config import BehaviorConfig, PredictionConfig, SpeedConfig
from planning.junctions.entry import Junction
from planning.signals import EgoOnRoute
from planning.speed import SpeedCeiling, SpeedReference, backward_pass, forward_times
from planning.traffic import waiting_place
from planning.traffic.behavior import Constraints, TrafficBehavior
from planning.traffic.conflicts import Conflict, conflicts_of
from planning.traffic.corridor import corridor_of
from planning.traffic.ego_plan import EgoPlan
from planning.traffic.speeding_up import SpeedingUp
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, ego_state, scene_of
from tests.planning.lanes_by_hand import join, key, straight

REAR_M = 0.5 * CAR.length_m - CAR.rear_axle_to_centre_m
FRONT_M = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m
CROSSING_M = 70.0
WAITS_M = CROSSING_M - 8.0
"""Where the ego's front waits, as arc length."""


def crossing() -> LaneGraph:
    """A road east, which a road north crosses at x = 70 m."""
    lanes = [straight(key(number), x, 0, 0, 60, junction=number == 1) for number, x in enumerate((0, 60, 120))]
    lanes += [
        straight(key(10 + number), CROSSING_M, y, 0.5 * np.pi, length, junction=number == 1)
        for number, (y, length) in enumerate(((-70, 60), (-10, 25), (15, 60)))
    ]
    return join(lanes)


def northward(y_m: float, speed_mps: float) -> TrackedObject:
    return TrackedObject(9, ObjectKind.CAR, CROSSING_M, y_m, 0.5 * np.pi, (0.0, speed_mps), 4.6, 1.9, 1.5)


def decision(
    other: TrackedObject,
    impatience: float,
    yielding_to: frozenset[int] = frozenset(),
    ego_mps: float = 0.0,
    speeding_up: frozenset[int] = frozenset(),
    s_m: float = WAITS_M - FRONT_M,
    ways: Callable[[Prediction], tuple[PredictedMode, ...]] = lambda prediction: prediction.objects[0].modes,
    next_one: tuple[TrackedObject, ...] = (),
) -> Constraints:
    """What an ego, with its front at WAITS_M, decides about one vehicle, which may take the `ways`, and the next."""
    graph = crossing()
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(170, 0, 0))
    ego = EgoOnRoute(s_m, ego_mps, FRONT_M, REAR_M, 0.0, impatience)
    free = SpeedCeiling(
        s_m + np.arange(160, dtype=np.float64) * 0.5,
        np.full(160, 12.0),
        lambda _: Constraint(ConstraintKind.SPEED_LIMIT),
    )
    reference = backward_pass(free, SpeedConfig())
    times_s = forward_times(reference, ego_mps, 170.0, SpeedConfig())
    scene = scene_of(ego_state(VehicleState(s_m, 0.0, 0.0, ego_mps), Stamp(0, 0.0)), (other, *next_one), {})
    behavior = TrafficBehavior(CAR.width_m, BehaviorConfig())
    prediction = Predictor(graph).predict(scene)
    first, *others = prediction.objects
    prediction = replace(prediction, objects=(replace(first, modes=ways(prediction)), *others))
    return behavior.constraints(route, ego, prediction, reference, times_s, yielding_to, speeding_up=speeding_up)


@pytest.mark.parametrize(("y_m", "speed_mps"), [(-33.0, 10.0), (-20.3, 6.1), (-41.7, 13.3)])
def test_a_conflict_begins_and_ends_when_the_vehicle_is_at_the_corridor(y_m: float, speed_mps: float) -> None:
    """To 20 ms, though its way is predicted in steps of 250 ms."""
    graph, config = crossing(), BehaviorConfig()
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(170, 0, 0))
    corridor = corridor_of(route, 40.0, 100.0, CAR.width_m, FRONT_M, 2)
    times_s = np.arange(0.0, 8.0, PredictionConfig().step_s)
    scene = scene_of(ego_state(VehicleState(40.0, 0.0, 0.0, 0.0), Stamp(0, 0.0)), (northward(y_m, speed_mps),), {})
    predictor = Predictor(graph, PredictionConfig(horizon_s=8.0))
    (conflict,) = conflicts_of(corridor, predictor.predict(scene).objects, times_s, config)
    reach_m = 0.5 * (CAR.width_m + 4.6) + config.corridor_margin_m
    assert conflict.enter_s == pytest.approx((-y_m - reach_m) / speed_mps, abs=0.02)
    assert conflict.leave_s == pytest.approx((-y_m + reach_m) / speed_mps, abs=0.02)


@pytest.mark.parametrize("phase_s", np.arange(0.0, 0.25, 0.05).tolist())
def test_a_close_look_finds_the_place_of_a_conflict_from_any_step(phase_s: float) -> None:
    """To 0.5 m, for a car that comes at 135 degrees and drives 4 m in a step of the prediction."""
    route, config, turn = find_route(crossing(), Pose2D(0, 0, 0), Pose2D(170, 0, 0)), BehaviorConfig(), 0.75 * np.pi
    corridor = corridor_of(route, 40.0, 100.0, CAR.width_m, FRONT_M, 2)
    times_s = np.arange(0.0, 5.01, PredictionConfig().step_s)
    driven_m = 16.0 * (times_s + phase_s) - 40.0
    x_m, y_m = CROSSING_M + driven_m * np.cos(turn), driven_m * np.sin(turn)
    velocity = (16.0 * float(np.cos(turn)), 16.0 * float(np.sin(turn)))
    car = TrackedObject(9, ObjectKind.CAR, float(x_m[0]), float(y_m[0]), turn, velocity, 4.6, 1.9, 1.5)
    mode = PredictedMode(x_m, y_m, np.full_like(x_m, turn))
    (conflict,) = conflicts_of(corridor, [PredictedObject(car, (mode,))], times_s, config, closely=True)
    half_m = 0.5 * CAR.width_m + config.corridor_margin_m
    reach_m = (0.5 * 1.9 + half_m * abs(np.cos(turn))) / np.sin(turn)
    assert conflict.low_s_m == pytest.approx(CROSSING_M - reach_m, abs=0.5)
    assert conflict.high_s_m == pytest.approx(CROSSING_M + reach_m, abs=0.5)
    (roughly,) = conflicts_of(corridor, [PredictedObject(car, (mode,))], times_s, config)
    assert conflict.enter_s == pytest.approx(roughly.enter_s, abs=0.1)
    assert conflict.leave_s == pytest.approx(roughly.leave_s, abs=0.1)


def smallest_distance_m(impatience: float, yielding_to: frozenset[int] = frozenset(), ego_mps: float = 0.0) -> float:
    """How near a vehicle at 11 m/s may be for the ego to go before it."""
    low, high = 0.0, 80.0
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        gives_way = bool(decision(northward(-middle, 11.0), impatience, yielding_to, ego_mps).yielding_to)
        low, high = (middle, high) if gives_way else (low, middle)
    return high


def test_who_waits_wants_a_larger_gap_and_who_has_lost_patience_a_smaller_one() -> None:
    waiting = frozenset({9})
    patient_m, waiting_m, impatient_m = (
        smallest_distance_m(0.0), smallest_distance_m(0.0, waiting), smallest_distance_m(1.0, waiting),
    )  # fmt: skip
    assert patient_m - impatient_m == pytest.approx((0.7 - 0.4) * 11.0, abs=0.2), "the times before a crossing vehicle"
    assert patient_m + 4.0 < waiting_m


def test_a_start_into_a_gap_is_not_given_up_for_a_little() -> None:
    """An ego that has started gives way only where the gap is shorter by 0.25 s than the one that it takes."""
    waits_m = smallest_distance_m(1.0, frozenset({9}), ego_mps=1.0)
    assert smallest_distance_m(1.0, ego_mps=1.0) == pytest.approx(waits_m - 0.25 * 11.0, abs=0.2)


def test_a_vehicle_that_is_first_seen_gets_the_whole_time_of_an_ego_that_stands() -> None:
    assert smallest_distance_m(1.0) == pytest.approx(smallest_distance_m(1.0, frozenset({9})), abs=0.2)


def test_the_ego_waits_for_one_that_gains_speed_and_would_else_come_too_late_to_matter() -> None:
    other = northward(-smallest_distance_m(0.0) - 1.0, 11.0)
    assert not decision(other, 0.0).yielding_to
    assert decision(other, 0.0, speeding_up=frozenset({9})).yielding_to == {9}


def test_a_late_stop_is_as_far_behind_as_the_speed_profile_may_pass_it() -> None:
    assert SpeedConfig().emergency_room_m == waiting_place.PASSED_M


@pytest.mark.parametrize(("y_m", "speed_mps", "waits"), [(-9.0, 3.0, True), (-9.0, 4.5, True), (-16.0, 7.0, False)])
def test_a_slow_vehicle_that_can_stop_waits_for_an_impatient_ego(y_m: float, speed_mps: float, waits: bool) -> None:
    other = northward(y_m, speed_mps)
    assert decision(other, 0.9).yielding_to == {9}
    assert bool(decision(other, 1.0).yielding_to) == (not waits)


def test_a_slow_vehicle_that_sets_off_is_let_pass_also_by_an_ego_that_has_started() -> None:
    assert not decision(northward(-9.0, 3.0), 1.0, ego_mps=1.0).yielding_to
    assert decision(northward(-9.0, 3.0), 1.0, ego_mps=1.0, speeding_up=frozenset({9})).yielding_to == {9}


def test_an_impatient_ego_waits_behind_a_fast_car_until_it_sees_whether_another_follows() -> None:
    """A car of the stream on obstacles 71 was hidden behind the one before, and the ego had to give up its start."""
    crosses, follows = northward(-4.0, 16.0), replace(northward(-76.0, 16.0), track_id=10)
    assert decision(crosses, 1.0).yielding_to == {9}
    assert not decision(crosses, 1.0, next_one=(follows,)).yielding_to
    assert not decision(northward(6.0, 16.0), 1.0).yielding_to
    assert not decision(crosses, 0.0, ego_mps=3.0).yielding_to


def test_who_gets_faster_by_more_than_the_scatter_of_a_track_gains_speed() -> None:
    speeding_up = SpeedingUp()
    found = [speeding_up.update(0.05 * n, (northward(-9.0, max(0.0, 0.1 * n - 0.5)),)) for n in range(30)]
    slowing = [speeding_up.update(1.5 + 0.05 * n, (northward(-9.0, 2.4),)) for n in range(30)]
    assert [bool(ids) for ids in found] == [n > 15 for n in range(30)]
    assert slowing[-1] == frozenset()


def test_a_slow_vehicle_that_can_no_longer_stop_is_let_pass() -> None:
    assert decision(northward(-4.0, 3.0), 1.0).yielding_to == {9}


@pytest.mark.parametrize("impatience", [0.0, 1.0])
@pytest.mark.parametrize(("kind", "brakes"), [(ObjectKind.BICYCLE, True), (ObjectKind.CAR, False)])
def test_for_a_bicycle_it_brakes_though_it_cannot_halt_before_it(
    kind: ObjectKind, brakes: bool, impatience: float
) -> None:
    """At 13 m/s and 8 m before its way, the ego would be there together with it."""
    other = replace(northward(-3.5, 3.0), kind=kind, length_m=1.8, width_m=0.6)
    assert bool(decision(other, impatience, ego_mps=13.0).yielding_to) is brakes


@pytest.mark.parametrize(
    ("low_m", "has_light", "place_m"), [(67.5, True, 62.3), (67.5, False, 61.7), (69.0, True, 63.2), (66.5, True, 60.7)]
)
def test_an_ego_that_waits_in_a_junction_gets_its_tail_off_the_line_of_the_light(
    low_m: float, has_light: bool, place_m: float
) -> None:
    """The light turned red while it waited for oncoming cars, and the judge found the line at its tail."""
    route = find_route(crossing(), Pose2D(0, 0, 0), Pose2D(170, 0, 0))
    ego = EgoOnRoute(57.0, 1.0, FRONT_M, REAR_M, 0.0)
    reference = SpeedReference(np.array([57.0, 80.0]), np.array([1.0, 1.0]), np.zeros(2, np.int64))
    plan = EgoPlan(route, ego, reference, np.array([0.0, 23.0]), frozenset())
    oncoming = TrackedObject(9, ObjectKind.CAR, 90.0, 3.5, np.pi, (-8.0, 0.0), 4.6, 1.9, 1.5)
    conflict = Conflict(oncoming, low_m, low_m + 5.0, 2.0, 3.0, low_m + 3.0, 2.3, -8.0, 0.0, False, False, False)
    junction = Junction(60.0, 85.0, 56.0, np.inf, np.inf, has_light)
    assert waiting_place.waiting_place_m(conflict, plan, [junction], BehaviorConfig()) == pytest.approx(place_m)


@pytest.mark.parametrize(("front_m", "speed_mps", "stops"), [(59.0, 0.6, True), (59.0, 2.0, True), (59.9, 2.0, False)])
def test_a_start_that_is_given_up_before_the_line_ends_there(front_m: float, speed_mps: float, stops: bool) -> None:
    """On obstacles 85 an ego that had moved by 2 cm from its place rolled on into the junction, to the next one."""
    route = find_route(crossing(), Pose2D(0, 0, 0), Pose2D(170, 0, 0))
    ego = EgoOnRoute(front_m - FRONT_M, speed_mps, FRONT_M, REAR_M, 0.0)
    reference = SpeedReference(np.array([50.0, 80.0]), np.array([1.0, 1.0]), np.zeros(2, np.int64))
    plan = EgoPlan(route, ego, reference, np.array([0.0, 30.0]), frozenset())
    conflict = Conflict(northward(-9.0, 4.0), 68.0, 72.0, 2.0, 3.0, 69.0, 1.0, 0.0, 0.0, False, False, False)
    junction = Junction(60.0, 85.0, 56.0, 64.0, 85.0, has_light=False)
    place_m = ego.braked_s_m(3.0) if stops else 64.0 - FRONT_M
    assert waiting_place.waiting_place_m(conflict, plan, [junction], BehaviorConfig()) == pytest.approx(place_m)


@pytest.mark.parametrize(
    ("low_m", "speed_mps", "yields", "place_m"),
    [(63.5, 0.0, True, 57.0), (63.5, 0.0, False, 57.7), (63.5, 1.0, True, 57.7), (64.5, 0.0, True, 58.7)],
)
def test_an_ego_that_stands_and_waits_does_not_move_up_by_a_little(
    low_m: float, speed_mps: float, yields: bool, place_m: float
) -> None:
    """The place of a conflict with a car at 16 m/s jumped by 0.8 m: the ego pulled and braked twice a second."""
    route = find_route(crossing(), Pose2D(0, 0, 0), Pose2D(170, 0, 0))
    reference = SpeedReference(np.array([57.0, 80.0]), np.array([1.0, 1.0]), np.zeros(2, np.int64))
    ego, ids = EgoOnRoute(57.0, speed_mps, FRONT_M, REAR_M, 0.0), frozenset({9} if yields else ())
    plan = EgoPlan(route, ego, reference, np.array([0.0, 23.0]), ids)
    oncoming = TrackedObject(9, ObjectKind.CAR, 90.0, 3.5, np.pi, (-8.0, 0.0), 4.6, 1.9, 1.5)
    conflict = Conflict(oncoming, low_m, low_m + 5.0, 2.0, 3.0, low_m + 3.0, 2.3, -8.0, 0.0, False, False, False)
    assert waiting_place.waiting_place_m(conflict, plan, [], BehaviorConfig()) == pytest.approx(place_m)


def test_an_ego_that_stands_on_the_way_of_a_vehicle_stays_there_until_it_has_passed() -> None:
    """It set off towards a car that turned past its front, and touched it (obstacles 35)."""
    assert decision(northward(-9.0, 8.0), 1.0, s_m=CROSSING_M + 0.5 - FRONT_M).yielding_to == {9}
    assert not decision(northward(-60.0, 8.0), 1.0, s_m=CROSSING_M + 0.5 - FRONT_M).yielding_to


def turning_east(prediction: Prediction) -> PredictedMode:
    """The way of the northward vehicle if it turns onto the ego's road, on an arc of 10 m."""
    item, radius_m = prediction.objects[0].item, 10.0
    driven_m = item.y_m + radius_m + item.speed_mps * prediction.times_s
    angle = np.clip(driven_m / radius_m, 0.0, 0.5 * np.pi)
    beyond_m = np.maximum(driven_m - 0.5 * np.pi * radius_m, 0.0)
    x_m = item.x_m + radius_m * (1.0 - np.cos(angle)) + beyond_m
    y_m = -radius_m + np.minimum(driven_m, 0.0) + radius_m * np.sin(angle)
    return PredictedMode(x_m, y_m, 0.5 * np.pi - angle)


@pytest.mark.parametrize(("names", "gives_way"), [("both", False), ("straight", False), ("turning", True)])
def test_an_ego_on_the_way_of_a_vehicle_gets_out_of_it(names: str, gives_way: bool) -> None:
    """It stopped there for another way of the same vehicle, which then came straight on (obstacles 46 and 49)."""

    def ways(prediction: Prediction) -> tuple[PredictedMode, ...]:
        straight_on, turns = prediction.objects[0].modes[0], turning_east(prediction)
        return {"both": (straight_on, turns), "straight": (straight_on,), "turning": (turns,)}[names]

    found = decision(northward(-10.0, 9.0), 1.0, ego_mps=5.0, s_m=CROSSING_M - 0.5 - FRONT_M, ways=ways)
    assert bool(found.stops or found.caps or found.leaders) is gives_way


@pytest.mark.parametrize(
    ("kind", "y_m", "speed_mps", "is_slower"),
    [
        (ObjectKind.BICYCLE, -2.7, 0.0, True),
        (ObjectKind.BICYCLE, -3.2, 0.0, True),
        (ObjectKind.BICYCLE, -2.7, 4.0, False),
        (ObjectKind.BICYCLE, -6.0, 0.0, False),
        (ObjectKind.CAR, -3.0, 0.0, False),
    ],
)
def test_it_passes_a_bicycle_that_may_be_about_to_cross_slowly(
    kind: ObjectKind, y_m: float, speed_mps: float, is_slower: bool
) -> None:
    """One at the roadside set off 11 m ahead of an ego at 7 m/s, which hit it (obstacles 40)."""
    waiting = TrackedObject(9, kind, CROSSING_M, y_m, 0.0, (speed_mps, 0.0), 1.8, 0.6, 1.5)
    caps = [cap for cap in decision(waiting, 0.0, ego_mps=6.0).caps if cap.speed_mps == 5.0]
    assert bool(caps) is is_slower
    assert all(cap.from_s_m == pytest.approx(CROSSING_M - 10.0, abs=0.5) for cap in caps)


@pytest.mark.parametrize(
    ("kind", "y_m", "yaw_rad", "speed_mps", "is_slower"),
    [
        (ObjectKind.CAR, -3.5, 0.0, 0.0, True),
        (ObjectKind.TRUCK, 3.5, 0.2, 0.0, True),
        (ObjectKind.CAR, -3.5, 0.0, 3.0, False),  # it drives: it is predicted
        (ObjectKind.CAR, -3.5, np.pi, 0.0, False),  # a queue of oncoming vehicles
        (ObjectKind.CAR, -7.0, 0.0, 0.0, False),
    ],
)
def test_it_passes_a_standing_vehicle_on_the_next_lane_slower_than_on_a_motorway(
    kind: ObjectKind, y_m: float, yaw_rad: float, speed_mps: float, is_slower: bool
) -> None:
    """One of a queue pulled out 35 m ahead of an ego at 23 m/s, which hit it (obstacles 28)."""
    velocity = (speed_mps * float(np.cos(yaw_rad)), speed_mps * float(np.sin(yaw_rad)))
    standing = TrackedObject(9, kind, CROSSING_M, y_m, yaw_rad, velocity, 4.5, 1.9, 1.5)
    caps = [cap for cap in decision(standing, 0.0, ego_mps=6.0).caps if cap.speed_mps == 16.0]
    assert bool(caps) is is_slower
    for cap in caps:
        assert (cap.from_s_m, cap.to_s_m) == pytest.approx((CROSSING_M - 2.25 - FRONT_M, CROSSING_M + 2.25), abs=0.8)
