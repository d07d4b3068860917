"""Drives with one fault each: `python -m benchmarks.faults --out FOLDER [--page docs/faults.md]`.

Each case drives a clear road, with the fault at a set time, and is held to `av_stack.faults.expected`. FOLDER has a
line for each case in cases.jsonl, and all of them in faults.json; the page gets the table. Stop it with Ctrl-C; the
next start continues where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from av_stack.server_process import ServerProcess
from av_stack.suite.fingerprint import machine, version
from benchmarks.faults.cases import CASES, NO_FAULT, drive_case
from benchmarks.markdown_tables import placed, rows

LINES, FIGURES = "cases.jsonl", "faults.json"
COLUMNS = ("case", "state wanted", "within", "reached after", "collisions", "outside lane", "1 - score ratio", "right")


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """The cases as a Markdown table."""
    without = next((one["driving_score"] for one in found if one["case"] == NO_FAULT), None)
    return rows(COLUMNS, [_row(one, without) for one in found])


def _row(one: Mapping[str, Any], score_without: float | None) -> list[str]:
    reached = one["reached_s"]
    outside_m = one.get("outside_lane_m")
    return [
        f"`{one['case']}`",
        one["wanted"],
        f"{one['within_s']:g} s" if one.get("within_s") else "",
        "never" if reached is None and one["case"] != NO_FAULT else "" if reached is None else f"{reached:.2f} s",
        str(one["collisions"]),
        "" if outside_m is None else f"{outside_m:g} m",
        _loss(one, score_without),
        "yes" if one["is_right"] else "**no**",
    ]


def _loss(one: Mapping[str, Any], score_without: float | None) -> str:
    if not score_without or "driving_score" not in one:
        return ""
    return f"{1.0 - one['driving_score'] / score_without:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.faults", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/faults"), help="folder of the files")
    parser.add_argument("--page", type=Path, help="page that gets the table, between its marks")
    parser.add_argument("--cases", type=int, default=len(CASES), help="number of cases, from the first")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = options.out / LINES
    found = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    done = {one["case"] for one in found}
    wanted = [case for case in CASES[: options.cases] if case not in done]
    if wanted:
        with ServerProcess(("--map", "city_grid")) as address:
            for case in wanted:
                one = drive_case(case, address, options.out)
                found.append(one)
                with lines.open("a") as file:
                    file.write(json.dumps(one) + "\n")
                verdict = "right" if one["is_right"] else "WRONG"
                print(f"{len(found)}/{options.cases} {case}: {verdict}, {one['reached_s']} s, {one['wall_s']} s wall")
    figures = {"machine": machine(), "versions": version(), "cases": found}
    (options.out / FIGURES).write_text(json.dumps(figures, indent=2) + "\n")
    if options.page is not None:
        options.page.write_text(placed(options.page.read_text(), "faults", table(found)))
    print(f"{sum(one['is_right'] for one in found)} of {len(found)} cases are right; wrote {options.out / FIGURES}")


if __name__ == "__main__":
    main()
