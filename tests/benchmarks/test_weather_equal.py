"""Folders of searches of the weather: what counts as equal in two of them, and what is kept of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.weather_equal import compare
from benchmarks.weather_record import recorded

NAME = "street/fog_density"


def write_run(folder: Path, name: str, content: Any) -> None:
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / name).write_text(json.dumps(content))


def write_search(
    root: Path, recall: float = 0.8, score: float = 100.0, missed: float = 75.0, late_ms: float = 0.0
) -> Path:
    """A search of one drive and one look at it; the reference drive's first stage was late by `late_ms`."""
    folder = root / NAME
    supervision = {"states": ["normal"], "late_stages": {"lanes": late_ms}}
    result = {"driving_score": score, "stage_ms": {"lanes": late_ms}, "supervision": supervision}
    write_run(folder / "reference" / "drive_street_own", "result.json", result)
    look = {"steps": 9, "figures": [{"name": "users_kept", "value": recall, "count": 40}]}
    write_run(folder / "round_01" / "look_street_fog_density_100", "look.json", look)
    limit = {"unit": "street_seed_1", "module": "detector", "kept": 50.0, "missed": missed}
    (folder / "weather.json").write_text(json.dumps({"limits_found": [{"module": "detector", "limits": [limit]}]}))
    return root


def compared(tmp_path: Path, **changed: float) -> dict[str, Any]:
    found = compare(write_search(tmp_path / "first"), write_search(tmp_path / "second", **changed))
    search: dict[str, Any] = found["searches"][NAME]
    assert found["is_equal"] == search["is_equal"]
    return search


def test_time_on_a_clock_makes_no_difference(tmp_path: Path) -> None:
    search = compared(tmp_path, late_ms=478.0)
    assert search["is_equal"]
    assert (search["looks"], search["drives"], search["limits"]) == (1, 1, 1)


def test_another_figure_of_a_look_is_told(tmp_path: Path) -> None:
    search = compared(tmp_path, recall=0.7)
    assert (search["is_equal"], list(search["different_runs"])) == (False, ["look_street_fog_density_100"])


def test_another_score_of_a_drive_is_told(tmp_path: Path) -> None:
    told = compared(tmp_path, score=60.0)["different_runs"]
    assert told == {"drive_street_own": {"driving_score": [100.0, 60.0]}}


def test_another_limit_is_told(tmp_path: Path) -> None:
    told = compared(tmp_path, missed=100.0)["different_limits"]
    assert told == {"street_seed_1 detector": [[50.0, 75.0], [50.0, 100.0]]}


def test_runs_of_a_search_that_was_stopped_are_compared(tmp_path: Path) -> None:
    first, second = write_search(tmp_path / "first"), write_search(tmp_path / "second")
    (second / NAME / "weather.json").unlink()
    found = compare(first, second)
    assert (found["looks"], found["drives"], found["limits"], found["is_equal"]) == (1, 1, 0, True)


def test_folders_without_a_search_in_common_are_not_equal(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert not compare(write_search(tmp_path / "first"), tmp_path / "empty")["is_equal"]


def write_content(root: Path, problems: list[str], missed: float = 75.0, recall: float = 2 / 3) -> Path:
    folder = root / NAME
    (folder / "reference").mkdir(parents=True)
    (folder / "reference" / "suite.json").write_text(json.dumps({"fingerprint": {"machine": {"cores": "2"}}}))
    figures = {"users_kept": recall, "recall_vehicles_0_20_m": 0.5, "recall_vehicles_0_20_px": 0.5, "lights_kept": None}
    limit = {"unit": "street_seed_1", "module": "detector", "kept": 50.0, "missed": missed}
    samples = {name: 0 if value is None else 30 for name, value in figures.items()}
    content = {
        "name": "street", "versions": {"commit": "0123"}, "search": {"name": "wetness"}, "problems": problems,
        "limits": [{"figure": "users_kept"}, {"figure": "lights_kept"}], "failed_first": {},
        "limits_found": [{"limits": [limit]}],
        "points": [
            {"unit": "street_seed_1", "point": None, "figures": {}, "samples": {}},
            {"unit": "street_seed_1", "point": {"wetness": 25.0}, "figures": figures, "samples": samples},
        ],
    }  # fmt: skip
    (folder / "weather.json").write_text(json.dumps(content))
    return root


def test_a_record_keeps_what_limits_judge_and_recall_by_distance(tmp_path: Path) -> None:
    (search,) = recorded(write_content(tmp_path, []))
    assert (search["name"], search["versions"], search["machine"]) == ("street", {"commit": "0123"}, {"cores": "2"})
    assert search["points"] == [
        {"unit": "street_seed_1", "value": None, "figures": {}},
        {
            "unit": "street_seed_1",
            "value": 25.0,
            "figures": {"users_kept": [0.6667, 30], "recall_vehicles_0_20_m": [0.5, 30]},
        },
    ]


def test_a_search_with_a_problem_is_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a run crashed"):
        recorded(write_content(tmp_path, ["a run crashed"]))


def compared_with_a_record(tmp_path: Path, **changed: float) -> dict[str, Any]:
    record = tmp_path / "record.json"
    record.write_text(json.dumps(recorded(write_content(tmp_path / "first", []))))
    found = compare(record, write_content(tmp_path / "second", [], **changed))
    search: dict[str, Any] = found["searches"]["street/wetness"]
    assert found["is_equal"] == search["is_equal"]
    return search


def test_a_second_run_is_compared_with_the_record_of_the_first(tmp_path: Path) -> None:
    search = compared_with_a_record(tmp_path, recall=0.66668)  # equal to the four digits that a record keeps
    assert (search["weathers"], search["limits"], search["is_equal"]) == (2, 1, True)


def test_a_figure_that_differs_from_the_record_is_told(tmp_path: Path) -> None:
    told = compared_with_a_record(tmp_path, recall=0.6)["different_weathers"]
    assert list(told) == ["street_seed_1 25.0"]


def test_a_limit_that_differs_from_the_record_is_told(tmp_path: Path) -> None:
    told = compared_with_a_record(tmp_path, missed=100.0)["different_limits"]
    assert told == {"street_seed_1 detector": [[50.0, 75.0], [50.0, 100.0]]}


def test_a_search_that_was_not_repeated_is_named(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    record.write_text(json.dumps(recorded(write_content(tmp_path / "first", []))))
    (tmp_path / "empty").mkdir()
    found = compare(record, tmp_path / "empty")
    assert (found["not_repeated"], found["is_equal"]) == (["street/wetness"], False)
