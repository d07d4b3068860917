from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from av_core.types import Constraint, ConstraintKind, LightState, TrafficLightView
from planning.config import BehaviorConfig, PlanningConfig, SpeedConfig
from planning.rules import LightMemory, StopMemory, StopPhase, decide_light, decide_stop_sign
from planning.speed import Leader, SpeedCeiling, StopTarget, backward_pass, integrate_motion
from planning.speed_kernel import safe_speed
from scenarios.judging.signals import STOP_NEAR_M
from tests.planning.closed_loop import CAR

BEHAVIOR = BehaviorConfig()
SPEED = SpeedConfig()


GREEN_BEFORE = LightMemory(LightState.GREEN, 0.0)


def seen(state: LightState, confidence: float = 1.0) -> TrafficLightView:
    return TrafficLightView("1", state, confidence)


def test_red_stops_green_goes_off_is_cautious() -> None:
    assert decide_light(LightMemory(), seen(LightState.RED), 30, 8, 0, BEHAVIOR)[1].stop
    assert not decide_light(LightMemory(), seen(LightState.GREEN), 30, 8, 0, BEHAVIOR)[1].stop
    off = decide_light(LightMemory(), seen(LightState.OFF), 30, 8, 0, BEHAVIOR)[1]
    assert off.cautious
    assert not off.stop


@given(st.floats(0, 80), st.floats(0, 20))
def test_yellow_stops_exactly_when_able(distance: float, speed: float) -> None:
    memory, decision = decide_light(GREEN_BEFORE, seen(LightState.YELLOW), distance, speed, 0.0, BEHAVIOR)
    needed = speed**2 / (2 * max(distance, 1e-9))
    if needed < BEHAVIOR.yellow_decel_mps2:
        assert decision.stop
    elif speed > 1.0 and needed > 1.5 * BEHAVIOR.yellow_decel_mps2:
        assert not decision.stop
        red = decide_light(memory, seen(LightState.RED), distance / 2, speed, 0.5, BEHAVIOR)
        assert not red[1].stop, "once committed the ego clears the junction"


def test_stopping_for_yellow_is_not_taken_back_at_the_line() -> None:
    memory = LightMemory()
    for distance, speed in ((40.0, 10.0), (20.0, 8.0), (5.0, 5.0), (0.1, 1.0), (-0.1, 0.4)):
        memory, decision = decide_light(memory, seen(LightState.YELLOW), distance, speed, 0.0, BEHAVIOR)
        assert decision.stop


def told(*steps: tuple[LightState | None, float, float]) -> list[bool]:
    """Whether to stop after each (state seen, distance m, speed m/s), a twentieth of a second apart."""
    memory, out = LightMemory(), []
    for number, (state, distance, speed) in enumerate(steps):
        view = None if state is None else seen(state)
        memory, decision = decide_light(memory, view, distance, speed, 0.05 * number, BEHAVIOR)
        out.append(decision.stop)
    return out


def test_a_red_that_flickers_to_yellow_or_off_still_stops() -> None:
    red, yellow, off = LightState.RED, LightState.YELLOW, LightState.OFF
    near = (0.3, 3.0)  # too near and too fast for the yellow's braking
    assert told((red, 2.0, 4.0), (yellow, *near), (red, *near), (off, *near), (red, *near)) == [True] * 5
    assert told((yellow, 30.0, 8.0), (off, 29.0, 8.0), (None, 28.0, 8.0)) == [True] * 3


def test_a_light_that_stays_off_after_red_lets_go_after_a_while() -> None:
    stops = told((LightState.RED, 20.0, 1.0), *[(LightState.OFF, 20.0, 0.0)] * 60)
    assert stops == sorted(stops, reverse=True)
    assert sum(stops) == pytest.approx(BEHAVIOR.light_broken_s / 0.05, abs=2)


def test_who_committed_at_yellow_and_was_slowed_down_stops() -> None:
    yellow, red, green = LightState.YELLOW, LightState.RED, (LightState.GREEN, 21.0, 13.0)
    assert told(green, (yellow, 20.0, 13.0), (yellow, 15.0, 12.0), (red, 12.0, 11.0)) == [False] * 4
    slowed = told(green, (yellow, 20.0, 13.0), (yellow, 15.0, 9.0), (red, 12.0, 6.0), (red, 2.0, 5.0))
    assert slowed == [False, False, True, True, True]


def test_a_yellow_first_seen_late_stops_the_ego_where_firm_braking_is_enough() -> None:
    """20 m at 13 m/s take 4.2 m/s2: too much for a yellow after green, not for one that may be a red."""
    yellow = LightState.YELLOW
    assert told((LightState.GREEN, 21.0, 13.0), (yellow, 20.0, 13.0)) == [False, False]
    assert told((yellow, 20.0, 13.0), (yellow, 19.4, 12.8)) == [True, True]
    assert told((yellow, 10.0, 13.0)) == [False], "there is no room to stop: 8.5 m/s2"


