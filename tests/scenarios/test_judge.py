"""Whole made-up drives through the judge: criteria, scores and the end of the drive together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from av_core.types import CollisionEvent, LightState, Pose2D, Signal, SignalKind, Stamp, Truth
from av_stack.results.report import Played, result, table
from scenarios.judging.judge import Judge, Verdict
from scenarios.judging.score import Infractions
from scenarios.model import RouteTable, Scenario
from tests.planning.lanes_by_hand import join, key, straight
from tests.scenarios.judged_drives import CAR, STEP_S, car, route_on

ROAD = [
    straight(key(0), 0, 0, 0, 100),
    straight(key(1), 100, 0, 0, 20, junction=True),
    straight(key(2), 120, 0, 0, 180),
]
GRAPH = join(ROAD, [Signal("a", SignalKind.TRAFFIC_LIGHT, key(0), 90.0), Signal("s", SignalKind.STOP, key(2), 80.0)])
START_M, END_M, SPEED_MPS = 2.0, 298.0, 10.0


def drive(
    change: Callable[[Truth], Truth] = lambda truth: truth,
    stop_at_m: float = 198.5,
    end_m: float = END_M,
    judge: Judge | None = None,
) -> tuple[Judge, Verdict]:
    """A drive along the road among traffic at 8 m/s, which stops at the stop sign; `change` alters its truths."""
    judge = judge or Judge(GRAPH, route_on(GRAPH, START_M, END_M), CAR, timeout_s=100.0)
    x_m, frame, waits, end = START_M, 0, 20, None
    while x_m < end_m and end is None:
        is_waiting = x_m >= stop_at_m and waits > 0
        waits -= is_waiting
        speed_mps = 0.0 if is_waiting else SPEED_MPS
        lights = {"a": LightState.GREEN}
        stamp = Stamp(frame, frame * STEP_S)
        traffic = (car(1, x_m, 20.0, 8.0),)
        truth = Truth(stamp, Pose2D(x_m, 0.0, 0.0), 0.0, speed_mps, traffic, lights, (), frozenset({1}))
        end = judge.update(change(truth))
        x_m, frame = x_m + speed_mps * STEP_S, frame + 1
    return judge, judge.verdict(end or "arrived")


def test_a_good_drive_scores_100() -> None:
    judge, verdict = drive()
    assert judge.is_arrived
    assert verdict.infractions == Infractions()
    assert verdict.route_completion == 1.0
    assert verdict.driving_score == verdict.driving_score_2_1 == 100.0
    assert verdict.comfort is not None
    assert verdict.comfort.efficiency_percent == pytest.approx(118.0, abs=4.0)


def test_a_bad_drive_collects_the_infractions_of_all_criteria() -> None:
    def worse(truth: Truth) -> Truth:
        hit = CollisionEvent(truth.stamp, 9, "vehicle.audi.tt", 1e3)
        hits = (hit,) if 49.9 < truth.ego.x_m < 50.1 else ()
        return replace(truth, lights={"a": LightState.RED}, collisions=hits)

    _, verdict = drive(worse, stop_at_m=1e9)
    assert verdict.infractions == Infractions(collisions_vehicle=1, red_lights=1, stop_signs=1)
    assert verdict.driving_score == pytest.approx(100.0 * 0.6 * 0.7 * 0.8)
    assert verdict.driving_score_2_1 == pytest.approx(100.0 / (1.0 + 0.7 + 0.4 + 0.25))
    assert (verdict.red_lights, verdict.stop_signs) == (("a",), ("s",))
    assert verdict.collisions == ("vehicle.audi.tt at frame 96, 1000 N s",)
    assert verdict.safety.red_lights_entered == 1


def test_a_slow_drive_fails_quarters() -> None:
    fast = (car(1, 0.0, 20.0, 20.0),)
    _, verdict = drive(lambda truth: replace(truth, objects=fast))
    assert len(verdict.infractions.minimum_speed_percent) == 4
    assert verdict.driving_score < 60.0


def test_half_a_drive_beside_the_road() -> None:
    judge, verdict = drive(lambda truth: replace(truth, ego=replace(truth.ego, y_m=-4.0)), end_m=150.0)
    assert not judge.is_arrived
    assert verdict.route_completion == pytest.approx(0.505, abs=0.01)
    assert verdict.infractions.outside_lane_share == 1.0
    assert verdict.driving_score == verdict.driving_score_2_1 == 0.0


def test_leaving_the_route_ends_the_drive() -> None:
    _, verdict = drive(lambda truth: replace(truth, ego=replace(truth.ego, y_m=-32.0 if truth.ego.x_m > 50 else 0.0)))
    assert verdict.end == "left the route by 32 m"


def test_the_engine_reports_to_the_judge() -> None:
    judge, _ = drive()
    judge.scenarios.begin("Accident_1")
    judge.scenarios.end("Accident_1", is_timed_out=True)
    verdict = judge.verdict("arrived")
    assert verdict.infractions == Infractions(scenario_timeouts=1)
    assert verdict.scenarios == ("Accident_1: not finished in time",)
    assert not verdict.is_success
    assert verdict.driving_score == pytest.approx(70.0)


def test_result_and_table_show_scores_safety_and_comfort() -> None:
    def busy(truth: Truth) -> Truth:
        ahead, fast = car(1, truth.ego.x_m + 30.0, 0.0, 5.0), car(2, 0.0, 50.0, 40.0)
        return replace(truth, objects=(ahead, fast), background_ids=frozenset({1, 2}))

    _, verdict = drive(busy)
    scenario = Scenario(name="made up", map="none", route=RouteTable(start=(0.0, 0.0), goal=(1.0, 0.0)))
    error = {"rms_m": 0.0, "lateral_rms_m": 0.0}
    measured: dict[str, Any] = {
        "localization_error": error,
        "longest_stand": None,
        "constraints": {},
        "behaviours": {"stop": {"time_s": 12.0, "standing_s": 9.0, "times": 2}},
        "steps_per_s": 1.0,
    }
    measured["fastest_1000_m_mps"] = None
    figures = result(scenario, "compact", verdict, measured, (), "", None, Played({}, {}), "idle")
    assert figures["infractions"]["minimum_speed_percent"]
    assert figures["is_success"]  # a low speed does not count
    assert 100.0 > figures["driving_score"] != figures["driving_score_2_1"] < 100.0
    shown = dict(zip(*(column.cells for column in table(figures).columns), strict=True))
    assert shown["driving score 2.0 / 2.1"] == f"{figures['driving_score']:.1f} / {figures['driving_score_2_1']:.1f}"
    assert str(shown["slower than traffic"]).startswith(f"{len(verdict.infractions.minimum_speed_percent)} quarters")
    assert str(shown["smallest time to collision"]).startswith(f"{verdict.safety.time_to_collision_min_s:.1f} s, car 1")
    assert str(shown["comfortable"]).endswith("% of the time")
    assert shown["did: stop"] == "12 s (9 s of it standing), 2 times"
