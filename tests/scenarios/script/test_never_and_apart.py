"""Events that can never happen on a route, and actors at one place, are found before the drive."""

from __future__ import annotations

from typing import Any

import pytest

from av_core.errors import RouteError
from scenarios.script.never import why_never
from tests.scenarios.script.stage import Stage, script, standing


def car(route_m: float, offset_m: float = 0.0, blueprint: str = "vehicle.audi.tt", **more: Any) -> dict[str, Any]:
    return {"blueprint": blueprint, "place": {"route_m": route_m, "offset_m": offset_m}, **more}


def reason(when: dict[str, Any]) -> str:
    values = {"actors": {"car": car(50.0)}, "events": [{"name": "it", "when": when}]}
    return why_never(script(values), 400.0, 900.0)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ({"route_m": 500.0}, "event it can never happen: route_m 500 is beyond the route, which has 400 m"),
        ({"time_s": 900.0}, "time_s 900 is after the end of the drive, timeout_s 900"),
        ({"distance": {"actor": "car", "below_m": 0.0}}, "no distance is below 0 m"),
        ({"arrival": {"actor": "car", "below_s": 0.0}}, "no arrival is in less than 0 s"),
        ({"speed": {"above_mps": 5.0, "below_mps": 4.0}}, "no speed is above 5 and below 4 m/s"),
        ({"all": [{"time_s": 1.0}, {"route_m": 500.0}]}, "route_m 500"),
        ({"any": [{"time_s": 950.0}, {"route_m": 500.0}]}, "time_s 950"),
    ],
)
def test_events_that_can_never_happen(when: dict[str, Any], words: str) -> None:
    assert words in reason(when)


@pytest.mark.parametrize(
    "when",
    [
        {"route_m": 400.0},
        {"time_s": 899.0},
        {"distance": {"actor": "car", "below_m": 0.1}},
        {"speed": {"above_mps": 4.0, "below_mps": 5.0}},
        {"any": [{"time_s": 950.0}, {"route_m": 300.0}]},
    ],
)
def test_events_that_can_happen(when: dict[str, Any]) -> None:
    assert reason(when) == ""


@pytest.mark.parametrize(
    ("actors", "words"),
    [
        ({"one": car(50.0), "two": car(50.5, 0.5)}, r"actors one and two are at one place, \(50.0, -?0.0\)"),
        ({"one": car(50.0), "two": car(50.1, 0.0, "walker.pedestrian.0001")}, "actors one and two"),
        ({"one": car(2.0, -0.5)}, "actor one stands in the ego, at"),
        ({"one": car(1.0, 0.0, "static.prop.trafficcone01")}, "actor one stands in the ego"),
    ],
)
def test_actors_at_one_place(actors: dict[str, Any], words: str) -> None:
    with pytest.raises(RouteError, match=words):
        Stage({"actors": actors}, standing)


@pytest.mark.parametrize(
    "actors",
    [
        {"one": car(50.0), "two": car(50.0, 1.2)},
        {"one": car(50.0), "two": car(50.0, 0.4, "walker.pedestrian.0001")},
        {"one": car(50.0, waits=True), "two": car(50.0)},
        {"one": car(2.6)},
        {"one": car(1.0, 1.0, "walker.pedestrian.0001")},
    ],
)
def test_actors_beside_each_other(actors: dict[str, Any]) -> None:
    assert Stage({"actors": actors}, standing).seen
