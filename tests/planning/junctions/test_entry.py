"""The ego enters a junction only where it can leave, and stands on nobody's way."""

from __future__ import annotations

import numpy as np
import pytest

from av_core.curve import Curve
from av_core.types import ConstraintKind, LaneGraph, Manoeuvre, Pose2D, Signal, SignalKind, TrackedObject
from planning import PlanningConfig, find_route
from planning.junctions.entry import InTheWay, junctions_of, waits_before
from planning.signals import EgoOnRoute
from tests.planning.closed_loop import CAR, DT_S, ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, join, key, straight
from tests.planning.local.test_passing import clearance_m
from tests.planning.test_traffic import FRONT_M, vehicle

CONFIG = PlanningConfig().behavior
EGO = EgoOnRoute(s_m=60.0, speed_mps=0.0, front_m=FRONT_M, rear_m=CAR.length_m - FRONT_M, time_s=0.0)
ENTRY_M, EXIT_M = 90.0, 110.0


HALF = np.pi / 2
TURN_M = 16.0
"""Radius of the left turn from the oncoming lane to the south."""


def crossing(signals: tuple[Signal, ...] = ()) -> LaneGraph:
    """A road east, the oncoming one beside it with a left turn south, and a road north; a junction from 90 to 110 m."""
    lanes = [
        straight(key(0), 0, 0, 0, 90),
        straight(key(1), 90, 0, 0, 20, junction=True),
        straight(key(2), 110, 0, 0, 100),
        straight(key(10), 103.75, -100, HALF, 90),
        straight(key(11), 103.75, -10, HALF, 20, junction=True),
        straight(key(12), 103.75, 10, HALF, 100),
        straight(key(20), 210, 3.5, np.pi, 100),
        straight(key(21), 110, 3.5, np.pi, 20, junction=True),
        straight(key(22), 90, 3.5, np.pi, 90),
        arc(key(23), 110, 3.5, np.pi, TURN_M, HALF, junction=True),
        straight(key(24), 110.0 - TURN_M, 3.5 - TURN_M, -HALF, 90),
    ]
    return join(lanes, signals)


def ahead(graph: LaneGraph) -> tuple[float, float, float]:
    """Where the ego may wait before and in the junction of `crossing`, on its way east."""
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(205, 0, 0), (), PlanningConfig().route)
    (junction,) = junctions_of(route, graph, CAR.width_m, CONFIG)
    assert junction.from_s_m == pytest.approx(ENTRY_M, abs=1.0)
    assert junction.to_s_m == pytest.approx(EXIT_M, abs=1.0)
    return junction.places_m(InTheWay(1, 120.0, np.inf))


def test_the_last_place_in_a_junction_is_before_the_ways_of_others() -> None:
    """That is the left turn; the oncoming lane straight on is beside the ego's."""
    wait, entry, free = ahead(crossing())
    reach_m = TURN_M + 0.5 * CAR.width_m + 1.3  # from the middle of the turn
    assert wait == pytest.approx(ENTRY_M - CONFIG.junction_clearance_m, abs=0.6)
    assert entry == pytest.approx(ENTRY_M, abs=1.0)
    assert free == pytest.approx(110.0 - np.sqrt(reach_m**2 - (3.5 - TURN_M) ** 2), abs=0.6)


@pytest.mark.parametrize(
    ("rear_s_m", "clear_s", "waits"),
    [
        (100.0, np.inf, True),
        (100.0, 20.0, True),
        (100.0, 1.0, False),
        (EXIT_M + CAR.length_m, np.inf, True),
        (EXIT_M + CAR.length_m + 4.0, np.inf, False),
        (ENTRY_M - 5.0, np.inf, False),
    ],
)
def test_waits_where_the_ego_could_not_leave(rear_s_m: float, clear_s: float, waits: bool) -> None:
    graph = crossing()
    route = find_route(graph, Pose2D(0, 0, 0), Pose2D(205, 0, 0), (), PlanningConfig().route)
    junctions = junctions_of(route, graph, CAR.width_m, CONFIG)
    found = waits_before(junctions, [5.0], EGO, InTheWay(1, rear_s_m, clear_s), CONFIG.conflict_gap_m)
    assert (found is not None) == waits


