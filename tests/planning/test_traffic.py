"""Closed loop: planner, controller and vehicle against lights, signs, vehicles and walkers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from av_core.types import (
    ConstraintKind,
    LaneGraph,
    LightState,
    ObjectKind,
    Pose2D,
    Signal,
    SignalKind,
    TrackedObject,
    TrafficLightView,
)
from av_stack.results.constraint_text import describe
from tests.planning.closed_loop import CAR, DT_S, Log, ScenePlanner, drive
from tests.planning.lanes_by_hand import arc, beside, chain, end_of, join, key, straight

FRONT_M = CAR.rear_axle_to_centre_m + 0.5 * CAR.length_m


def vehicle(number: int, x: float, y: float, yaw: float, speed: float) -> TrackedObject:
    velocity = (speed * float(np.cos(yaw)), speed * float(np.sin(yaw)))
    return TrackedObject(number, ObjectKind.CAR, x, y, yaw, velocity, 4.5, 1.9, 1.5)


def walker(number: int, x: float, y: float, vx: float, vy: float) -> TrackedObject:
    return TrackedObject(number, ObjectKind.PEDESTRIAN, x, y, 0.0, (vx, vy), 0.5, 0.5, 1.8)


def planner_on(graph: LaneGraph, start: Pose2D, goal: Pose2D) -> ScenePlanner:
    planner = ScenePlanner(graph)
    planner.navigate(start, goal)
    return planner


def long_road(signals: tuple[Signal, ...] = ()) -> LaneGraph:
    lanes = [
        straight(key(0), 0, 0, 0, 100),
        straight(key(1), 100, 0, 0, 20, junction=True),
        straight(key(2), 120, 0, 0, 130),
    ]
    return join(lanes, signals)


def on_long_road(*signals: Signal) -> ScenePlanner:
    return planner_on(long_road(signals), Pose2D(0, 0, 0), Pose2D(250, 0, 0))


def light(state: LightState) -> dict[str, TrafficLightView]:
    return {"7": TrafficLightView("7", state)}


LIGHT = Signal("7", SignalKind.TRAFFIC_LIGHT, key(1), 0.0)


def gap_to_line(log: Log, line_s: float = 100.0) -> float:
    return line_s - (float(log.column(1)[-1]) + FRONT_M)


def test_stops_at_a_red_light_and_goes_at_green() -> None:
    planner = on_long_road(LIGHT)
    log = drive(planner, 60, 10.0, lights=lambda t: light(LightState.RED if t < 25 else LightState.GREEN))
    t, s, v = log.column(0), log.column(1), log.column(3)
    standing = (t > 15) & (t < 25)
    assert v[standing].max() < 0.05
    gap = 100.0 - (s[standing] + FRONT_M)
    assert gap.min() > 3.0, "the line is the junction's edge: whoever turns there needs the room"
    assert gap.max() < 4.0
    assert s[t < 25.05].max() + FRONT_M < 101
    assert any(describe(plan.constraint).startswith("red light 7 in ") for plan in log.plans)
    assert log.has_arrived


def test_yellow_too_near_to_stop_is_driven_through_and_yellow_far_away_is_not() -> None:
    late = drive(
        on_long_road(LIGHT), 20, 12.0, lights=lambda t: light(LightState.GREEN if t < 4.5 else LightState.YELLOW)
    )
    near = on_long_road(LIGHT)
    states = lambda t: light(LightState.GREEN if t < 7.0 else LightState.YELLOW if t < 10 else LightState.RED)  # noqa: E731
    through = drive(near, 20, 12.0, lights=states)
    s_at_yellow = through.column(1)[int(7.0 / DT_S)]
    assert 100 - 12 < s_at_yellow + FRONT_M < 100, "the case has to be a late yellow"
    assert late.column(1)[-1] + FRONT_M < 100
    assert through.column(1)[-1] > 120
    assert through.column(4).min() > -3.5


def test_who_comes_to_stand_just_over_the_line_of_a_red_light_stays_there() -> None:
    """A light that is seen red only as the ego is too near: in dust, or because it was read wrongly before."""
    states = lambda t: light(LightState.GREEN if t < 6.2 else LightState.RED if t < 18.0 else LightState.GREEN)  # noqa: E731
    log = drive(on_long_road(LIGHT), 22, 12.0, lights=states)
    t, front = log.column(0), log.column(1) + FRONT_M
    assert front[t < 18.0].max() > 100.2, "the case has to be a stop over the line"
    assert front[t < 18.0].max() < 102.5
    assert front[-1] > 110.0


@pytest.mark.parametrize("in_the_way", [True, False])
def test_who_brakes_for_others_behind_a_late_yellow_stops_at_the_line(in_the_way: bool) -> None:
    """A walker is seen 15 m behind the line as the light turns: the ego would roll over the line into the red."""
    yellow_s, red_s = 5.0, 8.0

    def lights(t: float) -> dict[str, TrafficLightView]:
        return light(LightState.GREEN if t < yellow_s else LightState.YELLOW if t < red_s else LightState.RED)

    def others(t: float) -> tuple[TrackedObject, ...]:
        return (walker(1, 114.0, 0.5, 0.0, 0.0),) if in_the_way and t >= yellow_s + 0.3 else ()

    log = drive(on_long_road(LIGHT), 14, 12.0, others, lights=lights)
    t, front = log.column(0), log.column(1) + FRONT_M
    at_yellow = front[int(yellow_s / DT_S)]
    speed = log.column(3)[int(yellow_s / DT_S)]
    assert 0.7 * speed**2 / 6.0 < 100.0 - at_yellow - 4.7 < speed**2 / 6.0, "the case has to be a yellow just too late"
    if in_the_way:
        assert front.max() < 100.0
        assert log.column(3)[-1] < 0.1
    else:
        assert front[t <= red_s].max() > 100.0


@pytest.mark.parametrize(("front_m", "stands_before_m"), [(98.0, 100.0), (99.3, 100.5), (101.0, 102.5)])
def test_who_crawls_at_the_line_as_the_light_turns_yellow_waits_there(front_m: float, stands_before_m: float) -> None:
    """Behind a car at 1.5 m/s, its tail would be over the line only after the light has become red."""
    planner = on_long_road(LIGHT)
    turned_s: list[float] = []

    def crawler(t: float) -> tuple[TrackedObject, ...]:
        return (vehicle(1, 80.0 + 1.5 * t, 0.0, 0.0, 1.5),)

    def lights(t: float) -> dict[str, TrafficLightView]:
        if not turned_s and planner.progress is not None and planner.progress.s_m + FRONT_M > front_m:
            turned_s.append(t)
        since_s = t - turned_s[0] if turned_s else -1.0
        is_green = since_s < 0.0 or since_s >= 10.0
        return light(LightState.GREEN if is_green else LightState.YELLOW if since_s < 3.0 else LightState.RED)

    log = drive(planner, 38, 8.0, crawler, lights=lights)
    t, front = log.column(0), log.column(1) + FRONT_M
    waits = (t > turned_s[0] + 3.0) & (t < turned_s[0] + 10.0)
    assert log.column(3)[int(turned_s[0] / DT_S)] < 2.5, "the case has to be an ego that crawls"
    assert front[waits].max() < stands_before_m
    assert log.column(3)[waits].max() < 0.3
    assert front[-1] > 106.0, "it goes at the next green"


def test_unknown_light_holds_the_ego_at_the_line_but_not_far_away() -> None:
    log = drive(on_long_road(LIGHT), 25, 10.0)
    assert 3.0 < gap_to_line(log) < 4.2
    far = log.column(1) < 40
    assert not any("light" in describe(plan.constraint) for plan, is_far in zip(log.plans, far, strict=True) if is_far)


def test_light_that_is_off_is_passed_carefully() -> None:
    log = drive(on_long_road(LIGHT), 40, 10.0, lights=lambda _: light(LightState.OFF))
    at_line = np.abs(log.column(1) - 100) < 2
    assert log.column(3)[at_line].max() < 7.0
    assert log.has_arrived


def test_stop_sign_means_a_full_stop_then_go() -> None:
    log = drive(on_long_road(Signal("3", SignalKind.STOP, key(0), 98.0)), 60, 10.0)
    s, v = log.column(1), log.column(3)
    before = (s + FRONT_M > 95) & (s + FRONT_M < 98)
    assert v[before].min() < 0.05
    assert log.has_arrived


def test_a_stop_at_a_sign_at_the_edge_of_a_junction_counts() -> None:
    """CARLA's Leaderboard counts a stop of an ego whose middle is at most 4 m before the sign."""
    log = drive(on_long_road(Signal("3", SignalKind.STOP, key(1), 0.0)), 60, 10.0)
    s, v = log.column(1), log.column(3)
    middle_s = s[v < 0.05] + CAR.rear_axle_to_centre_m
    assert len(middle_s) > 0
    assert 96.1 < middle_s.min() <= middle_s.max() < 98.0
    assert log.has_arrived


