"""What the ego does at a light whose head it does not see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from av_core.types import (
    Constraint,
    ConstraintKind,
    LaneGraph,
    LightState,
    ObjectKind,
    Pose2D,
    Signal,
    SignalKind,
    Stamp,
    TrackedObject,
    TrafficLightView,
)
from planning import PlanningConfig, Predictor, find_route
from planning.config import BehaviorConfig, SpeedConfig
from planning.signals import EgoOnRoute
from planning.speed import SpeedCeiling, backward_pass, forward_times
from planning.traffic.behavior import TrafficBehavior
from planning.unseen_light import (
    JunctionTraffic,
    UnseenLightMemory,
    decide_unseen_light,
    junction_end,
    observe_junction,
)
from tests.control.vehicle_model import VehicleState
from tests.planning.closed_loop import CAR, Log, ScenePlanner, drive, ego_state, scene_of
from tests.planning.lanes_by_hand import beside, join, key, straight

LINE_M = 60.0
WAIT_S, CLEAR_S = 6.0, 3.0
BEHAVIOR = BehaviorConfig(unseen_wait_s=WAIT_S, unseen_clear_s=CLEAR_S)
FRONT_M = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m
Objects = Callable[[float], tuple[TrackedObject, ...]]


def crossroads() -> LaneGraph:
    """Two lanes east under one light at x = 60 m, and a road that crosses them at x = 70 m, northward."""
    lanes = []
    for number, (x, length) in enumerate(((0, 60), (60, 20), (80, 60))):
        right = straight(key(number, -2), x, 0, 0, length, junction=number == 1)
        left = straight(key(number, -1), x, 3.5, 0, length, junction=number == 1)
        lanes += beside(right, left)
    for number, (y, length) in enumerate(((-70, 60), (-10, 25), (15, 60))):
        lanes.append(straight(key(10 + number), 70, y, 0.5 * np.pi, length, junction=number == 1))
    lights = [Signal("7", SignalKind.TRAFFIC_LIGHT, key(1, lane), 0.0) for lane in (-1, -2)]
    return join(lanes, lights)


def planner() -> ScenePlanner:
    made = ScenePlanner(crossroads(), PlanningConfig(behavior=BEHAVIOR))
    made.navigate(Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    return made


def car(number: int, x: float, y: float, yaw: float, speed: float) -> TrackedObject:
    velocity = (speed * float(np.cos(yaw)), speed * float(np.sin(yaw)))
    return TrackedObject(number, ObjectKind.CAR, x, y, yaw, velocity, 4.5, 1.9, 1.5)


def crossing(from_s: float, to_s: float, every_s: float = 3.0) -> Objects:
    """Cars northward over the junction; one is in its middle every `every_s` from `from_s` to `to_s`."""

    speed = 8.0

    def at(time_s: float) -> tuple[TrackedObject, ...]:
        passes = np.arange(from_s, to_s + 1e-6, every_s)
        cars = [car(100 + n, 70.0, speed * (time_s - one), 0.5 * np.pi, speed) for n, one in enumerate(passes)]
        return tuple(one for one in cars if -70.0 < one.y_m < 70.0)

    return at


def left_line_at(log: Log) -> float:
    """When the ego's front was over the line; inf if it never was."""
    over = log.column(1) + FRONT_M > LINE_M
    return float(log.column(0)[np.argmax(over)]) if over.any() else float("inf")


def stood_at(log: Log) -> float:
    return float(log.column(0)[np.argmax(log.column(3) < 0.3)])


def view(state: LightState) -> Mapping[str, TrafficLightView]:
    return {"7": TrafficLightView("7", state)}


def test_a_light_that_is_never_seen_is_passed_after_a_wait_and_slowly() -> None:
    log = drive(planner(), 45, 10.0)
    assert log.has_arrived
    assert WAIT_S <= left_line_at(log) - stood_at(log) < WAIT_S + 5.0
    inside = (log.column(1) + FRONT_M > LINE_M) & (log.column(1) < 80.0)
    assert log.column(3)[inside].max() <= BEHAVIOR.off_light_speed_mps + 0.3
    waiting = log.plans[int((stood_at(log) + 2.0) / 0.05)].limited_by
    assert waiting is not None
    assert (waiting.kind, waiting.object_id) == (ConstraintKind.UNSEEN_LIGHT, "7")


def test_cross_traffic_is_waited_for() -> None:
    log = drive(planner(), 50, 10.0, objects=crossing(6.0, 24.0))
    assert left_line_at(log) > 24.0 + CLEAR_S - 1.0
    assert log.has_arrived


