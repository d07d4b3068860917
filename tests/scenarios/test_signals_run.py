"""When a red light or a stop sign counts as run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.types import LaneGraph, LightState, Signal, SignalKind
from scenarios.judging.geometry import StopLines
from scenarios.judging.lane_locator import LaneLocator
from scenarios.judging.signals import RedLights, RedLightsEntered, StopSigns, light_lines
from scenarios.judging.tick import Tick
from tests.planning.lanes_by_hand import join, key, straight
from tests.scenarios.judged_drives import CAR, STRAIGHT, show, tick_of, ticks_along_x

CROSSING = [
    straight(key(0), 0, 0, 0, 100),
    straight(key(1), 100, 0, 0, 20, junction=True),
    straight(key(2), 120, 0, 0, 80),
]
FRONT_CROSSES_M, TAIL_CROSSES_M = 97.75, 102.0
"""Where the ego's centre is then; the line is at 99.75 m."""


def crossing(*names: str) -> LaneGraph:
    graph = join(CROSSING, [Signal(name, SignalKind.TRAFFIC_LIGHT, key(1), 0.0) for name in names])
    inside = replace(graph.lanes[key(1)], predecessors=(key(0),))
    return replace(graph, lanes={**graph.lanes, key(1): inside})


def lit(ticks: list[Tick], state: Callable[[float], dict[str, LightState]]) -> list[Tick]:
    """The ticks with the lights' states by the ego's place."""
    return [replace(tick, truth=replace(tick.truth, lights=state(tick.centre.x_m))) for tick in ticks]


def red_lights_run(ticks: list[Tick], *names: str) -> list[str]:
    graph = crossing(*names)
    red_lights = RedLights(graph, CAR, LaneLocator(graph))
    show(red_lights, ticks)
    assert red_lights.infractions.red_lights == len(red_lights.signal_ids)
    return red_lights.signal_ids


def switching(before: LightState, after: LightState, at_m: float = 100.0) -> Callable[[float], dict[str, LightState]]:
    return lambda x_m: {"a": before if x_m < at_m else after}


RED, GREEN = LightState.RED, LightState.GREEN


@settings(deadline=None, max_examples=20)
@given(speed_mps=st.floats(5.0, 27.0), start_m=st.floats(90.0, 92.0))
def test_a_red_light_is_run_once_at_any_speed(speed_mps: float, start_m: float) -> None:
    assert red_lights_run(lit(ticks_along_x(start_m, 110.0, speed_mps), switching(RED, RED)), "a") == ["a"]


def test_a_green_or_yellow_light_is_not_run() -> None:
    for state in (GREEN, LightState.YELLOW):
        assert red_lights_run(lit(ticks_along_x(90, 120), switching(state, state)), "a") == []


def test_the_tail_decides_not_the_front() -> None:
    assert red_lights_run(lit(ticks_along_x(90, 120), switching(RED, GREEN)), "a") == []
    assert red_lights_run(lit(ticks_along_x(90, 120), switching(GREEN, RED)), "a") == ["a"]


def test_an_ego_that_stops_with_its_front_over_the_line_runs_nothing() -> None:
    stopped = [tick_of(TAIL_CROSSES_M - 0.9, speed_mps=0.0)] * 20
    assert (
        red_lights_run(lit([*ticks_along_x(90, TAIL_CROSSES_M - 0.9), *stopped], switching(RED, RED, 0.0)), "a") == []
    )


def test_the_front_is_reported_apart() -> None:
    line = StopLines(("a",), np.array([[99.75, 0.0]]), np.array([0.0]), np.array([1.75]))
    for state, names in ((switching(RED, GREEN), ["a"]), (switching(GREEN, RED), [])):
        entered = RedLightsEntered(line)
        before = None
        for tick in lit(ticks_along_x(90, 120), state):
            entered.update(replace(tick, front_before=tick.front if before is None else before))
            before = tick.front
        assert entered.signal_ids == names


def test_the_light_that_was_run_last_does_not_count_again() -> None:
    twice = [*ticks_along_x(90, 120), *ticks_along_x(90, 120)]
    assert red_lights_run(lit(twice, switching(RED, RED)), "a") == ["a"]


def test_the_way_back_is_not_governed() -> None:
    assert red_lights_run(lit(ticks_along_x(120, 90), switching(RED, RED)), "a") == []


def test_two_lights_of_one_lane() -> None:
    both_red = lit(ticks_along_x(90, 120), lambda _: {"a": RED, "b": RED})
    assert red_lights_run(both_red, "a", "b") == ["a"]
    one_green = lit(ticks_along_x(90, 120), lambda _: {"a": RED, "b": GREEN})
    assert red_lights_run(one_green, "a", "b") == []


def test_the_line_is_right_before_the_junction_wherever_the_light_stands() -> None:
    """In the junction behind the line, and far before it."""
    assert [round(line.at.x_m, 2) for line in light_lines(crossing("a"))] == [99.75]
    early = join(CROSSING, [Signal("a", SignalKind.TRAFFIC_LIGHT, key(0), 60.0)])
    assert [round(line.at.x_m, 2) for line in light_lines(early)] == [99.75]
    without_junction = replace(STRAIGHT, signals=(Signal("a", SignalKind.TRAFFIC_LIGHT, key(0), 60.0),))
    assert [round(line.at.x_m, 2) for line in light_lines(without_junction)] == [60.0]


def stop_signs_run(*parts: list[Tick]) -> int:
    """Of a stop sign at 100 m, whose square reaches from 96.5 to 100.3 m."""
    graph = replace(STRAIGHT, signals=(Signal("s", SignalKind.STOP, key(0), 100.0),))
    stop_signs = StopSigns(graph, LaneLocator(graph))
    for part in parts:
        show(stop_signs, part)
    return stop_signs.infractions.stop_signs


def stand_at(x_m: float, speed_mps: float = 0.0) -> list[Tick]:
    return [tick_of(x_m, speed_mps=speed_mps)] * 20


@settings(deadline=None, max_examples=20)
@given(speed_mps=st.floats(1.0, 27.0))
def test_a_stop_sign_is_run_at_any_speed(speed_mps: float) -> None:
    assert stop_signs_run(ticks_along_x(92, 106, speed_mps)) == 1


@settings(deadline=None, max_examples=20)
@given(x_m=st.floats(94.9, 99.8))
def test_a_stop_under_the_sign_is_enough(x_m: float) -> None:
    assert stop_signs_run(ticks_along_x(80, x_m), stand_at(x_m), ticks_along_x(x_m, 120)) == 0


@settings(deadline=None, max_examples=20)
@given(x_m=st.floats(80.0, 93.5))
def test_a_stop_before_the_sign_is_not_enough(x_m: float) -> None:
    assert stop_signs_run(ticks_along_x(70, x_m), stand_at(x_m), ticks_along_x(x_m, 120)) == 1


def test_a_stop_behind_the_sign_comes_too_late() -> None:
    assert stop_signs_run(ticks_along_x(80, 101), stand_at(101), ticks_along_x(101, 120)) == 1


def test_creeping_is_not_stopping() -> None:
    assert stop_signs_run(ticks_along_x(80, 98), stand_at(98, 0.11), ticks_along_x(98, 120)) == 1


def test_a_sign_for_the_other_direction_does_not_hold() -> None:
    assert stop_signs_run(ticks_along_x(120, 80)) == 0


def test_one_sign_is_not_run_twice_in_a_row() -> None:
    assert stop_signs_run(ticks_along_x(80, 120), ticks_along_x(80, 120)) == 1