def test_yield_sign_slows_but_does_not_stop_on_an_empty_road() -> None:
    log = drive(on_long_road(Signal("3", SignalKind.YIELD, key(0), 98.0)), 60, 10.0)
    v = log.column(3)[np.abs(log.column(1) - 98) < 2]
    assert 3.0 < v.min() <= v.max() < 6.0
    assert log.has_arrived


@pytest.mark.parametrize("brake", [2.0, 4.0, 7.0])
def test_follows_a_leader_that_brakes_to_a_stop_without_collision(brake: float) -> None:
    graph = chain([("straight", 400, 0)])
    planner = planner_on(graph, Pose2D(0, 0, 0), Pose2D(395, 0, 0))

    def leader(t: float) -> tuple[TrackedObject, ...]:
        t0, v0 = 8.0, 10.0
        braking = max(0.0, min(t - t0, v0 / brake))
        x = 30.0 + v0 * min(t, t0) + v0 * braking - 0.5 * brake * braking**2
        return (vehicle(57, x, 0.1, 0.0, v0 - brake * braking if t > t0 else v0),)

    log = drive(planner, 25, 10.0, objects=leader)
    gap = np.array([leader(t)[0].x_m - 2.25 for t in log.column(0)]) - (log.column(1) + FRONT_M)
    assert gap.min() > 1.0
    assert log.column(3)[-1] < 0.05
    assert 1.5 < gap[-1] < 6.0
    following = (log.column(0) > 6) & (log.column(0) < 8)
    assert gap[following].max() < 30
    assert any(describe(plan.constraint).startswith("vehicle 57 ahead ") for plan in log.plans)


