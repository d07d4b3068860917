"""From the Leaderboard evaluator's result files to the table of both agents' drives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.pdm_lite import PDM_LITE, STACK, drives_of, routes_of, table

ROUTES = """<routes><route id="7" town="Town04"><scenarios>
<scenario name="A_1" type="Accident"/></scenarios></route></routes>"""
ROUTE = {"7": ("Town04", "Accident")}


def result() -> dict[str, Any]:
    record = {
        "route_id": "RouteScenario_7_rep0",
        "status": "Completed",
        "infractions": {"collisions_vehicle": [], "min_speed_infractions": ["slow", "slow again"]},
        "scores": {"score_route": 100, "score_penalty": 0.7, "score_composed": 70.04},
        "meta": {"route_length": 100.26, "duration_game": 12.85, "duration_system": 73.366},
    }
    return {"_checkpoint": {"records": [record]}}


def test_a_drive_is_told_with_town_and_scenario(tmp_path: Path) -> None:
    file = tmp_path / "routes.xml"
    file.write_text(ROUTES)
    (drive,) = drives_of(PDM_LITE, result(), routes_of([file]))
    assert (drive.route, drive.town, drive.scenario, drive.driving_score) == ("7", "Town04", "Accident", 70.0)
    assert drive.infractions == {"min_speed_infractions": ["slow", "slow again"]}


def test_both_agents_stand_side_by_side() -> None:
    (expert,) = drives_of(PDM_LITE, result(), ROUTE)
    stuck = replace(
        expert,
        agent=STACK,
        status="Failed - Agent got blocked",
        driving_score=31.5,
        route_completion=45.0,
        infractions={"vehicle_blocked": ["it stood"]},
        game_s=240.0,
    )
    _, _, row, _, *means = table([expert, stuck]).splitlines()
    assert row == (
        "| 7 | Accident | Town04 | 70.0 | 31.5 | -38.5 | min speed x2 "
        "| Failed - Agent got blocked (45 %), vehicle blocked | 13 | 240 |"
    )
    assert " ".join(means) == (
        "Mean score over the routes that both have driven (1): PDM-Lite 70.0, stack 31.5 (-38.5). "
        "The stack is ahead on 0, equal on 0 and behind on 1."
    )


def test_a_route_without_a_result_is_named_and_counts_in_no_mean() -> None:
    (expert,) = drives_of(PDM_LITE, result(), ROUTE)
    both = [replace(expert, route="8"), replace(expert, route="8", agent=STACK, driving_score=90.0)]
    text = table([expert, *both])
    assert "| 7 | Accident | Town04 | 70.0 | no result |  | min speed x2 |  | 13 |  |" in text
    assert "over the routes that both have driven (1): PDM-Lite 70.0, stack 90.0 (+20.0)" in text
    assert "In no mean, because one agent has no result: 7 (only PDM-Lite)." in text