def test_a_red_that_is_seen_is_never_run_however_long_it_lasts() -> None:
    log = drive(planner(), 40, 10.0, lights=lambda _: view(LightState.RED))
    assert left_line_at(log) == float("inf")


def test_a_red_that_shows_up_while_the_ego_starts_stops_it() -> None:
    """The head comes into view a metre further on, before the line."""
    made = planner()
    stood_m = drive(made, 10, 10.0).column(1)[-1]
    assert stood_m + FRONT_M < LINE_M - 2.0, "there is room to stop"
    made = planner()

    def lights(_: float) -> Mapping[str, TrafficLightView]:
        has_started = made.progress is not None and made.progress.s_m > stood_m + 1.0
        return view(LightState.RED) if has_started else {}

    log = drive(made, 40, 10.0, lights=lights)
    assert log.column(1)[-1] > stood_m + 0.8
    assert left_line_at(log) == float("inf")


def test_a_red_that_goes_out_of_sight_is_waited_for_as_long_as_one_never_seen() -> None:
    """Seen on the approach, lost 20 m before the line."""
    made = planner()

    def lights(_: float) -> Mapping[str, TrafficLightView]:
        near = made.progress is not None and made.progress.s_m > LINE_M - 20.0
        return {} if near else view(LightState.RED)

    log = drive(made, 45, 10.0, lights=lights)
    assert log.has_arrived
    assert left_line_at(log) - stood_at(log) >= WAIT_S