def test_a_car_that_cuts_in_is_let_in() -> None:
    graph = join(beside(straight(key(0), 0, 0, 0, 400), straight(key(0, -2), 0, 3.5, 0, 400)))
    planner = planner_on(graph, Pose2D(0, 0, 0), Pose2D(395, 0, 0))

    def cutter(t: float) -> tuple[TrackedObject, ...]:
        share = float(np.clip((t - 5.0) / 2.5, 0.0, 1.0))
        side = -3.5 / 2.5 if 0.0 < share < 1.0 else 0.0
        item = vehicle(9, 32.0 + 9.0 * t, 3.5 * (1.0 - share), float(np.arctan2(side, 9.0)), 9.0)
        return (replace(item, velocity_mps=(9.0, side)),)

    log = drive(planner, 20, 10.0, objects=cutter)
    gap = np.array([cutter(t)[0].x_m - 2.25 for t in log.column(0)]) - (log.column(1) + FRONT_M)
    assert gap[log.column(0) > 6].min() > 1.0
    assert log.column(4).min() > -8.1
    assert log.column(3)[-1] == pytest.approx(9.0, abs=0.7)


def test_who_is_ahead_where_lanes_join_does_not_slow_down_for_a_faster_one() -> None:
    """It could not get behind that one in time, and would be hit from behind."""
    right, left = straight(key(0), 0, 0, 0, 400, 18.6), straight(key(0, -2), 0, 3.5, 0, 400, 18.6)
    planner = planner_on(join(beside(right, left)), Pose2D(0, 0, 0), Pose2D(395, 0, 0))

    def joining(t: float) -> tuple[TrackedObject, ...]:
        share = float(np.clip((t - 1.0) / 3.0, 0.0, 1.0))
        side_mps = -3.5 / 3.0 if 0.0 < share < 1.0 else 0.0
        item = vehicle(9, -8.5 + 19.8 * t, 3.5 * (1.0 - share), side_mps / 20.0, 20.0)
        return (replace(item, velocity_mps=(20.0, side_mps)),)

    log = drive(planner, 4, 18.0, objects=joining)
    assert log.column(3).min() > 17.5


