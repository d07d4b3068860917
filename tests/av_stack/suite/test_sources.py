"""Which runs a suite has: of this project's suites, of route files, of folders; and what their names are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from av_core.errors import ConfigError
from av_stack.suite.fingerprint import differences, fingerprint, fingerprint_id
from av_stack.suite.job import Job, Options
from av_stack.suite.sources import (
    finished,
    folder_jobs,
    refuse_if_none_can_start,
    route_jobs,
    scenario_jobs,
    suite_jobs,
    with_map_digests,
)
from av_stack.world.carla.weather import named_weathers
from scenarios.leaderboard.route_xml import survey
from scenarios.leaderboard.types import TYPES
from scenarios.model import FOLDER as SCENARIOS
from scenarios.model import Scenario, load_scenario
from scenarios.suites import SUITES
from scenarios.weather_course import KeyframeTable

ROUTE = """
   <route id="{id}" town="{town}">
      <weathers><weather route_percentage="0" cloudiness="5"/></weathers>
      <waypoints><position x="1.0" y="2.0" z="0.0"/>
      <position x="3.0" y="2.0" z="0.0"/></waypoints>
      <scenarios/>
   </route>"""


def route_file(folder: Path, *routes: str) -> Path:
    path = folder / "some.xml"
    path.write_text(f"<routes>{''.join(routes)}\n</routes>\n")
    return path


def test_each_route_is_a_job_of_its_own(tmp_path: Path) -> None:
    path = route_file(tmp_path, *(ROUTE.format(id=number, town="city_grid") for number in range(4)))
    jobs = route_jobs(path, None, Options())
    assert [job.name for job in jobs] == [f"some_{number}" for number in range(4)]
    whole = survey(path.read_bytes(), "some.xml").routes
    for job, route in zip(jobs, whole, strict=True):
        alone = survey(job.text.encode(), "alone.xml")
        assert not alone.problems
        [found] = alone.routes
        assert (found.route_id, found.town) == (route.route_id, route.town)
        assert [(place.x_m, place.y_m) for place in found.waypoints] == [(1.0, 2.0), (3.0, 2.0)]
    assert [job.name for job in route_jobs(path, "1-2", Options())] == ["some_1", "some_2"]
    with pytest.raises(ConfigError, match="no route has the id"):
        route_jobs(path, "9", Options())


def test_a_bad_route_is_one_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    good = ROUTE.format(id="0", town="city_grid")
    nameless = good.replace('id="0" ', "")
    path = route_file(tmp_path, good, nameless, ROUTE.format(id="2", town="Town99"))
    jobs = {job.name: job for job in route_jobs(path, None, Options())}
    assert jobs["some_0"].refusal == ""
    assert "unknown map 'Town99'" in jobs["some_2"].refusal
    assert f"{path}:8: " in jobs["some_line_8"].refusal
    assert "id" in jobs["some_line_8"].refusal


def test_the_routes_of_obstacles_are_official_and_have_one_scenario_each() -> None:
    jobs = suite_jobs(SUITES["obstacles"], Options())
    types = Counter(job.name.rpartition("_")[2] if "T_J" not in job.name else "T_Junction" for job in jobs)
    assert set(types) == set(TYPES)
    assert set(types.values()) == {2}
    assert not any(job.refusal for job in jobs)


def test_routes_are_selected_from_a_suite_that_is_one_file() -> None:
    jobs = suite_jobs(SUITES["obstacles"], Options(), "3,5-6")
    assert [job.name.split("_")[1] for job in jobs] == ["3", "5", "6"]
    for name in ("quick", "full"):
        with pytest.raises(ConfigError, match="--routes '3'"):
            suite_jobs(SUITES[name], Options(), "3")


def test_a_folder_of_scenarios_is_a_suite(tmp_path: Path) -> None:
    text = (SCENARIOS / "parked_car.yaml").read_text()
    (tmp_path / "one.yaml").write_text(text)
    (tmp_path / "two.yaml").write_text(text.replace("name:", "nam:"))
    one, two = folder_jobs(tmp_path, Options())
    assert (one.name, one.refusal, one.map_name) == ("one", "", load_scenario("parked_car").map)
    assert "nam (did you mean name?)" in two.refusal
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no scenario"):
        folder_jobs(tmp_path / "empty", Options())


def test_a_job_holds_the_whole_scenario() -> None:
    jobs = suite_jobs(SUITES["weathers"], Options())
    assert [job.name for job in jobs] == [scenario.name for scenario in SUITES["weathers"].scenarios]
    assert len({job.digest() for job in jobs}) == len(jobs)
    assert [Scenario.model_validate(yaml.safe_load(job.text)) for job in jobs] == list(SUITES["weathers"].scenarios)


def test_the_suite_of_presets_has_all_of_carlas() -> None:
    assert {scenario.weather for scenario in SUITES["presets"].scenarios} == set(named_weathers())
    assert len(SUITES["presets"].scenarios) == 22


def test_where_no_job_can_start_the_options_are_to_blame() -> None:
    jobs = suite_jobs(SUITES["towns"], Options())
    with pytest.raises(ConfigError, match=r"unknown map 'Town01'.*--maps"):
        refuse_if_none_can_start(jobs)


def test_a_map_that_changed_makes_another_job(tmp_path: Path) -> None:
    job = Job("one", "scenario", "name: one", "some_town")
    (tmp_path / "some_town.xodr").write_text("<OpenDRIVE/>")
    [first] = with_map_digests([job], tmp_path)
    (tmp_path / "some_town.xodr").write_text("<OpenDRIVE></OpenDRIVE>")
    [second] = with_map_digests([job], tmp_path)
    assert len({first.digest(), second.digest(), job.digest()}) == 3


@settings(max_examples=50)
@given(st.lists(st.one_of(st.text(max_size=100), st.sampled_from(("a", "a_2", "A", "attempts", ".."))), max_size=12))
def test_names_suit_folders_and_each_is_there_once(names: list[str]) -> None:
    found = [job.name for job in finished([Job(name, "scenario", "", "") for name in names])]
    assert len(set(found)) == len(names)
    for name in found:
        assert Path(name).name == name
        assert name not in ("attempts", "suite.json", "journal.jsonl", "..")
        assert 0 < len(name) < 100


def test_equal_fingerprints_have_one_id_and_different_ones_say_why() -> None:
    job = Job("one", "scenario", "name: one", "city_grid")
    one = fingerprint("some", [job], Options())
    again = json.loads(json.dumps(one))
    assert differences(one, again) == []
    assert fingerprint_id(one) == fingerprint_id(again)
    other = fingerprint("some", [job], Options(oracles=("lights",)))
    assert differences(one, other) == ["options oracles: [] there, ['lights'] now"]
    assert fingerprint_id(one) != fingerprint_id(other)
    again["version"]["commit"] = "of a document"
    assert differences(one, again) == []


def test_a_scenario_with_weather_along_its_route_is_written_as_it_can_be_read() -> None:
    keyframes = (KeyframeTable(route_percent=0.0), KeyframeTable(route_percent=100.0, fog_density=50.0))
    scenario = load_scenario("parked_car").model_copy(update={"weather_keyframes": keyframes})
    [job] = scenario_jobs([scenario], Options())
    assert Scenario.model_validate(yaml.safe_load(job.text)).weather_keyframes == keyframes
