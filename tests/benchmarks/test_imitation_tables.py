"""What the page says of imitation's drives and trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.imitation.curves import draw, kind, rounded, table
from benchmarks.imitation.tables import SEEDS, ends, held_back, obstacles


def row(driver: str, completion: float, score: float, **others: Any) -> dict[str, Any]:
    plain = {"drive": "Town02_0_0", "vehicles": 0, "weather": "ClearNoon", "end": "arrived", "is_success": True}
    counts = dict.fromkeys(("collisions_walker", "collisions_vehicle", "collisions_static", "red_lights"), 0)
    return plain | counts | {"driver": driver, "route_completion": completion, "driving_score": score} | others


DRIVES = [
    row("r1_seed0", 1.0, 100.0),
    row("r1_seed1", 1.0, 70.0, is_success=False, red_lights=1),
    row("r1_seed2", 0.4, 40.0, is_success=False, end="stuck", collisions_vehicle=1),
    row("r1_blind", 0.1, 10.0, is_success=False, end="stuck"),
]


def test_the_seeds_have_a_mean_and_a_spread_once_all_have_driven() -> None:
    told = held_back({"drives": DRIVES})
    assert "| 0 | **seeds: mean, deviation** | 3 | 80.0% ± 34.6% | 2 | 1 | 70.0 ± 30.0 | 1 | 1 |" in told
    assert "| 0 | blind | 1 | 10.0% | 0 | 0 | 10.0 | 0 | 0 |" in told
    assert "deviation" not in held_back({"drives": DRIVES[1:]})
    assert len(SEEDS) == 3


def test_each_drive_says_what_went_wrong() -> None:
    told = ends({"drives": DRIVES})
    assert "| Town02 0 0 | ClearNoon | 100% | 100%, 1 red | 40%, 1 hit, stuck | 10%, stuck |" in told


def test_each_route_of_the_suite_says_what_went_wrong() -> None:
    drive = {"scenario": "obstacles_0_Accident", "route_completion": 0.5, "driving_score": 16.56, "is_success": False}
    told = obstacles({"drives": [drive | {"shortcomings": ["2 collisions", "1 red lights run"]}]})
    assert "| 0 Accident | 50% | 16.6 | no | 2 collisions, 1 red lights run |" in told


def test_trainings_are_drawn_and_told(tmp_path: Path) -> None:
    groups = {"turn": {"path_error_m": 0.5}}
    measured = {"path_error_m": 0.25, "speed_error_mps": 2.0, "speed_error_without_speed_mps": 3.0}
    losses = {"path_loss": 0.123456, "speed_loss": 1.0}
    first = {"epoch": 4, "seconds": 30.0} | losses | measured | {"speed_error_mps": 1.5, "by_group": groups}
    second = {"epoch": 8, "seconds": 60.4} | losses | measured | {"by_group": groups}
    training = {"samples": 1200, "curves": [first, {"epoch": 7, "seconds": 50.0} | losses, second]}
    assert rounded(training)["curves"][0]["path_loss"] == pytest.approx(0.1235)
    told = table({"round 0, seed 0": training})
    assert "| round 0, seed 0 | 1,200 | 8 | 60 | 0.25 | 0.50 | 2.00 | 1.50 | 3.00 |" in told
    told = table({"round 0, seed 0": training | {"kept_epoch": 4}})
    assert "| round 0, seed 0 | 1,200 | 4 of 8 | 60 | 0.25 | 0.50 | 1.50 | 1.50 | 3.00 |" in told
    assert (kind("round 0, seed 2"), kind("round 0, blind")) == ("round 0", "round 0, blind")
    draw(tmp_path / "curves.png", {"round 0, seed 0": training})
    assert (tmp_path / "curves.png").stat().st_size > 1000