def test_in_a_junction_the_ego_does_not_brake_for_a_car_that_comes_from_behind() -> None:
    """It ran its light, and comes into the ego's lane; an ego that brakes hard for it stands in its way."""
    meeting, yaw, speed_mps = np.array([90.0, 0.0]), 0.35, 18.0
    ahead = np.array([np.cos(yaw), np.sin(yaw)])
    start = meeting - 60.0 * ahead
    lanes = [
        straight(key(0), 0, 0, 0, 60),
        straight(key(1), 60, 0, 0, 40, junction=True),
        straight(key(2), 100, 0, 0, 100),
        straight(key(3), float(start[0]), float(start[1]), yaw, 60, junction=True),
    ]
    planner = planner_on(join(lanes), Pose2D(0, 0, 0), Pose2D(195, 0, 0))

    def crossing(t: float) -> tuple[TrackedObject, ...]:
        x, y = (meeting + speed_mps * (t - 7.0) * ahead).tolist()
        return (vehicle(7, x, y, yaw, speed_mps),) if t < 6.7 else ()

    log = drive(planner, 11, 8.0, objects=crossing)
    inside = (log.column(1) > 64.0) & (log.column(1) < 98.0)
    assert inside.any()
    assert log.column(4)[inside].min() > -2.5


def test_cars_in_other_lanes_do_not_slow_the_ego() -> None:
    graph = join(
        [
            *beside(straight(key(0), 0, 0, 0, 300), straight(key(0, -2), 0, 3.5, 0, 300)),
            straight(key(5, 1), 300, 7.0, np.pi, 300),
        ]
    )
    planner = planner_on(graph, Pose2D(0, 0, 0), Pose2D(295, 0, 0))

    def others(t: float) -> tuple[TrackedObject, ...]:
        return (vehicle(1, 120, 3.5, 0, 0), vehicle(2, 250 - 12 * t, 7.0, np.pi, 12), vehicle(3, 40 + 6 * t, 3.5, 0, 6))

    log = drive(planner, 60, 12.0, objects=others)
    free = drive(planner_on(graph, Pose2D(0, 0, 0), Pose2D(295, 0, 0)), 60, 12.0)
    assert log.column(0)[-1] == pytest.approx(free.column(0)[-1], abs=0.5)


def test_waits_for_a_walker_who_crosses_and_goes_on_when_he_is_across() -> None:
    planner = planner_on(chain([("straight", 200, 0)]), Pose2D(0, 0, 0), Pose2D(195, 0, 0))

    def crossing(t: float) -> tuple[TrackedObject, ...]:
        y = -6.0 + 1.3 * max(0.0, t - 3.0)
        return (walker(80, 80.0, y, 0.0, 1.3 if t >= 3.0 else 0.0),)

    log = drive(planner, 60, 10.0, objects=crossing)
    s, t = log.column(1), log.column(0)
    y = np.array([crossing(at)[0].y_m for at in t])
    over = (s + FRONT_M > 79.5) & (s - 1.0 < 80.5)
    assert np.abs(y[over]).min() > 0.95 + 0.25 + 0.2
    assert log.has_arrived
    assert any(describe(plan.constraint).startswith("walker 80 crossing") for plan in log.plans)
    assert log.column(4).min() > -4.0


def test_a_walker_on_the_pavement_does_not_slow_the_ego() -> None:
    graph = chain([("straight", 200, 0)])
    route = (Pose2D(0, 0, 0), Pose2D(195, 0, 0))
    free = drive(planner_on(graph, *route), 60, 10.0)
    log = drive(planner_on(graph, *route), 60, 10.0, objects=lambda t: (walker(80, 60 + 1.2 * t, -4, 1.2, 0.0),))
    assert log.column(0)[-1] == pytest.approx(free.column(0)[-1], abs=0.3)


def test_a_walker_told_to_come_at_the_speed_of_a_car_is_not_braked_for() -> None:
    """A standing figure beside the road, far off, whose track comes at the ego with 25 m/s."""
    graph = chain([("straight", 200, 0)])
    route = (Pose2D(0, 0, 0), Pose2D(195, 0, 0))
    free = drive(planner_on(graph, *route), 60, 10.0)

    def phantom(t: float) -> tuple[TrackedObject, ...]:
        return (walker(50, 150.0 - 5.0 * (t - 4.0), 16.0 - (t - 4.0), -24.0, -7.0),) if 4.0 < t < 9.0 else ()

    log = drive(planner_on(graph, *route), 60, 10.0, objects=phantom)
    assert log.column(0)[-1] == pytest.approx(free.column(0)[-1], abs=0.3)


