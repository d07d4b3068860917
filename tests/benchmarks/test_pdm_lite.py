"""From the Leaderboard evaluator's result files to the table of PDM-Lite's drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.pdm_lite import drives_of, routes_of, table

ROUTES = """<routes><route id="7" town="Town04"><scenarios>
<scenario name="A_1" type="Accident"/></scenarios></route></routes>"""


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
    (drive,) = drives_of(result(), routes_of([file]))
    assert (drive.route, drive.town, drive.scenario, drive.driving_score) == ("7", "Town04", "Accident", 70.0)
    assert drive.infractions == {"min_speed_infractions": ["slow", "slow again"]}
    last = table([drive]).splitlines()[-1]
    assert last == "| 7 | Accident | Town04 | Completed | 70.0 | 100 % | min speed x2 | 100 m in 13 s | 73 s |"
