"""Writes docs/operators/*.md from the ladders and the measured figures: `python -m benchmarks.gpu.library.pages`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.markdown_tables import placed, rows
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import FLOAT32, Ladder, Problem

PAGES = Path(__file__).resolve().parents[3] / "docs" / "operators"
FIGURES = PAGES / "figures.json"
"""What `python -m benchmarks.gpu.library` wrote."""
INDEX = "operators"


def page(ladder: Ladder, figures: dict[str, Any] | None) -> str:
    """The page of one operator."""
    problem = Problem(FLOAT32, 1, 1000, 4, 90)
    moved, work = ladder.moved_bytes(problem) / 4000, ladder.operations(problem) / 1000
    parts = [
        f"# {ladder.name}\n",
        f"`{ladder.formula}`\n",
        f"The operator moves {moved:g} times the bytes of its first array, and needs {work:g} operations per element: "
        f"{work / moved / 4:.2f} per byte in float32. Memory bounds it, not arithmetic. "
        f"`version=N` of the operator in [op.py](../../cuda_ops/library/{ladder.folder}/op.py) runs version N; without "
        "it the fastest version for the size, the type and the GPU runs.\n",
        "Made by `python -m benchmarks.gpu.library.pages` from "
        f"[ladder.py](../../cuda_ops/library/{ladder.folder}/ladder.py)"
        f"{' and [figures.json](figures.json)' if figures else '; no GPU has timed it yet'}.\n",
        "## Versions\n",
        rows(["version", "what changed", "why it is faster", "what limits it"], _versions(ladder)),
    ]
    if figures is not None:
        parts += ["## Times\n", _machine(figures), rows(*_times(ladder, figures))]
    return "\n".join(parts)


def _versions(ladder: Ladder) -> list[list[str]]:
    return [
        [
            f"[{version.number}: {version.name}](../../cuda_ops/{ladder.source(version)}.cu)"
            + (f" (sm_{version.architecture_min})" if version.architecture_min > 75 else ""),
            version.change,
            version.why,
            version.limit,
        ]
        for version in ladder.versions
    ]


def _machine(figures: dict[str, Any]) -> str:
    machine = figures["machine"]
    return (
        f"{machine['gpu']}, torch {machine['torch']}; a copy of 1 GB reaches {figures['copy']['tb_per_s']} TB/s. "
        "Terabytes per second in a CUDA graph on cold data, median; bytes as above: reading twice shows as less.\n"
    )


def _times(ladder: Ladder, figures: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Column names and cells: one line per size and type, one column per contender."""
    found: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in (*figures.get("rows", []), *figures.get("compiled", [])):
        if row["operator"] != ladder.name:
            continue
        cells = found.setdefault((row["element"], row["rows"], row["columns"]), {})
        rate = "" if row["tb_per_s"] is None else f"{row['tb_per_s']:.2f}"
        cells.setdefault(row["contender"], f"**{rate}**" if row["is_default"] else rate)
    contenders = [*(f"v{version.number}" for version in ladder.versions), "torch", "torch.compile"]
    lines = [
        [element, f"{count} x {columns}", *(cells.get(name, "") for name in contenders)]
        for (element, count, columns), cells in sorted(found.items(), key=lambda item: (item[0][0], item[0][2]))
    ]
    return ["type", "size", *contenders], lines


def index_table() -> str:
    """The table of all operators."""
    lines = [
        [f"[{ladder.name}]({ladder.name}.md)", f"`{ladder.formula}`", str(len(ladder.versions))] for ladder in LADDERS
    ]
    return rows(["operator", "result", "versions"], lines)


def read_figures() -> dict[str, Any] | None:
    """The measured figures, None before the first run on a GPU."""
    found: dict[str, Any] | None = json.loads(FIGURES.read_text()) if FIGURES.is_file() else None
    return found


def main() -> None:
    figures = read_figures()
    for ladder in LADDERS:
        (PAGES / f"{ladder.name}.md").write_text(page(ladder, figures))
    index = PAGES / "README.md"
    index.write_text(placed(index.read_text(), INDEX, index_table()))


if __name__ == "__main__":
    main()