def test_a_standing_car_that_seems_to_slide_sideways_does_not_cut_in() -> None:
    """It stands in the next lane; cut by the picture's side as it is passed, it seems to come closer."""
    graph = join(beside(straight(key(0), 0, 0, 0, 120, 8.0), straight(key(0, -2), 0, 3.5, 0, 120, 8.0)))
    planner = planner_on(graph, Pose2D(0, 0, 0), Pose2D(115, 0, 0))

    def sliding(_: float) -> tuple[TrackedObject, ...]:
        ahead_m = 80.0 - (planner.progress.s_m if planner.progress is not None else 0.0)
        slides = 4.0 < ahead_m < 12.0
        aside = 3.6 - 0.08 * (12.0 - ahead_m) if slides else 3.6
        return (replace(vehicle(16, 80.0, aside, 0.0, 0.0), velocity_mps=(0.1, -1.2 if slides else 0.0)),)

    log = drive(planner, 40, 8.0, objects=sliding)
    passing = (log.column(1) > 60.0) & (log.column(1) < 90.0)
    assert log.column(4)[passing].min() > -0.5
    assert log.has_arrived


@pytest.mark.parametrize("speed_mps", [2.5, 4.5])
def test_a_runner_who_crosses_is_waited_for(speed_mps: float) -> None:
    planner = planner_on(chain([("straight", 200, 0)]), Pose2D(0, 0, 0), Pose2D(195, 0, 0))

    def runner(t: float) -> tuple[TrackedObject, ...]:
        y = -15.0 + speed_mps * max(0.0, t - 5.5 + 10.0 / speed_mps)
        return (walker(80, 80.0, y, 0.0, speed_mps),)

    log = drive(planner, 60, 10.0, objects=runner)
    y = np.array([runner(at)[0].y_m for at in log.column(0)])
    over = (log.column(1) + FRONT_M > 79.5) & (log.column(1) - 1.0 < 80.5)
    assert np.abs(y[over]).min() > 0.95 + 0.25
    assert log.has_arrived


def test_brakes_hard_for_a_walker_who_steps_out() -> None:
    planner = planner_on(chain([("straight", 200, 0)]), Pose2D(0, 0, 0), Pose2D(195, 0, 0))

    def jump(t: float) -> tuple[TrackedObject, ...]:
        if t < 4.0:
            return ()
        return (walker(80, 72.0, min(0.0, -1.8 + 2.0 * (t - 4.0)), 0.0, 2.0 if t < 4.9 else 0.0),)

    log = drive(planner, 15, 10.0, objects=jump)
    assert 72.0 - (log.column(1)[-1] + FRONT_M) > 0.3
    assert log.column(4).min() < -4.0


def crossing_graph() -> LaneGraph:
    """A road east and a road north that cross at (100, 0) in a junction without signals, and a left turn north."""
    lanes = [
        straight(key(0), 0, 0, 0, 90),
        straight(key(1), 90, 0, 0, 20, junction=True),
        straight(key(2), 110, 0, 0, 100),
        straight(key(10), 102, -100, np.pi / 2, 90),
        straight(key(11), 102, -10, np.pi / 2, 22, junction=True),
        straight(key(12), 102, 12, np.pi / 2, 98),
        straight(key(20), 210, 3.5, np.pi, 100),
        straight(key(21), 110, 3.5, np.pi, 20, junction=True),
        straight(key(22), 90, 3.5, np.pi, 90),
        arc(key(3), 90, 0, 0, 12, np.pi / 2, junction=True),
    ]
    return join(lanes)


def clearance(log: Log, others: list[list[TrackedObject]]) -> float:
    """Smallest distance between the ego's centre line (three discs) and the others' (three discs), less both radii."""
    smallest = float("inf")
    for state, items in zip(log.states, others, strict=True):
        for item in items:
            for a in (-0.3, 1.4, 3.1):
                for b in (-1.5, 0.0, 1.5):
                    dx = state.x_m + a * np.cos(state.yaw_rad) - item.x_m - b * np.cos(item.yaw_rad)
                    dy = state.y_m + a * np.sin(state.yaw_rad) - item.y_m - b * np.sin(item.yaw_rad)
                    smallest = min(smallest, float(np.hypot(dx, dy)) - 1.9)
    return smallest


