"""Weather along a route equals what the official code computes, and where that ends with an error, the lint says so."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from scenarios.leaderboard.lint import lint
from scenarios.leaderboard.route_xml import survey
from scenarios.leaderboard.weather import Weather, WeatherKeyframe, weather_at
from tests.scenarios.leaderboard.official_weather import CASES, PERCENTAGES, STORED
from tests.scenarios.leaderboard.route_text import VALID

OFFICIAL: list[dict[str, Any]] = json.loads(STORED.read_text())
BEFORE, AFTER = VALID.index("    <weathers>"), VALID.index("    <waypoints>")


def file_with(weathers: str) -> bytes:
    return (VALID[:BEFORE] + weathers + VALID[AFTER:]).encode()


def test_all_cases_are_stored() -> None:
    assert {case["name"]: case["xml"] for case in OFFICIAL} == CASES


@pytest.mark.parametrize("case", [case for case in OFFICIAL if "error" not in case], ids=lambda case: str(case["name"]))
def test_weather_equals_the_official_codes(case: dict[str, Any]) -> None:
    """To the precision of CARLA's numbers, which have 32 bits."""
    (route,) = survey(file_with(case["xml"]), "routes.xml").routes
    assert {int(at) for at in case["weathers"]} == set(PERCENTAGES)
    for at, official in case["weathers"].items():
        assert asdict(weather_at(route.weather, float(at))) == pytest.approx(official, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("case", [case for case in OFFICIAL if "error" in case], ids=lambda case: str(case["name"]))
def test_weather_on_which_the_official_code_fails_is_reported(case: dict[str, Any]) -> None:
    assert lint(survey(file_with(case["xml"]), "routes.xml"), lambda town: None).problems


def test_weather_is_constant_before_the_first_and_after_the_last_keyframe() -> None:
    rows = [WeatherKeyframe(20.0, Weather(wetness=10.0), 1), WeatherKeyframe(60.0, Weather(wetness=30.0), 2)]
    assert [weather_at(rows, at).wetness for at in (0.0, 20.0, 40.0, 60.0, 100.0)] == [10.0, 10.0, 20.0, 30.0, 30.0]
