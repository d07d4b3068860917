"""The parts of a script: when they begin and end, and what happens when one takes too long."""

from __future__ import annotations

from typing import Any

import pytest

from av_core.errors import ConfigError
from av_core.orders import Destroy, Spawn
from scenarios.script.parts import PartRun
from tests.scenarios.script.stage import STEP_S, Stage, driving, script, standing

CAR = {"blueprint": "vehicle.audi.tt", "place": {"route_m": 100.0}}
PART = {"type": "ParkedObstacle", "begin": "begin", "end": "end", "timeout_s": 12.0}
EVENTS: list[dict[str, Any]] = [
    {"name": "begin", "when": {"route_m": 20.0}},
    {"name": "end", "when": {"passed": {"actor": "car", "by_m": 10.0}}, "do": [{"despawn": "car"}]},
]


def values(**part: Any) -> dict[str, Any]:
    return {"actors": {"car": CAR}, "events": EVENTS, "parts": {"obstacle": {**PART, **part}}}


def test_a_part_runs_from_one_event_to_the_other() -> None:
    stage = Stage(values(), driving(10.0)).play(1.9)
    assert stage.engine.parts == {"obstacle": PartRun("ParkedObstacle")}
    stage.play(5.0)
    assert stage.engine.parts["obstacle"].is_running
    stage.play(5.0)
    run = stage.engine.parts["obstacle"]
    assert (run.began_s, run.ended_s) == pytest.approx((2.0, 11.0), abs=2 * STEP_S)
    assert not run.is_timed_out


def test_a_part_that_takes_too_long_ends_with_its_actions() -> None:
    stage = Stage(values(timeout_s=3.0), driving(10.0)).play(20.0)
    assert stage.engine.parts["obstacle"] == PartRun("ParkedObstacle", 2.0, 5.0, is_timed_out=True)
    assert stage.orders(Destroy) == [(5.0, Destroy("car"))]


LATE = {**CAR, "waits": True}
LATE_EVENTS = [{**EVENTS[0], "do": [{"spawn": "car"}]}, EVENTS[1]]


def late(**part: Any) -> dict[str, Any]:
    return {"actors": {"car": LATE}, "events": LATE_EVENTS, "parts": {"obstacle": {**PART, **part}}}


@pytest.mark.parametrize("timeout_s", [None, 12.0, 60.0])
def test_a_part_that_lacks_an_actor_is_given_up(timeout_s: float | None) -> None:
    stage = Stage(late(timeout_s=timeout_s, actors=["car"]), driving(10.0))
    stage.taken.add("car")
    stage.play(10.0)
    assert stage.engine.parts["obstacle"] == PartRun("ParkedObstacle", 2.0, missing=("car",))
    stage.play(20.0)
    run = stage.engine.parts["obstacle"]
    assert (run.missing, run.is_timed_out) == (("car",), False)
    assert run.ended_s == pytest.approx(22.0, abs=2 * STEP_S)
    tried = stage.orders(Spawn)
    assert [order.pose.x_m - 100.0 for _, order in tried[:6]] == pytest.approx([0.0, 1.0, -1.0, 2.0, -2.0, 0.0])
    assert tried[-1][0] < 22.1  # it is tried no more


def test_a_part_whose_actor_comes_late_is_played() -> None:
    stage = Stage(late(timeout_s=60.0, actors=["car"]), driving(4.0))
    stage.taken.add("car")
    stage.play(14.0)
    assert stage.engine.parts["obstacle"].missing == ("car",)
    stage.taken.clear()
    stage.play(20.0)
    run = stage.engine.parts["obstacle"]
    assert (run.missing, run.is_timed_out, run.ended_s is None) == ((), False, False)


def test_a_part_without_a_time_out_runs_on() -> None:
    ego = lambda time_s: (min(10.0 * time_s, 50.0), 0.0)  # noqa: E731
    stage = Stage(values(timeout_s=None), ego).play(60.0)
    assert stage.engine.parts["obstacle"].is_running


def test_the_time_of_a_part_counts_from_its_begin() -> None:
    stage = Stage(values(timeout_s=3.0), standing).play(30.0)
    assert stage.engine.parts["obstacle"].began_s is None
    assert stage.engine.fired_s == {}


def test_a_part_whose_end_comes_first_never_begins() -> None:
    events = [{"name": "end", "when": {"time_s": 1.0}}, {"name": "begin", "when": {"time_s": 2.0}}]
    stage = Stage({"events": events, "parts": {"obstacle": PART}}, standing).play(20.0)
    assert stage.engine.parts["obstacle"] == PartRun("ParkedObstacle")


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"begin": "begn"}, "part obstacle: no event begn .did you mean begin"),
        ({"end": "begin"}, "part obstacle: begin and end are the same event begin"),
        ({"emergency": "ambulance"}, "part obstacle: no actor ambulance"),
        ({"timeout_s": 0.0}, "parts.obstacle.timeout_s"),
        ({"timeout": 3.0}, "unknown key parts.obstacle.timeout"),
    ],
)
def test_parts_that_are_refused(part: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        script(values(**part))