@pytest.mark.parametrize("late_s", [-2.0, -1.0, 0.0, 1.0, 2.0])
def test_gives_way_to_crossing_traffic_at_a_junction(late_s: float) -> None:
    planner = planner_on(crossing_graph(), Pose2D(0, 0, 0), Pose2D(205, 0, 0))

    def crossing(t: float) -> tuple[TrackedObject, ...]:
        return (vehicle(4, 102, -80 + 10 * (t - late_s), np.pi / 2, 10),)

    log = drive(planner, 60, 12.0, objects=crossing)
    assert clearance(log, [list(crossing(t)) for t in log.column(0)]) > 0.2
    assert log.has_arrived


@pytest.mark.parametrize("late_s", [-1.0, 0.0, 1.0, 2.0, 3.0])
def test_left_turn_waits_for_oncoming_traffic(late_s: float) -> None:
    planner = planner_on(crossing_graph(), Pose2D(0, 0, 0), Pose2D(102, 100, np.pi / 2))

    def oncoming(t: float) -> tuple[TrackedObject, ...]:
        return tuple(vehicle(i, 200 - 10 * (t - late_s) + 25 * i, 3.5, np.pi, 10) for i in range(3))

    log = drive(planner, 80, 12.0, objects=oncoming)
    assert clearance(log, [list(oncoming(t)) for t in log.column(0)]) > 0.2
    assert log.has_arrived


