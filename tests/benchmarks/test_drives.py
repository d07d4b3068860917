"""The same runs by several variants: what is read, both tables, the random drives, and the reduced stacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from av_core.types import CameraImage, Stamp
from av_stack.assembly import Settings
from benchmarks.drives import per_run, per_variant, read_study
from benchmarks.drives.random_routes import random_drives
from benchmarks.drives.reduced import NoLanes, WithoutRadars
from control import ControlConfig
from planning import PlanningConfig
from sim_configs.load import load_rig


def write_suite(folder: Path, *drives: tuple[str, float, dict[str, int]], crash: str | None = None) -> Path:
    """A suite `quick` of drives (name, score of Leaderboard 2.0, infractions); the last one crashed with `crash`."""
    entries = []
    for name, score, infractions in drives:
        counts = dict.fromkeys(
            ("collisions_walker", "collisions_vehicle", "collisions_static", "red_lights", "stop_signs"), 0
        )
        (folder / name).mkdir(parents=True)
        (folder / name / "result.json").write_text(json.dumps({"infractions": {**counts, **infractions}}))
        entries.append(
            {
                "scenario": name,
                "map": "city_grid",
                "weather": "ClearNoon",
                "seed": 1,
                "end": "arrived",
                "crash": None,
                "route_length_m": 200.4,
                "route_completion": 1.0,
                "driving_score": score,
                "driving_score_2_1": score,
                "shortcomings": [f"{count} {kind}" for kind, count in infractions.items()],
                "time_s": 20.0,
                "mean_kmh": 36.0,
            }
        )
    if crash is not None:
        entries[-1]["crash"] = crash
    machine = {"processor": "one", "cores": "2", "gpu": "none"}
    content = {"suite": "out/quick", "fingerprint": {"machine": machine, "version": {"code": "abc"}}, "drives": entries}
    (folder / "suite.json").write_text(json.dumps(content))
    return folder


def read_two(tmp_path: Path, crash: str | None = None) -> dict[str, Any]:
    whole = write_suite(tmp_path / "whole", ("a", 100.0, {}), ("b", 60.0, {"collisions_vehicle": 1}), ("c", 90.0, {}))
    less = write_suite(tmp_path / "less", ("a", 50.0, {"collisions_walker": 1}), ("b", 100.0, {}), crash=crash)
    return read_study([("stack", whole), ("without radars", less)])


def test_a_variant_is_compared_on_the_runs_that_both_drove(tmp_path: Path) -> None:
    study = read_two(tmp_path)
    assert study["code"] == ["abc"]
    assert study["machines"] == ["one, 2 cores, none"]
    assert per_variant(study).splitlines()[2:] == [
        "| quick | stack | 3 | 2 | 83.3 | 83.3 | 0, 0 | 100 % | 0 | 1 | 0 | 0 | 0 | 0 |",
        "| quick | without radars | 2 | 1 | 75.0 | 80.0 | 1, 1 | 100 % | 1 | 0 | 0 | 0 | 0 | 0 |",
    ]


def test_each_run_stands_with_what_it_lacked(tmp_path: Path) -> None:
    assert per_run(read_two(tmp_path)).splitlines()[2:] == [
        "| a | city_grid | ClearNoon | 200 | 100 | 50: 1 collisions_walker |",
        "| b | city_grid | ClearNoon | 200 | 60: 1 collisions_vehicle | 100 |",
        "| c | city_grid | ClearNoon | 200 | 90 | – |",
    ]


def test_a_crash_is_no_drive(tmp_path: Path) -> None:
    study = read_two(tmp_path, crash="server lost")
    assert per_variant(study).splitlines()[-1] == (
        "| quick | without radars | 1 | 0 | 50.0 | 100.0 | 0, 1 | 100 % | 1 | 0 | 0 | 0 | 0 | 1 |"
    )
    assert "| crash: server lost |" in per_run(study)


def test_a_run_that_a_variant_drove_twice_is_refused(tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "whole", ("a", 100.0, {}))
    with pytest.raises(ValueError, match="a with seed 1 was driven by stack twice"):
        read_study([("stack", folder), ("stack", folder)])


def test_random_drives_take_turns_through_towns_and_weathers() -> None:
    towns, weathers = ["city_grid", "country_road"], ["ClearNoon", "HardRainNoon", "ClearNight"]
    drives = random_drives(towns, None, seed=5, count=6, cars=25, weathers=weathers)
    assert len({(drive.map, drive.weather) for drive in drives}) == 6
    assert {drive.traffic.vehicles for drive in drives} == {25}
    assert drives == random_drives(towns, None, seed=5, count=6, cars=25, weathers=weathers)


def test_the_stack_without_radars_expects_no_sweep() -> None:
    rig = load_rig("compact")
    whole = Settings(PlanningConfig(), ControlConfig(), rig.cameras, rig.radars)
    assert whole.radars
    assert WithoutRadars().reduced_settings(whole).radars == ()


def test_the_stack_without_lanes_sees_no_line(picture: CameraImage) -> None:
    seen = NoLanes().update(picture, 10.0, 0.0)
    assert (seen.stamp, seen.left, seen.right) == (picture.stamp, None, None)


@pytest.fixture
def picture() -> CameraImage:
    rig = load_rig("compact")
    return CameraImage(Stamp(3, 0.15), rig.cameras[0], np.zeros((360, 640, 3), dtype=np.uint8))
