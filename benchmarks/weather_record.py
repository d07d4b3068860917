"""Collects complete searches of the weather: `python -m benchmarks.weather_record RESULTS --json FILE`.

RESULTS holds folders of `av-stack weather --until-failure`. The file keeps the limits of each search, and of each
weather only the figures that limits judge and the recall of road users by distance. One search takes one line.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONTENT, REFERENCE = "weather.json", "reference/suite.json"
KEPT = ("name", "versions", "search", "limits_found", "failed_first")
RECALL, METRES = "recall_", "_m"


def recorded(results: Path) -> list[dict[str, Any]]:
    """The searches below a folder, in the order of their paths. Raises ValueError if a run of one had a problem."""
    return [_compact(path) for path in sorted(results.rglob(CONTENT))]


def _compact(path: Path) -> dict[str, Any]:
    content = json.loads(path.read_text())
    if content["problems"]:
        raise ValueError(f"{path}: {'; '.join(content['problems'])}")
    judged = {limit["figure"] for limit in content["limits"]}
    points = [_point(point, content["search"]["name"], judged) for point in content["points"]]
    machine = json.loads((path.parent / REFERENCE).read_text())["fingerprint"]["machine"]
    return {**{key: content[key] for key in KEPT}, "machine": machine, "points": points}


def _point(point: Mapping[str, Any], parameter: str, judged: set[str]) -> dict[str, Any]:
    """One weather of one drive: the parameter, None in the drive's own weather, and [value, samples] of each figure."""
    figures = {
        name: [None if value is None else round(value, 4), point["samples"][name]]
        for name, value in point["figures"].items()
        if point["samples"][name] and (name in judged or (name.startswith(RECALL) and name.endswith(METRES)))
    }
    return {"unit": point["unit"], "value": (point["point"] or {}).get(parameter), "figures": figures}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weather_record", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="write the searches to this file")
    arguments = parser.parse_args()
    searches = recorded(arguments.results)
    if not searches:
        parser.error(f"{arguments.results}: found no {CONTENT}")
    arguments.json.write_text("[\n" + ",\n".join(map(json.dumps, searches)) + "\n]\n")
    print(f"{len(searches)} searches in {arguments.json}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
