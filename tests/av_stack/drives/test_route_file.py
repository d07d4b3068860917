"""`av-stack run` drives a route of a Leaderboard file, and refuses others in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from av_core.errors import AvStackError, ConfigError
from av_stack.route_drive import load_route
from av_stack.world.carla.map import read_lane_graph
from scenarios.leaderboard.placing.find import find_places
from scenarios.leaderboard.route_writer import to_xml
from tests.av_stack.cli.test_bad_input import av_stack, complaint

ROUTE = """<routes>
  <route id="{id}" town="{town}">
    <weathers>
      <weather route_percentage="0" cloudiness="5"/>
      <weather route_percentage="100" cloudiness="90"/>
    </weathers>
    <waypoints>
      <position x="236" y="-194.8" z="0"/>
      <position x="{goal}" y="-194.8" z="0"/>
    </waypoints>
    <scenarios>
      <scenario name="Walk_1" type="DynamicObjectCrossing">
        <trigger_point x="250" y="-194.8" z="0" yaw="0"/>
        <distance value="40"/>
      </scenario>
      <scenario name="Off_1" type="DynamicObjectCrossing">
        <trigger_point x="250" y="-150" z="0" yaw="0"/>
      </scenario>
    </scenarios>
  </route>{more}
</routes>
"""
OTHER = """<route id="8" town="city_grid"><scenarios/>
<waypoints><position x="0" y="0" z="0"/><position x="9" y="0" z="0"/></waypoints></route>"""


def written(folder: Path, **changes: str) -> str:
    path = folder / "routes.xml"
    values = {"id": "7", "town": "city_grid", "goal": "330", "more": f"\n{OTHER}"}
    path.write_text(ROUTE.format(**{**values, **changes}))
    return str(path)


def test_a_route_is_driven(tmp_path: Path) -> None:
    """An agent that drives straight on runs into the walker, and into the traffic behind; it arrives all the same."""
    out = tmp_path / "out"
    path = written(tmp_path)
    done = av_stack("run", path, "--routes", "7", "--agent", "straight", "--out", str(out), timeout_s=120.0)
    assert done.returncode == 0, done.stderr
    assert "warning: Off_1 (DynamicObjectCrossing) is left out: the trigger is 44." in done.stdout
    figures = json.loads((out / "result.json").read_text())
    assert (figures["scenario"], figures["weather"], figures["end"]) == ("route_7", "keyframes", "arrived")
    assert figures["route_completion"] == 1.0
    assert [one["kind"] for one in figures["infraction_log"]].count("collision_walker") == 1
    assert len(figures["warnings"]) == 1
    assert {"Walk_1_begin", "Walk_1_walk"} <= set(figures["events"])


@pytest.mark.parametrize(
    ("changes", "routes", "words"),
    [
        ({}, None, "has 2 routes; choose one with --routes ID, or drive all with av-stack suite"),
        ({}, "7-8", "--routes 7-8 names 2 routes; choose one"),
        ({}, "9", "no route has the id '9'; there are 7-8"),
        ({"town": "Town12"}, "7", "routes.xml:2: route '7': unknown map 'Town12'; there are city_grid, "),
        ({"goal": "9000"}, "7", "the waypoint (9000.0, -194.8) in line 9 is not on a driving lane of city_grid"),
        ({"more": "<route/>"}, "7", "routes.xml:20: <route> has no id"),
    ],
)
def test_routes_that_are_refused(tmp_path: Path, changes: dict[str, str], routes: str | None, words: str) -> None:
    with pytest.raises(AvStackError) as error:
        load_route(Path(written(tmp_path, **changes)), routes, None, None, 0)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("town.xodr", "<OpenDRIVE/>", "town.xodr:1: this is an OpenDRIVE map"),
        ("story.xosc", "<OpenSCENARIO/>", "story.xosc:1: this is an OpenSCENARIO 1 scenario"),
        ("all.json", "{}", "all.json:1: this is JSON"),
        ("missing.xml", None, "missing.xml: No such file"),
    ],
)
def test_other_files_are_named(tmp_path: Path, name: str, text: str | None, words: str) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        load_route(path, None, None, None, 0)


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "town.xodr"
    path.write_text("<OpenDRIVE/>")
    done = av_stack("run", str(path), "--out", str(tmp_path / "o"))
    assert "town.xodr:1: this is an OpenDRIVE map" in complaint(done)
    assert not (tmp_path / "o").exists()
    assert "'town_drive' is not an .xml file" in complaint(av_stack("run", "town_drive", "--routes", "1"))


@pytest.mark.parametrize("town", ["Town01", "Town02", "Town04", "Town10HD"])
def test_routes_in_carlas_towns(data_dir: Path, tmp_path: Path, town: str) -> None:
    """The lint finds nothing in a route along a lane of the town, and the scenario on it is there."""
    graph = read_lane_graph(data_dir / "maps" / f"{town}.xodr")
    places = find_places("DynamicObjectCrossing", graph, 1, 1)
    file = tmp_path / "routes.xml"
    file.write_text(to_xml(places.routes))
    scenario = load_route(file, None, data_dir / "maps", None, 0)
    assert scenario.warnings == ()
    assert len(scenario.actors) == 2
