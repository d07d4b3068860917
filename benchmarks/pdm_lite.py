"""Turns the Leaderboard evaluator's result files of PDM-Lite's drives into one JSON file and a table.

`python -m benchmarks.pdm_lite --results DIR --routes FILE.xml [--routes ...] --json FILE --table FILE.md` reads every
`*.json` in the folder. The routes files name each route's town and scenario, which the evaluator does not write down.
The table replaces what stands in the Markdown file between the marks of `MARK`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from benchmarks import markdown_tables

MARK = "pdm-lite"
COLUMNS = ("route", "scenario", "town", "status", "score", "route done", "infractions", "driven", "wall time")


@dataclass(frozen=True, slots=True)
class Drive:
    """One route as the evaluator judged it; scores in percent, times of the drive alone."""

    route: str
    scenario: str
    town: str
    status: str
    driving_score: float
    route_completion: float
    infractions: Mapping[str, list[str]]
    length_m: float
    game_s: float
    wall_s: float


def routes_of(files: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """(town, scenario types) by route id."""
    found = {}
    for file in files:
        for route in ElementTree.parse(file).iter("route"):
            types = [scenario.get("type", "") for scenario in route.iter("scenario")]
            found[route.get("id", "")] = (route.get("town", ""), ", ".join(types))
    return found


def drives_of(result: Mapping[str, Any], routes: Mapping[str, tuple[str, str]]) -> list[Drive]:
    """The drives of one result file; a route that no routes file names has neither town nor scenario."""
    found = []
    for record in result["_checkpoint"]["records"]:
        route = record["route_id"].removeprefix("RouteScenario_").rpartition("_rep")[0]
        town, scenario = routes.get(route, ("", ""))
        scores, meta = record["scores"], record["meta"]
        found.append(
            Drive(
                route=route,
                scenario=scenario,
                town=town,
                status=record["status"],
                driving_score=round(scores["score_composed"], 1),
                route_completion=round(scores["score_route"], 1),
                infractions={kind: told for kind, told in record["infractions"].items() if told},
                length_m=round(meta["route_length"], 1),
                game_s=round(meta["duration_game"], 1),
                wall_s=round(meta["duration_system"], 1),
            )
        )
    return found


def table(drives: Iterable[Drive]) -> str:
    """Markdown, one row a drive."""
    cells = []
    for drive in drives:
        infractions = ", ".join(
            kind.removesuffix("_infractions").replace("_", " ") + (f" x{len(told)}" if len(told) > 1 else "")
            for kind, told in drive.infractions.items()
        )
        line = (
            drive.route, drive.scenario, drive.town, drive.status, f"{drive.driving_score:.1f}",
            f"{drive.route_completion:.0f} %", infractions, f"{drive.length_m:.0f} m in {drive.game_s:.0f} s",
            f"{drive.wall_s:.0f} s",
        )  # fmt: skip
        cells.append(line)
    return markdown_tables.rows(COLUMNS, cells)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pdm_lite", description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="folder of the evaluator's result files")
    parser.add_argument("--routes", type=Path, action="append", default=[], help="file; may be given again")
    parser.add_argument("--json", type=Path, help="writes the drives to this file")
    parser.add_argument("--table", type=Path, help="Markdown file whose marked part becomes the table")
    arguments = parser.parse_args()
    routes = routes_of(arguments.routes)
    results = [json.loads(file.read_text()) for file in sorted(arguments.results.glob("*.json"))]
    drives = sorted(
        (drive for result in results for drive in drives_of(result, routes)), key=lambda d: (d.town, d.route)
    )
    text = json.dumps([asdict(drive) for drive in drives], indent=1)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    if arguments.table:
        arguments.table.write_text(markdown_tables.placed(arguments.table.read_text(), MARK, table(drives)))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
