"""The result table of `av-stack eval`: one row for each figure, for all parts of perception."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value.

    * `part`: the module, such as "lanes", "ranging" or "detection".
    * `name`: the quantity; `unit`: its unit.
    * `group`: the samples it was measured on, such as "ClearNoon", "all" or "0-20 m".
    * `count`: the number of samples.
    * `goal`: the target, an upper bound; a lower bound if `more_is_better`.
    """

    part: str
    name: str
    group: str
    value: float
    unit: str = ""
    count: int = 0
    goal: float | None = None
    more_is_better: bool = False

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None without a goal, False for NaN."""
        if self.goal is None:
            return None
        return bool(self.value >= self.goal if self.more_is_better else self.value <= self.goal)


def markdown(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table, in the given order."""
    lines = ["| part | figure | over | value | goal | met | samples |", "|---|---|---|---:|---:|---|---:|"]
    for f in figures:
        sign = "≥" if f.more_is_better else "≤"
        goal = "" if f.goal is None else f"{sign} {f.goal:g}"
        met = {None: "", True: "yes", False: "**no**"}[f.is_met]
        value = f"{f.value:.3g} {f.unit}".strip()
        lines.append(f"| {f.part} | {f.name} | {f.group} | {value} | {goal} | {met} | {f.count} |")
    return "\n".join(lines) + "\n"


def rich_table(figures: Sequence[Figure]) -> Table:
    """The same table for a terminal."""
    table = Table("part", "figure", "over", "value", "goal", "samples")
    for f in figures:
        sign = "≥" if f.more_is_better else "≤"
        goal = "" if f.goal is None else f"{sign} {f.goal:g} {'met' if f.is_met else 'missed'}"
        table.add_row(f.part, f.name, f.group, f"{f.value:.3g} {f.unit}".strip(), goal, str(f.count))
    return table


def write_figures(figures: Sequence[Figure], machine: Mapping[str, object], out: Path, stem: str) -> None:
    """Write `out/STEM.json` and `out/STEM.md`; `machine` describes the machine on which they were measured."""
    out.mkdir(parents=True, exist_ok=True)
    plain = [{**asdict(f), "is_met": f.is_met} for f in figures]
    (out / f"{stem}.json").write_text(json.dumps({"machine": dict(machine), "figures": plain}, indent=1) + "\n")
    (out / f"{stem}.md").write_text(markdown(figures))
