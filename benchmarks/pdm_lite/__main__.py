"""Turns the Leaderboard evaluator's result files of PDM-Lite's and the stack's drives into one JSON file and a table.

`python -m benchmarks.pdm_lite --results DIR --stack-results DIR --routes FILE.xml [--routes ...] --json FILE
--table FILE.md` reads every `*.json` in the folders. The routes files name each route's town and scenario, which the
evaluator does not write down. The table replaces what stands in the Markdown file between the marks of `MARK`.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks import markdown_tables
from benchmarks.pdm_lite import MARK, PDM_LITE, STACK, drives_of, routes_of, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pdm_lite", description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="folder of the result files of PDM-Lite")
    parser.add_argument("--stack-results", type=Path, required=True, help="folder of the result files of the stack")
    parser.add_argument("--routes", type=Path, action="append", default=[], help="file; may be given again")
    parser.add_argument("--json", type=Path, help="writes the drives to this file")
    parser.add_argument("--table", type=Path, help="Markdown file whose marked part becomes the table")
    arguments = parser.parse_args()
    routes = routes_of(arguments.routes)
    drives = [
        drive
        for agent, folder in ((PDM_LITE, arguments.results), (STACK, arguments.stack_results))
        for file in sorted(folder.glob("*.json"))
        for drive in drives_of(agent, json.loads(file.read_text()), routes)
    ]
    drives.sort(key=lambda drive: (drive.town, drive.route, drive.agent))
    text = json.dumps([asdict(drive) for drive in drives], indent=1)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    if arguments.table:
        arguments.table.write_text(markdown_tables.placed(arguments.table.read_text(), MARK, table(drives)))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
