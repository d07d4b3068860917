"""Hostile and mistaken YAML files end in one line that says what is wrong, where, and what is allowed."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from av_core.errors import ConfigError
from av_core.suggest import did_you_mean
from scenarios.model import FOLDER, load_scenario
from sim_configs.load import load_rig, load_stack, load_weather
from tests.av_stack.yaml_mutants import fuzz

DEMO = (FOLDER / "town_drive.yaml").read_text()
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)


def refusal(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "given.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as refused:
        load_scenario(str(path))
    message = str(refused.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def changed(old: str, new: str) -> str:
    assert old in DEMO
    return DEMO.replace(old, new)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (BOMB, "line 5: more than 10000 values, counting what aliases stand for"),
        ("[" * 20_000, "line 1: nested more than 20 levels deep"),
        ("{a: " * 20_000, "nested more than 20 levels deep"),
        ("- " * 20_000, "nested more than 20 levels deep"),
        ("a: &a [*a]", "line 1: alias *a contains itself"),
        (DEMO.encode() + "# café".encode("latin-1"), "line 33: byte 0xe9 is not UTF-8 text"),
        (b"name: \x00", "line 1: character 0 is not allowed in YAML"),
        (DEMO + "seed: 3\n", "line 33: key seed is repeated; it is first in line 5"),
        (DEMO + "---\nname: x\n", "a second document begins; one is allowed"),
        ("!!python/object/apply:os.getcwd []", "tag tag:yaml.org,2002:python/object/apply:os is not allowed"),
        ("x" * 300_000, "larger than 200 kB, the most that is allowed"),
        ("", "key name is missing; allowed are actors, ego, ego_place, events, expect, flows, handling, map, name"),
        ("[1, 2]", "the file is a list, but has to be a mapping with keys of actors, ego, ego_place, events, expect"),
        ("hello", "the file is text, but has to be a mapping"),
        (changed("map: city_grid", "mapp: city_grid"), "unknown key mapp (did you mean map?); allowed are actors, ego"),
        (changed("seed: 1", "seed: 2020-13-44"), "line 5: '2020-13-44' cannot be read as timestamp"),
        (changed("seed: 1", "seed: yes"), "seed: True is not allowed here (YAML reads yes, no, on and off as"),
        (changed("seed: 1", "seed: -1"), "seed: -1 is not allowed; expected at least 0"),
        (changed("seed: 1", "seed: 99999999999"), "seed: 99999999999 is not allowed; expected at most 2147483646"),
        (changed("seed: 1", "seed: 0x" + "f" * 9000), "seed: a number with too many digits is not allowed"),
        (changed("timeout_s: 600", "timeout_s: .nan"), "timeout_s: nan is not a finite number"),
        (changed("name: town_drive", "name: [a]"), "name: ['a'] is not text (put quotes around it)"),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) and len(value) < 100 else "file",
)
def test_each_file_is_refused_in_one_line(tmp_path: Path, content: str | bytes, words: str) -> None:
    assert words in refusal(tmp_path, content)


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf", "1e9"])
def test_coordinates_have_to_be_on_a_map(tmp_path: Path, number: str) -> None:
    assert "route.goal.0" in refusal(tmp_path, f"name: a\nmap: b\nroute: {{start: [0, 0], goal: [{number}, 0]}}")


def test_a_walk_needs_two_ends(tmp_path: Path) -> None:
    walker = "walkers: [{start: [1.0, 2.0], end: [1.0, 2.0]}]"
    line = refusal(tmp_path, f"name: a\nmap: b\nroute: {{start: [0, 0], goal: [9, 0]}}\n{walker}")
    assert "walkers.0.end" in line
    assert "at least 0.1 m away from its start" in line


def test_an_anchor_and_its_alias_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "anchor.yaml"
    path.write_text("name: a\nmap: b\nroute: {start: &home [1, 2], via: [[3, 4]], goal: *home}")
    assert load_scenario(str(path)).route.goal == (1.0, 2.0)


def test_a_pipe_or_folder_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_scenario(str(pipe))
    folder = tmp_path / "folder.yaml"
    folder.mkdir()
    with pytest.raises(ConfigError, match="not a file"):
        load_rig(str(folder))
    with pytest.raises(ConfigError, match="no file name"):
        load_stack("a\0.yaml")


def test_rigs_weathers_and_settings(tmp_path: Path) -> None:
    camera = "{name: front, width_px: 640, height_px: 360, fov_x_deg: 60, x_m: 2, y_m: 0, z_m: 1.6}"
    path = tmp_path / "given.yaml"
    path.write_text(f"cameras: [{camera}, {camera}]")
    with pytest.raises(ConfigError, match="every sensor needs a name of its own"):
        load_rig(str(path))
    radar = "{name: NAME, x_m: 4, y_m: 1, z_m: 0.6, yaw_deg: 90, fov_x_deg: 150, fov_y_deg: 6}"
    path.write_text(f"cameras: [{camera}]\nradars: [{radar.replace('NAME', 'front')}]")
    with pytest.raises(ConfigError, match="every sensor needs a name of its own"):
        load_rig(str(path))
    path.write_text(f"cameras: [{camera}]\nradars: [{radar.replace('NAME', 'side')}]")
    (side,) = load_rig(str(path)).radars
    assert (side.name, side.yaw_rad, side.fov_x_rad) == ("side", math.pi / 2, math.radians(150.0))
    path.write_text(f"cameras: [{camera}]\nradars: [{', '.join(radar.replace('NAME', f'r{i}') for i in range(5))}]")
    with pytest.raises(ConfigError, match="radars"):
        load_rig(str(path))
    path.write_text(f"cameras: [{camera.replace('640', '1000000')}]")
    with pytest.raises(ConfigError, match=r"cameras\.0\.width_px: 1000000 is not allowed; expected at most 4096"):
        load_rig(str(path))
    path.write_text("fog_density: 300")
    with pytest.raises(ConfigError, match=r"fog_density: 300 is not allowed; expected at most 100"):
        load_weather(str(path), ())
    path.write_text("control: {longitudinal: {gain_per_s: [[5, 1], [0, 2]]}}")
    with pytest.raises(ConfigError, match="the speeds, the first number of each pair, must increase"):
        load_stack(str(path))


def test_only_similar_names_are_suggested() -> None:
    assert did_you_mean("town_drove", ["town_drive"]) == " (did you mean town_drive?)"
    assert did_you_mean("clearnoon", ["ClearNoon", "fog"]) == " (did you mean ClearNoon?)"
    assert did_you_mean("hail", ["ClearNight", "fog", "default"]) == ""


def test_mutated_files_never_give_a_traceback(tmp_path: Path) -> None:
    """A sample of what `make fuzz` does."""
    findings = fuzz(150, seed=7, folder=tmp_path)
    assert findings.faults == []
    assert findings.mutants == findings.accepted + findings.refused == 150
    assert findings.accepted > 0
