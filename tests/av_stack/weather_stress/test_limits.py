"""Figures of paired looks, stated limits, and what a search finds over several drives."""

from __future__ import annotations

import pytest

from av_core.types import Pose2D, Stamp, Truth
from av_stack.replay.perception_scores import SeenLine, SeenObject, StepScore
from av_stack.weather_stress.drive_figures import PASSES, stopping_distance_m
from av_stack.weather_stress.figures import SAMPLES_MIN, look_figures
from av_stack.weather_stress.first_failures import UnitLimit, first_of, module_limit
from av_stack.weather_stress.intervals import Interval, limit_interval, mean_interval
from av_stack.weather_stress.limits import LIMITS, MODULES, is_missed
from av_stack.weather_stress.parameters import Search

FOG = Search("fog_density", 0.0, 100.0)


def step(line_m: float | None = 0.05, sees_car: bool = True, light: str = "red", off_m: float = 0.0) -> StepScore:
    car = SeenObject(1, "vehicles", 30.0, 31.5 if sees_car else None, 25.0, sees_car)
    lights = {"7": light} if light else {}
    return StepScore(Stamp(1, 0.05), (SeenLine("left", line_m),), (car,), lights, {"7": "red"}, (0.0, off_m))


def values(there: list[StepScore], now: list[StepScore]) -> dict[str, float | None]:
    return {figure.name: figure.value for figure in look_figures(there, now)}


def test_a_drive_compared_with_itself_keeps_everything() -> None:
    steps = [step()] * SAMPLES_MIN
    found = values(steps, steps)
    assert found["lines_kept"] == found["users_kept"] == found["lights_kept"] == 1.0
    assert found["range_error_median"] == pytest.approx(0.05)
    assert found["recall_vehicles_20_40_m"] == found["recall_vehicles_20_50_px"] == 1.0
    assert found["recall_vehicles_0_20_m"] is None
    assert [is_missed(module, found) for module in MODULES] == [False, False, False, False, False, None]


@pytest.mark.parametrize(
    ("bad", "module"),
    [
        (step(line_m=None), "lanes"),
        (step(line_m=0.4), "lanes"),
        (step(sees_car=False), "detector"),
        (step(light="green"), "lights"),
        (step(light=""), "lights"),
        (step(off_m=0.6), "localization"),
    ],
)
def test_what_is_lost_is_charged_to_its_module(bad: StepScore, module: str) -> None:
    there = [step()] * 40
    now = [*[step()] * 34, *[bad] * 6]
    found = values(there, now)
    assert [name for name in MODULES if is_missed(name, found)] == [module]


def test_a_wrong_light_counts_where_the_reference_read_none() -> None:
    there, now = [step(light="")] * 20 + [step()] * 20, [step(light="green")] * 20 + [step()] * 20
    found = values(there, now)
    assert found["lights_kept"] == 1.0
    assert found["lights_wrong"] == 0.5
    assert is_missed("lights", found)


def test_what_the_reference_does_not_see_is_not_asked_for() -> None:
    hidden = [step(sees_car=False)] * 40
    assert values(hidden, hidden)["users_kept"] is None
    assert is_missed("detector", values(hidden, hidden)) is None


def test_too_few_samples_say_nothing() -> None:
    assert values([step()] * (SAMPLES_MIN - 1), [step(light="green")] * (SAMPLES_MIN - 1))["lights_wrong"] is None


def test_the_drives_limit_is_what_its_scenario_expects() -> None:
    assert is_missed("drive", {PASSES: 0.0})
    assert is_missed("drive", {PASSES: 1.0}) is False
    assert is_missed("drive", {}) is None


def test_each_limit_has_a_reason() -> None:
    assert all(limit.reason and limit.what for limit in LIMITS)


def truths(*speeds_mps: float) -> list[Truth]:
    """One step a second; the ego moves by the speed of each."""
    found, x_m = [], 0.0
    for number, speed_mps in enumerate(speeds_mps):
        x_m += speed_mps
        found.append(Truth(Stamp(number + 1, 7.0 + number), Pose2D(x_m, 0.0, 0.0), 0.0, speed_mps, (), {}, ()))
    return found


def test_the_stopping_distance_counts_from_the_first_event() -> None:
    drive = truths(10.0, 10.0, 8.0, 4.0, 0.0, 5.0, 5.0)
    assert stopping_distance_m(drive, {"late": 9.0, "step_out": 1.0}) == pytest.approx(12.0)
    assert stopping_distance_m(drive, {}) is None
    assert stopping_distance_m(drive, {"step_out": 5.0}) is None
    assert stopping_distance_m(truths(10.0, 5.0, 0.0), {"step_out": 0.0}) is None  # it stands at its goal


def test_intervals_are_students() -> None:
    assert mean_interval([]) is None
    assert mean_interval([3.0]) == Interval(3.0, None, None, 1)
    found = mean_interval([1.0, 2.0, 3.0])  # by hand: t(0.975, 2) = 4.3027, s / sqrt(3) = 0.57735
    assert found is not None
    assert found.low == pytest.approx(2.0 - 2.4841, abs=1e-3)
    assert found.high == pytest.approx(2.0 + 2.4841, abs=1e-3)


def test_the_interval_of_a_limit_has_the_width_of_its_brackets_and_stays_in_the_range() -> None:
    assert limit_interval([50.0, 50.0], 1.5, (0.0, 100.0)) == Interval(50.0, 48.5, 51.5, 2)
    found = limit_interval([10.0, 40.0], 1.5, (45.0, -30.0))
    assert found is not None
    assert (found.low, found.high) == (-30.0, 45.0)


def limit(unit: str, module: str, fraction: float | None, is_known: bool = True) -> UnitLimit:
    if fraction is None:
        return UnitLimit(unit, module, None, None, fraction, is_known)
    return UnitLimit(unit, module, FOG.value(fraction) - 2.0, FOG.value(fraction) + 2.0, fraction, is_known)


def test_drives_that_never_miss_count_with_the_harsh_end() -> None:
    found = module_limit("lanes", [limit("a", "lanes", 0.5), limit("b", "lanes", None)], FOG)
    assert found.never == 1
    assert found.interval is not None
    assert found.interval.mean == 75.0
    assert module_limit("lanes", [limit("a", "lanes", None)], FOG).interval is None
    assert module_limit("lights", [limit("a", "lights", None, is_known=False)], FOG).unknown == 1


def test_the_module_that_fails_first_is_named() -> None:
    limits = [limit("a", "lanes", 0.5), limit("a", "lights", 0.25), limit("a", "drive", 0.1), limit("a", "depth", None)]
    assert first_of(limits) == ["lights"]
    assert first_of([*limits, limit("a", "detector", 0.25)]) == ["lights", "detector"]
    assert first_of([limit("a", "lanes", None)]) == []
