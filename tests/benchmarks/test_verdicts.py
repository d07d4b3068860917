"""Several agents' verdicts on the same routes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from av_stack.agents import names
from benchmarks import markdown_tables
from benchmarks.verdicts import AGENTS, MARK, agents_of, cell, merged, read_json, read_rows, table, totals
from benchmarks.verdicts.__main__ import main
from benchmarks.verdicts.sheet import PER_ROW, Picture, sheet


def drive(name: str, score: float | None, began_s: float | None, *shortcomings: str, crash: str = "") -> dict[str, Any]:
    return {
        "scenario": name,
        "map": "city_grid",
        "end": "arrived",
        "driving_score_2_1": score,
        "parts": [{"name": "one", "began_s": began_s}],
        "shortcomings": list(shortcomings),
        "is_success": not shortcomings and not crash,
        "crash": crash or None,
    }


def write_suite(folder: Path, *drives: dict[str, Any]) -> Path:
    folder.mkdir()
    (folder / "suite.json").write_text(json.dumps({"drives": list(drives)}))
    return folder


def test_agents_stand_side_by_side(tmp_path: Path) -> None:
    idle = write_suite(
        tmp_path / "idle",
        drive("obstacles_10_ParkedObstacle", 0.0, None, "0 % of the route (blocked)"),
        drive("obstacles_2_T_Junction", None, None, crash="server lost"),
    )
    parts = [
        write_suite(tmp_path / "a", drive("obstacles_10_ParkedObstacle", 100.0, 3.0)),
        write_suite(tmp_path / "b", drive("obstacles_2_T_Junction", 60.0, 3.0, "1 collisions")),
    ]
    rows = read_rows({"idle": [idle], "stack": parts})
    assert [(row.number, row.type_name) for row in rows] == [(2, "T_Junction"), (10, "ParkedObstacle")]
    assert table(rows, ["idle", "stack"]).splitlines()[2:] == [
        "| 2 | `T_Junction` | city_grid | crash: server lost | 1 collisions, 60 |",
        "| 10 | `ParkedObstacle` | city_grid | 0 % of the route (blocked) (before the scenario), 0 | **passed**, 100 |",
    ]
    assert totals(rows, ["idle", "stack"]).splitlines()[2:] == [
        "| idle | 2 | 0 | 0 | 1 | 0.0 |",
        "| stack | 2 | 1 | 2 | 0 | 80.0 |",
    ]
    assert cell(None) == "not driven"


def test_newer_verdicts_join_those_of_a_file(tmp_path: Path) -> None:
    older = read_rows(
        {
            "idle": [write_suite(tmp_path / "idle", drive("obstacles_10_ParkedObstacle", 0.0, None, "stood still"))],
            "stack": [write_suite(tmp_path / "stack", drive("obstacles_10_ParkedObstacle", 60.0, 3.0, "1 collisions"))],
        }
    )
    file = tmp_path / "verdicts.json"
    file.write_text(json.dumps([row.plain() for row in older]))
    assert read_json(file) == older
    again = [drive("obstacles_10_ParkedObstacle", 100.0, 3.0), drive("obstacles_2_T_Junction", 80.0, 3.0)]
    rows = merged(read_json(file), read_rows({"stack": [write_suite(tmp_path / "again", *again)]}))
    assert agents_of(rows) == ["stack", "idle"]
    assert table(rows, agents_of(rows)).splitlines()[2:] == [
        "| 2 | `T_Junction` | city_grid | **passed**, 80 | not driven |",
        "| 10 | `ParkedObstacle` | city_grid | **passed**, 100 | stood still (before the scenario), 0 |",
    ]


def test_every_agent_has_its_place_in_the_tables() -> None:
    assert set(AGENTS) == set(names.AGENTS)


def test_columns_keep_their_order_and_tell_what_was_not_driven(tmp_path: Path) -> None:
    drives = [drive("obstacles_10_ParkedObstacle", 90.0, 3.0), drive("obstacles_11_ParkedObstacle", 70.0, 3.0)]
    for agent in ("idle", "one.of:Others", "stack", "autopilot"):
        write_suite(tmp_path / agent, *drives)
    unstarted = {**drives[0], "end": "not started", "shortcomings": ["no networkx"], "parts": None}
    write_suite(tmp_path / "behavior", unstarted, drives[1])
    suites = [f"{folder.name}={folder}" for folder in sorted(tmp_path.iterdir())]
    page = tmp_path / "page.md"
    page.write_text("\n".join(markdown_tables.marks(MARK)))
    written = []
    for order in (suites, suites[::-1]):
        given = [word for suite in order for word in ("--suite", suite)]
        main([*given, "--table", str(page)])
        written.append(page.read_text())
    assert written[0] == written[1]
    assert "| route | type | map | stack | autopilot | behavior | idle | one.of:Others |" in written[0]
    assert "| autopilot | 2 | 2 | 2 | 0 | 80.0 |\n| behavior | 1 of 2 | 1 | 1 | 0 | 70.0 |" in written[0]
    assert "| **passed**, 90 | **passed**, 90 | not driven | **passed**, 90 |" in written[0]


def test_a_run_without_a_type_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="town_drive is not a route with one scenario"):
        read_rows({"idle": [write_suite(tmp_path / "idle", drive("town_drive", 1.0, None))]})


def test_the_sheet_has_a_row_for_each_six_pictures() -> None:
    picture = Picture("one", np.zeros((162, 288, 3), dtype=np.uint8))
    assert sheet([picture] * (PER_ROW + 1)).shape[0] == 2 * sheet([picture]).shape[0]