class Yielding:
    """A car that stands on its path until `until_s`, and later while the ego is in the way of its next metres."""

    ROOM_M, SPEED_MPS = 4.0, 3.0

    def __init__(self, planner: ScenePlanner, path: Curve, start_m: float, until_s: float) -> None:
        self._planner, self._path, self._until_s = planner, path, until_s
        self.s_m = start_m

    def __call__(self, time_s: float) -> tuple[TrackedObject, ...]:
        speed_mps = 0.0 if time_s < self._until_s or self._is_blocked() else self.SPEED_MPS
        self.s_m += speed_mps * DT_S
        x, y, yaw = (float(value) for value in self._path.pose_at(self.s_m))
        return (vehicle(7, x, y, yaw, speed_mps),)

    def _is_blocked(self) -> bool:
        progress, route = self._planner.progress, self._planner.route
        if progress is None or route is None:
            return False
        x_m, y_m, _ = self._path.pose_at(self.s_m + np.arange(2.25, 2.25 + self.ROOM_M, 0.25))
        along_m, across_m = x_m - progress.s_m, y_m  # the ego drives east along y = 0
        is_beside = np.abs(across_m) < 0.5 * CAR.width_m + 1.0
        return bool((is_beside & (along_m > FRONT_M - CAR.length_m) & (along_m < FRONT_M + 1.0)).any())


def test_a_car_that_stands_across_the_way_is_waited_for_off_its_way() -> None:
    """It turns left, and needs the place where an ego would stand that came as near to it as to a leader."""
    graph = crossing()
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    path = Curve.joined([graph.lanes[key(number)].curve for number in (23, 24)])
    log = drive(planner, 45, 10.0, objects=Yielding(planner, path, start_m=7.0, until_s=20.0))
    assert (log.column(1) + FRONT_M)[log.column(0) < 20.0].max() < ENTRY_M
    assert log.has_arrived


def test_who_follows_a_car_into_a_junction_keeps_driving() -> None:
    planner = ScenePlanner(crossing())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    log = drive(planner, 60, 6.0, objects=lambda t: (vehicle(7, 20.0 + 4.0 * t, 0.0, 0.0, 4.0),))
    assert log.column(3)[(log.column(1) > 60.0) & (log.column(1) < 110.0)].min() > 3.0
    assert log.has_arrived


def test_a_car_that_turns_onto_the_road_of_the_ego_is_followed() -> None:
    """It comes from the south, is in the turn when the ego comes near, and drives on ahead of the ego."""
    turn = [
        straight(key(26), 103.75, -10, HALF, 3.75, junction=True),
        arc(key(25), 103.75, -6.25, HALF, 6.25, -HALF, junction=True),
    ]
    graph = join([*crossing().lanes.values(), *turn])
    planner = ScenePlanner(graph)
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    path = Curve.joined([graph.lanes[key(number)].curve for number in (10, 26, 25, 2)])

    def car(time_s: float) -> tuple[TrackedObject, ...]:
        gaining_s = max(time_s - 6.0, 0.0)
        x_m, y_m, yaw_rad = path.pose_at(75.0 + 4.0 * time_s + gaining_s**2)
        return (vehicle(7, float(x_m), float(y_m), float(yaw_rad), 4.0 + 2.0 * gaining_s),)

    log = drive(planner, 9, 10.0, objects=car)
    assert log.column(1).max() > ENTRY_M
    assert log.column(3).min() > 7.0, "it was 5.5 where the ego waited for the car"


def test_a_car_on_the_oncoming_lane_that_is_first_seen_on_the_path_does_not_keep_the_ego_out() -> None:
    """It stands 8 m behind the junction. From afar its place is wrong by 1.8 m."""
    planner = ScenePlanner(crossing())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    log = drive(planner, 9, 10.0, objects=lambda t: (vehicle(7, 118.0, 1.7 if t < 6.0 else 3.5, np.pi, 0.0),))
    assert log.column(3).min() > 8.5, "it was 6.7 where the ego waited for the car"


def test_the_ego_waits_behind_a_queue_before_the_junction() -> None:
    """The last car of a queue stands 3 m behind the junction until it drives on."""
    planner = ScenePlanner(crossing())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    log = drive(
        planner, 60, 8.0, objects=lambda t: (vehicle(7, 115.3 + 8.0 * max(t - 20.0, 0.0), 0.0, 0.0, 8.0 * (t > 20.0)),)
    )
    assert (log.column(1) + FRONT_M)[log.column(0) < 20.0].max() < ENTRY_M
    assert log.has_arrived


