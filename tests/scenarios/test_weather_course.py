"""The weather along a route: how often it changes, what it is, and which keyframes are refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from av_core.config import validate
from av_core.errors import ConfigError
from scenarios.model import Scenario
from scenarios.weather_course import KeyframeTable, WeatherCourse, kinds_of_weather, start_weather

BASE = {"name": "a", "map": "Town01", "route": {"start": (0.0, 0.0), "goal": (9.0, 0.0)}}
DRY = {"route_percent": 0.0, "precipitation": 0.0, "sun_altitude_angle": 60.0}
WET = {"route_percent": 100.0, "precipitation": 80.0, "sun_altitude_angle": -10.0}
LENGTH_M = 200.0


def keyframes(*tables: dict[str, float]) -> tuple[KeyframeTable, ...]:
    return tuple(KeyframeTable(**table) for table in tables)


@given(st.lists(st.floats(0.0, 1.5), min_size=1, max_size=300))
def test_the_weather_follows_the_ego_and_changes_once_a_metre_at_most(moves_m: list[float]) -> None:
    course = WeatherCourse(keyframes(DRY, WET), LENGTH_M)
    at_m, orders = 0.0, []
    for move_m in moves_m:
        at_m = min(at_m + move_m, LENGTH_M)
        for order in course.step(at_m):
            orders.append(at_m)
            assert order.values["precipitation"] == pytest.approx(80.0 * at_m / LENGTH_M)
            assert order.values["sun_altitude_angle"] == pytest.approx(60.0 - 70.0 * at_m / LENGTH_M)
    assert all(later - earlier >= 1.0 - 1e-9 for earlier, later in pairwise(orders))
    assert at_m - (orders[-1] if orders else 0.0) < 2.5  # it is never far behind


def test_weather_that_stays_is_not_sent_again() -> None:
    half = {**DRY, "route_percent": 50.0}
    course = WeatherCourse(keyframes(DRY, half, {**DRY, "route_percent": 100.0}), LENGTH_M)
    assert not [order for at_m in range(200) for order in course.step(float(at_m))]
    single = WeatherCourse(keyframes(WET), LENGTH_M)
    assert not [order for at_m in range(200) for order in single.step(float(at_m))]
    assert start_weather(keyframes(WET))["precipitation"] == 80.0


def test_each_kind_of_weather_is_known_beforehand() -> None:
    assert kinds_of_weather(keyframes(WET)) == ()
    kinds = kinds_of_weather(keyframes(DRY, WET))
    assert kinds[0]["precipitation"] == 0.0  # dry, then wet by day, then wet at each step of dusk
    assert [kind["sun_altitude_angle"] for kind in kinds[1:]] == pytest.approx(
        [59.3, 11.7, 9.6, 7.5, 5.4, 4.0, 1.9, -0.2, -2.3, -4.4, -6.5, -8.6], abs=1.5
    )
    assert all(kind["precipitation"] > 0.0 for kind in kinds[1:])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weather_keyframes": [WET, DRY]}, "each needs a larger route_percent"),
        ({"weather_keyframes": [DRY, DRY]}, "each needs a larger route_percent"),
        ({"weather_keyframes": [DRY], "weather": "ClearNoon"}, "either weather or weather_keyframes"),
        ({"weather_keyframes": [{**DRY, "precipitation": 101.0}]}, "precipitation"),
        ({"weather_keyframes": [{**DRY, "rain": 3.0}]}, "rain"),
        ({"weather_keyframes": [{"precipitation": 3.0}]}, "route_percent"),
    ],
)
def test_keyframes_that_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        validate({**BASE, **change}, Scenario, "test")
