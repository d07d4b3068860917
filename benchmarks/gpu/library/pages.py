"""Writes docs/operators/*.md from the ladders and the measured figures: `python -m benchmarks.gpu.library.pages`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.gpu.library.goals import cpu_table, default_version, goals_table
from benchmarks.markdown_tables import placed, rows
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import FLOAT32, Ladder, Problem

PAGES = Path(__file__).resolve().parents[3] / "docs" / "operators"
FIGURES = PAGES / "figures.json"
"""What `python -m benchmarks.gpu.library` wrote."""
INDEX, GOALS, CPU = "operators", "goals", "cpu"


def page(ladder: Ladder, figures: dict[str, Any] | None) -> str:
    """The page of one operator."""
    problem = Problem(FLOAT32, 1, 1000, 4, 90)
    moved, work = ladder.moved_bytes(problem) / 4000, ladder.operations(problem) / 1000
    parts = [
        f"# {ladder.name}\n",
        f"`{ladder.formula}`\n",
        f"The operator {_moves(moved)}, and needs {work:g} operation{'' if work == 1 else 's'} per element: "
        f"{work / moved / 4:.2f} per byte in float32. Memory bounds it, not arithmetic. "
        f"`version=N` of the operator in [op.py](../../cuda_ops/library/{ladder.folder}/op.py) runs version N; without "
        "it the version runs that was fastest for such sizes and types.\n",
        "Made by `python -m benchmarks.gpu.library.pages` from "
        f"[ladder.py](../../cuda_ops/library/{ladder.folder}/ladder.py)"
        f"{' and [figures.json](figures.json)' if figures else '; no GPU has timed it yet'}.\n",
        "## Versions\n",
        rows(["version", "what changed", "what it should gain", "what limits it"], _versions(ladder)),
    ]
    if figures is not None:
        parts += ["## Times\n", _machine(figures), rows(*_times(ladder, figures))]
    return "\n".join(parts)


def _moves(moved: float) -> str:
    return "reads its array once" if moved == 1 else f"moves {moved:g} times the bytes of its first array"


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
        f"One {machine['gpu']} (the [goals](README.md#goals) are for an H200), torch {machine['torch']}. Terabytes per "
        "second: the bytes as above, by the median time in a CUDA graph on cold data. A version that loads its input "
        "twice moves more bytes than are counted. Bold is the version that runs by default, empty what cannot run or "
        "was not timed. A later version is not faster at every size. torch's copy of 1 GiB reaches "
        f"{figures['copy']['tb_per_s']:.2f} TB/s in the same run, read and written.\n"
    )


def _times(ladder: Ladder, figures: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Column names and cells: one line per size and type, one column per contender."""
    found: dict[tuple[str, int, int], dict[str, str]] = {}
    for row in (*figures.get("rows", []), *figures.get("compiled", [])):
        if row["operator"] != ladder.name:
            continue
        cells = found.setdefault((row["element"], row["rows"], row["columns"]), {})
        rate = "" if row["tb_per_s"] is None else f"{row['tb_per_s']:.2f}"
        cells.setdefault(row["contender"], f"**{rate}**" if row["contender"] == default_version(row) else rate)
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


def filled(index: str, figures: dict[str, Any] | None) -> str:
    """The index page with its tables."""
    index = placed(index, INDEX, index_table())
    if figures is None:
        return index
    return placed(placed(index, GOALS, goals_table(figures)), CPU, cpu_table(figures))


def read_figures() -> dict[str, Any] | None:
    """The measured figures, None before the first run on a GPU."""
    found: dict[str, Any] | None = json.loads(FIGURES.read_text()) if FIGURES.is_file() else None
    return found


def main() -> None:
    figures = read_figures()
    for ladder in LADDERS:
        (PAGES / f"{ladder.name}.md").write_text(page(ladder, figures))
    index = PAGES / "README.md"
    index.write_text(filled(index.read_text(), figures))


if __name__ == "__main__":
    main()