@pytest.mark.parametrize(("confidence", "stops"), [(0.65, True), (0.95, False)])
def test_a_yellow_of_low_confidence_is_a_red_where_there_is_room(confidence: float, stops: bool) -> None:
    view = seen(LightState.YELLOW, confidence)
    memory, decision = decide_light(GREEN_BEFORE, view, 20.0, 13.0, 0.05, BEHAVIOR)
    assert decision.stop is stops
    assert memory.committed is not stops


def test_a_confirmed_red_never_becomes_a_yellow_that_may_be_passed() -> None:
    red, green, yellow, near = LightState.RED, LightState.GREEN, LightState.YELLOW, (4.0, 8.0)
    assert told((red, *near), (yellow, *near), (yellow, *near)) == [True] * 3
    flicker = told((red, *near), (green, *near), (yellow, *near))
    assert flicker[2], "one picture of green between red and yellow"
    later = [(green, *near)] * (int(BEHAVIOR.light_green_min_s / 0.05) + 1)
    assert told((red, *near), *later, (yellow, *near))[-1] is False, "a yellow after a whole green is one"


def test_unknown_counts_as_red_when_near_and_red_is_remembered() -> None:
    assert not decide_light(LightMemory(), None, 80, 10, 0, BEHAVIOR)[1].stop
    assert decide_light(LightMemory(), None, 30, 10, 0, BEHAVIOR)[1].stop
    green, _ = decide_light(LightMemory(), seen(LightState.GREEN), 30, 10, 0.0, BEHAVIOR)
    assert not decide_light(green, None, 28, 10, 0.5, BEHAVIOR)[1].stop
    assert decide_light(green, None, 20, 10, 2.0, BEHAVIOR)[1].stop
    red, _ = decide_light(LightMemory(), seen(LightState.RED), 80, 10, 0.0, BEHAVIOR)
    assert decide_light(red, None, 60, 10, 20.0, BEHAVIOR)[1].stop


def test_a_stop_counts_wherever_the_ego_may_wait_for_the_sign() -> None:
    """A sign at the very edge of the junction: the middle of the ego has to be near it, as the Leaderboard judges."""
    furthest_m = BEHAVIOR.stop_sign_clearance_m + BEHAVIOR.stop_sign_zone_m + 0.5 * CAR.length_m
    assert furthest_m < STOP_NEAR_M


def test_stop_sign_phases() -> None:
    memory, stop = decide_stop_sign(StopMemory(), 20.0, 8.0, 0.0, BEHAVIOR)
    assert stop
    memory, stop = decide_stop_sign(memory, 0.3, 0.0, 5.0, BEHAVIOR)
    assert memory.phase is StopPhase.WAIT
    assert stop
    memory, stop = decide_stop_sign(memory, 0.3, 0.0, 5.5, BEHAVIOR)
    assert stop
    memory, stop = decide_stop_sign(memory, 0.3, 0.0, 6.1, BEHAVIOR)
    assert not stop


STOP = Constraint(ConstraintKind.STOP_SIGN)
VEHICLE = Constraint(ConstraintKind.LEADER, "1")


def flat(speed: np.ndarray) -> SpeedCeiling:
    return SpeedCeiling(
        np.arange(len(speed), dtype=np.float64) * 0.5,
        speed,
        lambda row: Constraint(ConstraintKind.SPEED_LIMIT, value=float(row)),
    )


