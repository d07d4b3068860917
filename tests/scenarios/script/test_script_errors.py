"""Scripts that cannot be played are refused with one line that says what is wrong and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from av_core.errors import AvStackError, ConfigError
from tests.scenarios.script.stage import Stage, script, standing

CAR = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 100.0}}


def event(when: dict[str, Any], do: dict[str, Any], name: str = "it") -> dict[str, Any]:
    return {"name": name, "when": when, "do": [do]}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"actors": {"car": {**CAR, "colour": "red"}}}, "actors.car.colour"),
        ({"actors": {"ego": CAR}}, "the name ego is the ego's"),
        ({"actors": {"car": {"blueprint": "vehicle.audi.tt", "place": {"x": 1.0}}}}, "a place needs the keys"),
        ({"actors": {"car": {**CAR, "speed": 3.0}}}, "unknown key actors.car.speed"),
        (
            {"actors": {"car": CAR}, "events": [event({"time_s": 1.0}, {"despawn": "cat"})]},
            "no actor cat (did you mean car?)",
        ),
        ({"events": [event({"time_s": 1.0}, {"start_flow": "stream"})]}, "no flow stream; there is no flow"),
        (
            {
                "actors": {"car": CAR},
                "events": [event({"distance": {"actor": "bus", "below_m": 3.0}}, {"despawn": "car"})],
            },
            "no actor bus",
        ),
        (
            {"actors": {"car": CAR}, "events": [event({"time_s": 1.0, "route_m": 2.0}, {"despawn": "car"})]},
            "exactly one key is needed of",
        ),
        (
            {"actors": {"car": CAR}, "events": [event({"timer_s": 1.0}, {"despawn": "car"})]},
            "unknown key events.0.when.timer_s (did you mean time_s?)",
        ),
        (
            {"actors": {"car": CAR}, "events": [event({"any": [{"arrives": 1.0}]}, {"despawn": "car"})]},
            "unknown key events.0.when.any.0.arrives (did you mean arrival?); allowed are after, all, any, arrival",
        ),
        ({"actors": {"car": CAR}, "events": [event({"time_s": 1.0}, {"fly": "car"})]}, "unknown key events.0.do.0.fly"),
        ({"actors": {"car": CAR}, "events": [event({"time_s": -1.0}, {"despawn": "car"})]}, "expected at least 0"),
        (
            {"actors": {"car": CAR}, "events": [event({"time_s": 1.0}, {"follow_lane": {"actor": "car"}})]},
            "either speed_mps or ego_share is needed",
        ),
        (
            {"actors": {"car": CAR}, "events": [event({"after": {"event": "it"}}, {"despawn": "car"})]},
            "event it can never happen: it waits for it",
        ),
        (
            {
                "actors": {"car": {**CAR, "waits": True}},
                "events": [event({"speed": {"of": "car", "above_mps": 1.0}}, {"spawn": "car"})],
            },
            "event it can never happen: it waits for car",
        ),
        (
            {"actors": {"car": CAR}, "events": [event({"time_s": 1.0}, {"despawn": "car"})] * 2},
            "two have the name it",
        ),
    ],
)
def test_a_wrong_script(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        script(values)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"route_m": 4000.0}, "actor car: route_m 4000 is not on the route, which has"),
        ({"road": 999, "lane": -1, "s_m": 3.0}, "has no driving lane road 999 section 0 lane -1"),
        ({"x": 60.0, "y": 60.0}, "actor car: (60.0, 60.0) is not on a driving lane: add yaw_deg"),
        ({"x": 5000.0, "y": 5000.0, "yaw_deg": 0.0}, "actor car: (5000.0, 5000.0) is 6794 m from the nearest lane"),
    ],
)
def test_a_place_off_the_road(place: dict[str, float], words: str) -> None:
    with pytest.raises(AvStackError) as caught:
        Stage({"actors": {"car": {"blueprint": "vehicle.audi.tt", "place": place}}}, standing)
    assert words in str(caught.value)


def test_a_lane_change_where_there_is_no_lane() -> None:
    change = {"change_lane": {"actor": "car", "to": "left", "speed_mps": 5.0}}
    stage = Stage({"actors": {"car": CAR}, "events": [event({"time_s": 0.0}, change)]}, standing)
    with pytest.raises(AvStackError, match="event it: there is no lane in this direction to the left of road 0"):
        stage.play(1.0)
