"""`av-stack weather` on a real server, what it refuses, and how it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from av_core.errors import ConfigError
from av_stack.weather_stress.weathers import label, units
from scenarios.model import load_scenario
from scenarios.weather_course import KeyframeTable
from tests.av_stack.cli.test_bad_input import av_stack, complaint
from tests.av_stack.replay.conftest import RIG

SECONDS = 1.0


@pytest.fixture
def short(tmp_path: Path) -> str:
    """A scenario that lasts a moment, with a small camera."""
    rig, table = tmp_path / "rig.yaml", tmp_path / "short.yaml"
    rig.write_text(yaml.safe_dump(RIG))
    values: dict[str, Any] = {
        "name": "short",
        "map": "city_grid",
        "seed": 1,
        "ego": {"rig": str(rig)},
        "route": {"start": [60.0, -93.25], "goal": [111.75, -147.5]},
        "timeout_s": SECONDS,
    }
    table.write_text(yaml.safe_dump(values))
    return str(table)


def test_a_sweep_pairs_each_weather_with_the_own_one_and_can_be_resumed(short: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("weather", short, "--sweep", "preset=ClearNoon,ClearNight", "--looks-only", "--out", str(out))
    done = av_stack(*command, timeout_s=110.0)
    assert done.returncode == 0, done.stderr
    content = json.loads((out / "weather.json").read_text())
    own, same, night = content["points"]
    assert own["point"] is None
    assert same["folders"] == own["folders"]  # its own weather is not driven again
    assert night["point"] == {"preset": "ClearNight"}
    assert own["figures"]["lines_kept"] == 1.0
    assert night["samples"]["line_error_median_m"] == own["samples"]["line_error_median_m"]
    assert night["figures"]["line_error_median_m"] != own["figures"]["line_error_median_m"]
    pictures = [
        sorted(path.name for path in (out / each["folders"]["look"]).glob("frame_*.jpg")) for each in (own, night)
    ]
    assert pictures[0] == pictures[1] != []
    assert "window.report" in (out / "weather.html").read_text()
    journal = (out / "round_01" / "journal.jsonl").read_bytes()
    again = av_stack(*command, "--resume")
    assert again.returncode == 0, again.stderr
    assert (out / "round_01" / "journal.jsonl").read_bytes() == journal
    assert json.loads((out / "weather.json").read_text()) == content
    other = av_stack(*command, "--seeds", "2", "--resume")
    assert other.returncode == 2
    assert "holds results that do not belong together" in complaint(other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parked_car",), "expected either --sweep or --until-failure"),
        (("parked_car", "--sweep", "wetness=0", "--until-failure", "wetness"), "expected either"),
        (("parked_car", "--sweep", "fog_densty=0:100:10"), "did you mean fog_density?"),
        (("parked_car", "--until-failure", "fog_density=0:120"), "fog_density is from 0 to 100"),
        (("parked_kar", "--sweep", "wetness=0"), "did you mean parked_car?"),
        (("obstacles", "--sweep", "wetness=0"), "suite obstacles has Leaderboard routes"),
        (("weathers", "--sweep", "wetness=0"), "changes the grip of the tyres"),
    ],
)
def test_wrong_commands_are_refused_in_one_line(arguments: tuple[str, ...], message: str) -> None:
    done = av_stack("weather", *arguments)
    assert done.returncode == 2
    assert message in complaint(done)


def test_a_weather_that_changes_along_the_route_is_refused() -> None:
    changing = tuple(KeyframeTable(route_percent=percent) for percent in (0.0, 100.0))
    with pytest.raises(ConfigError, match="its own weather changes along the route"):
        units([load_scenario("parked_car").model_copy(update={"weather_keyframes": changing})], 1)


def test_each_seed_is_a_drive_of_its_own_in_weather_that_differs_where_the_point_says() -> None:
    first, second = units([load_scenario("parked_car")], 2)
    assert (first.scenario.seed, second.scenario.seed) == (1, 2)
    point = (("fog_density", 40.0), ("preset", "ClearNight"))
    [foggy] = first.at(point).weather_keyframes
    assert foggy.fog_density == 40.0  # the preset comes first, whatever the order
    assert foggy.sun_altitude_angle < 0.0
    assert label(point) == "fog_density_40_ClearNight"
    assert first.is_own(())
    assert first.is_own((("preset", "ClearNoon"),))
    assert not first.is_own((("wetness", 10.0),))