@given(st.lists(st.floats(0.5, 30.0), min_size=3, max_size=60))
def test_backward_pass_brakes_in_time_and_no_earlier(speeds: list[float]) -> None:
    ceiling = flat(np.array(speeds))
    reference = backward_pass(ceiling, SPEED)
    v, s = reference.speed_mps, reference.s_m
    assert np.all(v <= ceiling.speed_mps + 1e-9)
    assert np.all(np.diff(v**2) >= -2 * SPEED.decel_comfort_mps2 * np.diff(s) - 1e-6)
    exact = [
        min(np.sqrt(ceiling.speed_mps[j] ** 2 + 2 * SPEED.decel_comfort_mps2 * (s[j] - s[i])) for j in range(i, len(s)))
        for i in range(len(s))
    ]
    assert v == pytest.approx(np.array(exact), rel=1e-6)
    for i, j in enumerate(reference.binding):
        assert v[i] == pytest.approx(
            np.sqrt(ceiling.speed_mps[j] ** 2 + 2 * SPEED.decel_comfort_mps2 * (s[j] - s[i])), rel=1e-6
        )


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.floats(1.0, 30.0), min_size=200, max_size=200),
    st.floats(0, 25),
    st.floats(-3, 2.5),
    st.floats(0, 90),
    st.floats(-5, 90),
    st.floats(0, 25),
)
def test_any_motion_is_finite_and_within_limits(
    speeds: list[float], v: float, a: float, stop_s: float, gap: float, leader: float
) -> None:
    stops, leaders = [StopTarget(stop_s, STOP)], [Leader(gap, leader, VEHICLE)]
    motion = integrate_motion(flat(np.array(speeds)), stops, leaders, (0.0, v, a), SPEED)
    for values in (motion.s_m, motion.speed_mps, motion.accel_mps2):
        assert np.isfinite(values).all()
    assert np.all(np.diff(motion.s_m) >= -1e-9)
    assert np.all(motion.speed_mps >= 0)
    assert motion.accel_mps2[1:].max() <= max(SPEED.accel_max_mps2, a) + 1e-6
    assert motion.accel_mps2.min() >= -SPEED.decel_emergency_mps2 - 1e-6
    assert motion.constraint.distance_m is not None
    assert motion.constraint.distance_m >= 0.0


@given(st.floats(0.0, 0.9), st.floats(0.0, 0.6), st.floats(0.0, 6.0))
def test_a_slow_ego_does_not_creep_into_what_it_almost_touches(v: float, gap_m: float, seems_mps: float) -> None:
    """Whatever speed is measured of it: a standing vehicle seems to move where depth is noisy."""
    motion = integrate_motion(flat(np.full(100, 15.0)), [], [Leader(gap_m, seems_mps, VEHICLE)], (0.0, v, 0.0), SPEED)
    assert motion.speed_mps[-1] < 0.05
    assert motion.s_m[-1] <= v  # it stops within about a second


@pytest.mark.parametrize(("ego_mps", "gap_m", "leader_mps", "brakes"), [
    (1.7, 1.2, 2.8, False),  # a bicycle that rides away
    (2.7, 1.2, 2.8, True),  # it hardly does
    (1.7, 1.2, 1.0, True),
    (18.0, 6.0, 19.0, True),  # a car that cuts in: the ego could not stop behind it
])  # fmt: skip
def test_it_does_not_brake_for_a_gap_that_opens(ego_mps: float, gap_m: float, leader_mps: float, brakes: bool) -> None:
    """Between two bicycles, it braked to 1.2 m/s for a gap to the one ahead, and the one behind ran into it."""
    leader = Leader(gap_m, leader_mps, VEHICLE)
    motion = integrate_motion(flat(np.full(100, 25.0)), [], [leader], (0.0, ego_mps, 0.0), SPEED)
    assert bool(motion.speed_mps.min() < ego_mps - 0.1) is brakes


@settings(max_examples=80, deadline=None)
@given(st.floats(0, 16), st.floats(1, 90))
def test_stops_short_of_the_target_whenever_comfort_allows(v: float, distance: float) -> None:
    """Standing start or enough room: no overrun beyond 5 cm and no firm braking."""
    if v**2 / (2 * SPEED.decel_comfort_mps2) + 0.7 * v > distance:
        return
    s, speed, accel = 0.0, v, 0.0
    lowest = 0.0
    for _ in range(12):
        motion = integrate_motion(flat(np.full(400, 16.0)), [StopTarget(distance, STOP)], [], (s, speed, accel), SPEED)
        s, speed, accel = float(motion.s_m[50]), float(motion.speed_mps[50]), float(motion.accel_mps2[50])
        lowest = min(lowest, float(motion.accel_mps2.min()))
    assert distance - 0.5 < s <= distance + 0.05
    assert lowest >= -SPEED.decel_firm_mps2 - 0.3


@pytest.mark.parametrize("start", [(np.nan, 5.0, 0.0), (0.0, np.inf, 0.0), (0.0, 5.0, np.nan)])
def test_a_start_that_is_not_finite_is_refused(start: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="no motion starts from"):
        integrate_motion(flat(np.full(100, 15.0)), [], [], start, SPEED)


@given(st.floats(0, 100), st.floats(0, 30))
def test_safe_speed_leaves_room_to_stop(gap: float, ahead: float) -> None:
    v = safe_speed(gap, ahead, 1.2, 2.5)
    assert v * 1.2 + v**2 / 5.0 <= gap + ahead**2 / 5.0 + 1e-6


def test_config_refuses_what_it_does_not_know() -> None:
    with pytest.raises(ValidationError):
        PlanningConfig.model_validate({"speed": {"accel_max": 3.0}})