def test_the_ego_goes_along_with_a_vehicle_under_the_same_light() -> None:
    """One starts in the lane beside at 9 s, before the ego has waited long enough for itself."""

    def neighbour(time_s: float) -> tuple[TrackedObject, ...]:
        speed = float(np.clip(2.0 * (time_s - 9.0), 0.0, 8.0))
        way = np.clip(time_s - 9.0, 0.0, 4.0) ** 2 + max(time_s - 13.0, 0.0) * 8.0
        return (car(57, 54.0 + float(way), 3.5, 0.0, speed),)

    made = ScenePlanner(crossroads(), PlanningConfig(behavior=BehaviorConfig(unseen_wait_s=60.0)))
    made.navigate(Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    log = drive(made, 40, 10.0, objects=neighbour)
    assert log.has_arrived
    assert 10.0 < left_line_at(log) < 17.0


def test_a_vehicle_that_left_long_ago_is_no_sign() -> None:
    """It may have been the last one before red."""
    memory, goes = UnseenLightMemory(), {}
    for time_s in np.arange(0.0, 8.0, 0.5).tolist():
        traffic = JunctionTraffic(is_entered=time_s <= 2.0, is_busy=time_s <= 4.0)
        memory, goes[time_s] = decide_unseen_light(memory, time_s >= 5.0, traffic, time_s, BEHAVIOR)
    assert [time_s for time_s, answer in goes.items() if answer] == np.arange(0.0, 4.5, 0.5).tolist()


def test_someone_who_comes_while_the_ego_starts_makes_it_stop_again() -> None:
    made = planner()

    def late(_: float) -> tuple[TrackedObject, ...]:
        started = made.progress is not None and made.progress.s_m > LINE_M - FRONT_M - 3.3
        return (car(9, 70.0, -25.0, 0.5 * np.pi, 8.0),) if started else ()

    log = drive(made, 40, 10.0, objects=late)
    assert left_line_at(log) == float("inf")
    assert log.column(3)[-1] < 0.05
    assert log.column(4).min() > -4.0


def test_nobody_is_taken_to_have_red_where_the_ego_did_not_see_green() -> None:
    """A car on the crossing road, which has no sign of its own, is given way to only then."""
    graph = crossroads()
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    ego = EgoOnRoute(s_m=50.0, speed_mps=5.0, front_m=FRONT_M, rear_m=1.0, time_s=0.0)
    free = SpeedCeiling(
        50.0 + 0.5 * np.arange(150, dtype=np.float64),
        np.full(150, 6.0),
        lambda _: Constraint(ConstraintKind.SPEED_LIMIT),
    )
    reference = backward_pass(free, SpeedConfig())
    times_s = forward_times(reference, ego.speed_mps, 135.0, SpeedConfig())
    behavior = TrafficBehavior(CAR.width_m, BEHAVIOR)
    crosses = car(100, 70.0, -24.0, 0.5 * np.pi, 8.0)
    state = ego_state(VehicleState(50.0, 0.0, 0.0, 5.0), Stamp(0, 0.0))
    others = Predictor(graph).predict(scene_of(state, (crosses,), {}))
    seen = behavior.constraints(route, ego, others, reference, times_s, frozenset())
    unseen = behavior.constraints(route, ego, others, reference, times_s, frozenset(), frozenset({"7"}))
    assert seen.yielding_to == frozenset()
    assert unseen.yielding_to == frozenset({100})


@pytest.mark.parametrize(
    ("item", "is_entered", "is_busy"),
    [
        (car(1, 63.0, 0.0, 0.0, 3.0), True, True),
        (car(1, 63.0, 3.5, 0.0, 3.0), True, False),  # the lane beside, under the same light
        (car(1, 63.0, 3.5, 0.0, 0.2), False, False),  # it stands
        (car(1, 63.0, 3.5, np.pi, 3.0), False, False),  # it comes out of the junction
        (car(1, 70.0, -25.0, 0.5 * np.pi, 8.0), False, True),  # it crosses in 3 s
        (car(1, 70.0, -25.0, 0.5 * np.pi, 0.0), False, False),  # it waits at its own line
        (car(1, 70.0, 20.0, 0.5 * np.pi, 8.0), False, False),  # it has crossed
        (car(1, 50.0, 0.0, 0.0, 3.0), False, False),  # it comes up behind the ego
    ],
)
def test_what_others_do_at_the_light(item: TrackedObject, is_entered: bool, is_busy: bool) -> None:
    graph = crossroads()
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    seen = observe_junction(route, route.signals[0], LINE_M - 1.0, graph, [item])
    assert seen == JunctionTraffic(is_entered, is_busy)


def test_the_wait_starts_with_the_stand_and_a_busy_junction_prolongs_it() -> None:
    memory, quiet, busy = UnseenLightMemory(), JunctionTraffic(), JunctionTraffic(is_busy=True)
    answers = {}
    for time_s in np.arange(0.0, 30.0, 0.5).tolist():
        traffic = busy if 8.0 <= time_s <= 12.0 else quiet
        memory, answers[time_s] = decide_unseen_light(memory, time_s >= 5.0, traffic, time_s, BEHAVIOR)
    may_go = [time_s for time_s, answer in answers.items() if answer]
    assert may_go[0] == 12.0 + CLEAR_S
    assert len(may_go) == 30


@pytest.mark.parametrize("seen_late_s", [0.0, 2.9])
@pytest.mark.parametrize("lights", [3, 4])
def test_who_saw_yellow_goes_when_the_light_is_green_again(lights: int, seen_late_s: float) -> None:
    """CARLA's lights of a junction have 10 s green, 3 s yellow and 2 s red in turn."""
    memory = UnseenLightMemory()
    cycle_s, traffic, answers = 15.0 * lights, JunctionTraffic(lights=lights), {}
    for time_s in np.arange(5.0, 100.0, 0.5).tolist():
        memory, may_go = decide_unseen_light(memory, True, traffic, time_s, BehaviorConfig(), seen_late_s)
        memory = replace(memory, has_started=may_go)
        answers[time_s] = may_go
    may_go_s = [time_s for time_s, answer in answers.items() if answer]
    assert cycle_s - 10.0 < may_go_s[0] < cycle_s - 5.0
    assert all(time_s % cycle_s > cycle_s - 10.0 for time_s in may_go_s)
    busy = replace(traffic, is_busy=True)
    assert not decide_unseen_light(memory, True, busy, cycle_s - 8.0, BehaviorConfig(), seen_late_s)[1]


def test_lights_of_the_same_junction_are_counted() -> None:
    graph = crossroads()
    lanes = {name: replace(lane, junction_id=5 if lane.is_junction else None) for name, lane in graph.lanes.items()}
    lights = (*graph.signals, replace(graph.signals[0], signal_id="8", lane=key(11)))
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    for known, count in ((replace(graph, lanes=lanes, signals=lights), 2), (graph, 0)):
        assert observe_junction(route, route.signals[0], LINE_M - 1.0, known, []).lights == count


def test_the_junction_ends_where_the_route_leaves_it() -> None:
    route = find_route(crossroads(), Pose2D(0, 0, 0), Pose2D(135, 0, 0))
    assert junction_end(route, LINE_M) == pytest.approx(80.0, abs=1.0)
    assert junction_end(route, 100.0) == 100.0
