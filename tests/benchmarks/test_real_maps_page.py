"""The tables of docs/embedded-carla/real-maps.md are those of its result file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.real_maps.__main__ import MARK
from benchmarks.real_maps.table import tables

PAGE = Path(__file__).parents[2] / "docs" / "embedded-carla" / "real-maps.md"


def test_the_page_has_the_tables_of_the_result_file() -> None:
    maps = json.loads(PAGE.with_suffix(".json").read_text())["maps"]
    written = PAGE.read_text().split(MARK)[1]
    assert written.strip() == tables(maps).strip(), "run: python -m benchmarks.real_maps --table PAGE"


def test_every_map_stands_in_one_part_of_the_page() -> None:
    maps: dict[str, dict[str, Any]] = {
        "a.b.built": {"seconds": 1.0, "spawn_points": 3, "traffic": {"error": "x"}, "stack": {"error": "map: far"}},
        "a.b.bad": {"error": "map a.b.bad: no <lane>"},
        "a.b.read": {"only_read": True, "traffic_fault": None},
        "a.b.crash": {"only_read": True, "traffic_fault": "crashes CARLA's TrafficManager (Segmentation fault)"},
    }
    text = tables(maps)
    assert "| a.b.built | 1.0 | 3 | x |  |  |  |  |  | map: far |  |\n" in text
    assert "| a.b.bad | no &lt;lane> |\n" in text
    assert "**a/b** (1): `read`." in text
    assert "**These maps would crash CARLA's TrafficManager (Segmentation fault)** (1): `a/b crash`." in text
