"""Makes docs/embedded-carla/programs.md of the runner's results.

    python -m tests.embedded_carla.programs.page RESULTS.jsonl... > docs/embedded-carla/programs.md

Of a program that is in several files the last row counts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from benchmarks import markdown_tables, pdm_lite
from tests.embedded_carla.programs.notes import HEAD, NOTES, OTHERS, PDM_LITE, TITLES

_NOT_AT_HAND = "town not at hand"
_PDM_LITE_JSON = Path("docs/embedded-carla/pdm-lite.json")
_ORDER = {group: number for number, group in enumerate(TITLES)}


def _note(row: dict[str, Any]) -> str:
    said = [text for pattern, text in NOTES if re.search(pattern, f"{row['group']}: {row['name']}: {row['verdict']}")]
    if row["exception"] and not said:
        said.append(f"client: `{row['exception']}`")
    if "Traceback" in row["server"]:
        said.append(f"server: `{row['server']}`")
    return " ".join(said).replace("|", "/")


def _table(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| program | town | verdict | seconds | times real time | note |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.1f}"
        cells = [f"`{row['name']}`", row["town"], row["verdict"], f"{row['seconds']:.0f}", ratio, _note(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(rows: list[dict[str, Any]]) -> str:
    """The whole page in Markdown. `rows`: what the runner wrote, one dictionary a program."""
    run = [row for row in rows if row["verdict"] != _NOT_AT_HAND]
    commits = sorted({row["commit"] for row in run})
    lines = [HEAD.format(commits=", ".join(f"`{commit}`" for commit in commits), count=len(run))]
    for group in sorted({row["group"] for row in rows}, key=lambda name: _ORDER[name]):
        of_group = [row for row in run if row["group"] == group]
        lines += ["", f"## {group}", "", TITLES[group]]
        if of_group:
            lines += ["", *_table(of_group)]
        missing = [row for row in rows if row["group"] == group and row["verdict"] == _NOT_AT_HAND]
        towns = sorted({row["town"] for row in missing})
        if missing:
            names = ", ".join(f"`{row['name']}`" for row in missing)
            lines += ["", f"{len(missing)} more want towns that were not at hand ({', '.join(towns)}): {names}."]
    return "\n".join([*lines, "", OTHERS]) + expert()


def expert() -> str:
    """The section on PDM-Lite in Markdown, of the drives that `benchmarks.pdm_lite` kept."""
    drives = [pdm_lite.Drive(**row) for row in json.loads(_PDM_LITE_JSON.read_text())]
    begin, end = markdown_tables.marks(pdm_lite.MARK)
    return PDM_LITE.format(begin=begin, end=end, table=pdm_lite.table(drives))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="RESULTS.jsonl")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for file in parser.parse_args().files:
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["group"], row["name"]] = row
    print(page(list(found.values())), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
