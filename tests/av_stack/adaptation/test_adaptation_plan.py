"""How an adaptation divides a server's towns and pictures."""

from __future__ import annotations

import pytest

from av_core.errors import ConfigError
from av_stack.adaptation.plan import make_plan, towns_of

PRESETS = ("ClearNoon", "HardRainNoon", "ClearNight")


def test_towns_are_named_once_and_large_maps_are_left_out() -> None:
    listed = ["/Game/Carla/Maps/Town02_Opt", "/Game/Carla/Maps/Town02", "/Game/Carla/Maps/Town04_Opt", "Town12/Town12"]
    assert towns_of(listed) == ["Town02", "Town04_Opt"]


@pytest.mark.parametrize(
    ("towns", "asked", "held_back"),
    [(["Town01", "Town02", "Town04"], None, "Town02"), (["A", "B"], None, "B"), (["A", "B"], "A", "A")],
)
def test_no_picture_of_the_town_held_back_is_learnt_from(towns: list[str], asked: str | None, held_back: str) -> None:
    plan = make_plan(towns, PRESETS, 480, asked)
    assert plan.held_back.maps == (held_back,)
    assert held_back not in plan.learn.maps
    assert {episode.map_name for episode in plan.learn.episodes()} == set(towns) - {held_back}
    assert (plan.learn.frames, plan.held_back.frames) == (360, 120)
    assert held_back in plan.note


def test_one_town_is_divided_by_weather_and_the_note_says_so() -> None:
    plan = make_plan(["Town10HD"], PRESETS, 96, None)
    assert plan.learn.maps == plan.held_back.maps == ("Town10HD",)
    assert not set(plan.learn.capture.weathers) & set(plan.held_back.capture.weathers)
    seeds = [{episode.seed for episode in spec.episodes()} for spec in (plan.learn, plan.held_back)]
    assert not seeds[0] & seeds[1]
    assert "one town" in plan.note


def test_episodes_begin_with_different_weathers() -> None:
    plan = make_plan(["Town10HD"], PRESETS, 192, None)
    first = [episode.weathers[0] for episode in plan.learn.episodes()]
    assert set(first) == {"ClearNoon"}  # two weathers, two scenes: each episode shows both
    shorter = make_plan(["Town10HD"], ("A", "b", "C", "d", "E", "f"), 192, None)
    assert {episode.weathers[0] for episode in shorter.learn.episodes()} == {"A", "C", "E"}


def test_an_unknown_town_is_an_error_that_names_the_towns() -> None:
    with pytest.raises(ConfigError, match=r"no town 'Town2'.*it has Town01, Town02"):
        make_plan(["Town01", "Town02"], PRESETS, 480, "Town2")