@pytest.mark.parametrize("behind_m", [0.5, 4.0])
def test_the_ego_closes_up_to_a_queue_that_only_those_for_the_same_lane_would_join(behind_m: float) -> None:
    """The ego turns right. The last car of a queue stands this far behind the junction, where the ego has no room."""
    lanes = [
        straight(key(0), 0, 0, 0, 90),
        arc(key(1), 90, 0, 0, 8, -HALF, junction=True),
        straight(key(2), 98, -8, -HALF, 90),
        straight(key(10), 98, 100, -HALF, 90),
        straight(key(11), 98, 10, -HALF, 18, junction=True),
    ]
    planner = ScenePlanner(join(lanes))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(98, -90, -HALF))
    rear_s_m = 90.0 + 8.0 * HALF + behind_m

    def queue(time_s: float) -> tuple[TrackedObject, ...]:
        moved_m = 8.0 * max(time_s - 25.0, 0.0)
        last_m = -8.0 - behind_m - 0.5 * CAR.length_m - moved_m
        return tuple(vehicle(7 + k, 98.0, last_m - 11.0 * k, -HALF, 8.0 * (time_s > 25.0)) for k in range(2))

    log = drive(planner, 50, 8.0, objects=queue)
    gap_m = rear_s_m - (log.column(1) + FRONT_M)[log.column(0) < 25.0].max()
    assert 1.0 < gap_m < 5.0
    assert log.has_arrived


def test_the_ego_gives_way_to_who_can_no_longer_stop_at_its_sign() -> None:
    planner = ScenePlanner(crossing((Signal("5", SignalKind.STOP, key(10), 88.0),)))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))

    def car(time_s: float) -> tuple[TrackedObject, ...]:
        return (vehicle(7, 103.75, -16.0 * (8.5 - time_s), HALF, 16.0),)

    log = drive(planner, 35, 8.0, objects=car)
    assert clearance_m(log, car) > 1.0
    assert log.has_arrived


@pytest.mark.parametrize(("has_own", "stops"), [(True, True), (False, False)])
def test_signs_on_all_roads_give_the_ego_no_right_of_way(has_own: bool, stops: bool) -> None:
    """A car comes from the south at 9 m/s and stops at its sign; without a sign of its own, the ego drives on."""
    theirs = Signal("5", SignalKind.STOP, key(10), 88.0)
    own = Signal("4", SignalKind.STOP, key(0), 89.0)
    planner = ScenePlanner(crossing((own, theirs) if has_own else (theirs,)))
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    begin_s = 9.5 if has_own else 2.0

    def car(time_s: float) -> tuple[TrackedObject, ...]:
        brakes_s = min(max(time_s - begin_s - 2.5, 0.0), 9.0 / 2.5)
        y_m = -60.0 + 9.0 * (min(time_s - begin_s, 2.5) + brakes_s) - 0.5 * 2.5 * brakes_s**2
        return (vehicle(7, 103.75, y_m, HALF, 9.0 - 2.5 * brakes_s),)

    log = drive(planner, 13, 8.0, objects=car)
    gave_way = any(
        plan.constraint is not None and plan.constraint.kind is ConstraintKind.CROSSING_TRAFFIC for plan in log.plans
    )
    assert gave_way == stops


def test_what_stands_behind_a_vehicle_across_the_way_is_not_passed_yet() -> None:
    """A car stands across the edge of the ego's way in the junction for 40 s, and one at its lane's edge behind."""
    planner = ScenePlanner(crossing())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))

    def others(time_s: float) -> tuple[TrackedObject, ...]:
        parked = vehicle(8, 118.0, 2.2, np.pi, 0.0)
        return (parked, vehicle(7, 103.0, 3.55, -2.0, 0.0)) if time_s < 40.0 else (parked,)

    log = drive(planner, 70, 8.0, objects=others)
    waits = log.column(0) < 40.0
    assert (log.column(1) + FRONT_M)[waits].max() < ENTRY_M
    assert {plan.manoeuvre for plan, is_waiting in zip(log.plans, waits, strict=True) if is_waiting} == {
        Manoeuvre.FOLLOW_LANE
    }
    assert log.has_arrived


def test_who_stands_across_the_way_for_a_minute_is_looked_at_from_near() -> None:
    """It faces the ego beside its path, and waits for it. From afar its place seems to be on the path."""
    planner = ScenePlanner(crossing())
    planner.navigate(Pose2D(0, 0, 0), Pose2D(205, 0, 0))

    def car(time_s: float) -> tuple[TrackedObject, ...]:
        ego = planner.progress
        is_near = ego is not None and ego.s_m + FRONT_M > ENTRY_M - 2.0
        return (vehicle(7, 104.0, 3.5 if is_near else 2.0, np.pi + 0.5, 0.0),)

    log = drive(planner, 100, 10.0, objects=car)
    assert (log.column(1) + FRONT_M)[log.column(0) < 60.0].max() < ENTRY_M
    assert log.has_arrived
