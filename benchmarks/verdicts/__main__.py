"""`python -m benchmarks.verdicts` puts the suites of several agents side by side.

    av-stack suite obstacles --agent idle --out DIR/idle             # and so on
    python -m benchmarks.verdicts --suite idle=DIR/idle --suite stack=DIR/stack \
        --json FILE.json --table PAGE.md --sheet SHEET.png --of stack

A suite that was driven in parts is given once for each part. With `--add`, the verdicts of FILE.json stay where no
suite has a newer one. The table replaces what stands between the lines `markdown_tables.marks(MARK)` of the page; its
columns are in the order of `AGENTS`, whatever the order of the suites. The sheet shows the first drive of each type by
the agent `--of`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import cv2

from benchmarks import markdown_tables
from benchmarks.verdicts import MARK, agents_of, merged, read_json, read_rows, table, totals
from benchmarks.verdicts.sheet import Picture, read_picture, sheet


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__)
    parser.add_argument("--suite", action="append", required=True, metavar="AGENT=DIR", help="may be given again")
    parser.add_argument("--json", type=Path, help="the file to write")
    parser.add_argument("--add", action="store_true", help="keep what --json holds already")
    parser.add_argument("--table", type=Path, help="Markdown file whose marked part becomes the table")
    parser.add_argument("--sheet", type=Path, help="picture to write")
    parser.add_argument("--of", help="the agent whose drives the sheet shows")
    given = parser.parse_args(arguments)
    folders: dict[str, list[Path]] = {}
    for suite in given.suite:
        agent, _, folder = suite.partition("=")
        folders.setdefault(agent, []).append(Path(folder))
    rows = read_rows(folders)
    if given.add:
        rows = merged(read_json(given.json), rows)
    agents = agents_of(rows)
    text = f"{totals(rows, agents)}\n{table(rows, agents)}"
    print(text)
    if given.json:
        lines = (json.dumps(row.plain(), ensure_ascii=False) for row in rows)
        given.json.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    if given.table:
        given.table.write_text(markdown_tables.placed(given.table.read_text(), MARK, text))
    if given.sheet:
        runs = {path.name: path for folder in folders[given.of] for path in folder.iterdir() if path.is_dir()}
        pictures: dict[str, Picture] = {}  # of the first route of each type that these suites drove
        for row in sorted(rows, key=lambda row: row.number):
            run = next((path for name, path in runs.items() if name.endswith(f"_{row.number}_{row.type_name}")), None)
            if run is not None and row.type_name not in pictures:
                pictures[row.type_name] = read_picture(f"{row.number} {row.type_name}", run)
        cv2.imwrite(str(given.sheet), sheet(list(pictures.values())))


if __name__ == "__main__":
    main()