def stream(t: float, gap_m: float, speed_mps: float) -> tuple[TrackedObject, ...]:
    """Cars that cross the left turn from ahead, one after the other, for ever."""
    first = int(speed_mps * t // gap_m)
    return tuple(
        vehicle(i, 105 + gap_m * i - speed_mps * t, 3.5, np.pi, speed_mps) for i in range(first - 2, first + 4)
    )


@pytest.mark.parametrize(
    ("gap_m", "speed_mps", "is_enough"),
    [
        (31.0, 9.0, False),
        (34.0, 9.0, True),
        (38.0, 11.0, True),
        (40.0, 14.0, False),
        (45.0, 14.0, True),
        (58.0, 14.0, True),
    ],
)
def test_left_turn_through_a_stream_that_does_not_end(gap_m: float, speed_mps: float, is_enough: bool) -> None:
    """An ego that has lost its patience takes a gap in which it is across in time, and no other."""
    planner = planner_on(crossing_graph(), Pose2D(0, 0, 0), Pose2D(102, 100, np.pi / 2))
    log = drive(planner, 36, 12.0, objects=lambda t: stream(t, gap_m, speed_mps))
    assert clearance(log, [list(stream(t, gap_m, speed_mps)) for t in log.column(0)]) > 0.2
    assert (log.column(1)[-1] > 110.0) == is_enough


def test_a_start_that_is_given_up_ends_before_the_stream() -> None:
    """Tracks that jump by 0.5 m and 0.5 m/s from step to step make the ego start, and give up, again and again."""
    rng = np.random.default_rng(0)

    def seen(t: float) -> tuple[TrackedObject, ...]:
        errors = rng.normal(0.0, 0.5, (6, 3))
        return tuple(
            replace(item, x_m=item.x_m + x, y_m=item.y_m + 0.5 * y, velocity_mps=(item.velocity_mps[0] + v, 0.0))
            for item, (x, y, v) in zip(stream(t, 46.0, 11.0), errors.tolist(), strict=True)
        )

    log = drive(planner_on(crossing_graph(), Pose2D(0, 0, 0), Pose2D(102, 100, np.pi / 2)), 44, 12.0, objects=seen)
    assert clearance(log, [list(stream(t, 46.0, 11.0)) for t in log.column(0)]) > 0.2


@pytest.mark.parametrize("late_s", np.arange(0.0, 6.0, 0.5).tolist())
def test_who_turns_right_lets_those_on_the_road_pass(late_s: float) -> None:
    """Four cars in a row, too near to each other to come between, drive along the road that the ego turns onto."""
    lanes = [
        straight(key(0), 0, 0, 0, 90),
        arc(key(1), 90, 0, 0, 8, -np.pi / 2, junction=True),
        straight(key(2), 98, -8, -np.pi / 2, 120),
        straight(key(10), 98, 112, -np.pi / 2, 108),
        straight(key(11), 98, 4, -np.pi / 2, 12, junction=True),
    ]
    planner = planner_on(join(lanes), Pose2D(0, 0, 0), Pose2D(98, -100, -np.pi / 2))

    def row(t: float) -> tuple[TrackedObject, ...]:
        return tuple(vehicle(i, 98, 70 + 18 * i - 8 * (t - late_s), -np.pi / 2, 8) for i in range(4))

    log = drive(planner, 60, 12.0, objects=row)
    times = log.column(0)
    assert clearance(log, [list(row(t)) for t in times]) > 0.2
    behind = [np.hypot(state.x_m - 98, state.y_m + 2.0) for state in log.states]
    assert min(behind) < 8.0, "the ego has turned"
    assert log.has_arrived


def test_stationary_cars_at_a_crossing_do_not_stop_the_ego() -> None:
    planner = planner_on(crossing_graph(), Pose2D(0, 0, 0), Pose2D(205, 0, 0))
    log = drive(
        planner, 60, 12.0, objects=lambda _: (vehicle(4, 102, -13, np.pi / 2, 0), vehicle(5, 113, 3.5, np.pi, 0))
    )
    assert log.has_arrived
    assert log.column(3)[:-200].min() > 5.0


def test_end_of_route_is_reached_and_held() -> None:
    graph = chain([("straight", 60, 0), ("arc", 8, np.pi / 2), ("straight", 40, 0)])
    goal = end_of(list(graph.lanes.values())[-1])
    planner = planner_on(graph, Pose2D(0, 0, 0), Pose2D(*goal))
    log = drive(planner, 50, stop_at_end=False)
    route = planner.route
    assert route is not None
    assert log.has_arrived
    assert log.column(1)[-1] == pytest.approx(route.length_m, abs=0.5)
    assert log.column(3)[-100:].max() < 1e-3
    assert describe(log.plans[-1].constraint).startswith("end of route")


def kinds(log: Log) -> set[ConstraintKind]:
    return {plan.limited_by.kind for plan in log.plans if plan.limited_by is not None}


def test_the_plan_names_what_limits_it_by_kind_object_and_distance() -> None:
    """A red light, then a car that stands behind it: each while the ego stands before it."""
    parked = vehicle(57, 180.0, 0.0, 0.0, 0.0)
    log = drive(
        on_long_road(LIGHT),
        50,
        10.0,
        objects=lambda _: (parked,),
        lights=lambda t: light(LightState.RED if t < 25 else LightState.GREEN),
    )
    at_red, at_car = log.plans[int(24.0 / DT_S)].limited_by, log.plans[-1].limited_by
    assert at_red is not None
    assert (at_red.kind, at_red.object_id) == (ConstraintKind.RED_LIGHT, "7")
    assert at_red.distance_m is not None
    assert at_red.distance_m < 0.6
    assert log.column(3)[-1] < 0.05
    assert at_car is not None
    assert (at_car.kind, at_car.object_id) == (ConstraintKind.OBSTACLE, "57")
    gap_m = 180.0 - 0.5 * parked.length_m - (log.column(1)[-1] + FRONT_M)
    assert at_car.distance_m == pytest.approx(gap_m, abs=0.3)
    assert {ConstraintKind.SPEED_LIMIT, ConstraintKind.ACCELERATION} <= kinds(log)


def test_a_moving_leader_a_walker_and_a_sign_have_kinds_of_their_own() -> None:
    leader = drive(on_long_road(), 10, 10.0, objects=lambda t: (vehicle(57, 25.0 + 5.0 * t, 0.0, 0.0, 5.0),))
    assert ConstraintKind.LEADER in kinds(leader)
    assert ConstraintKind.OBSTACLE not in kinds(leader)
    crossing = drive(on_long_road(), 6, 10.0, objects=lambda t: (walker(80, 60.0, -6.0 + 1.4 * t, 0.0, 1.4),))
    assert ConstraintKind.PEDESTRIAN in kinds(crossing)
    stop = drive(on_long_road(Signal("9", SignalKind.STOP, key(1), 0.0)), 12, 10.0)
    assert ConstraintKind.STOP_SIGN in kinds(stop)
    bend = planner_on(
        chain([("straight", 60, 0), ("arc", 12, 1.5), ("straight", 60, 0)]), Pose2D(0, 0, 0), Pose2D(76, 68, 1.5)
    )
    assert {ConstraintKind.CURVE, ConstraintKind.END_OF_ROUTE} <= kinds(drive(bend, 60, 10.0))
