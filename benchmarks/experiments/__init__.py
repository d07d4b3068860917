"""The tables of `docs/experiments.md`, each made from result files below `docs/` that other commands wrote."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import drives, markdown_tables
from benchmarks.experiments import driving, peers, seeing

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "experiments.md"
COLUMNS = 120
"""Largest length of a line that names the files of a table."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """One table of the page: its mark, the result files that it is made from, and how."""

    mark: str
    files: Sequence[str]
    table: Callable[..., str]


EXPERIMENTS = (
    Experiment("agents", ("scenarios/verdicts.json",), driving.agents),
    Experiment("types", ("scenarios/verdicts.json",), driving.types),
    Experiment("weathers", ("perception/weathers.json",), driving.weathers),
    Experiment("presets", ("weather/presets.json",), drives.both),
    Experiment("looks", ("detector/unseen_look_drives.json",), driving.looks),
    Experiment("ablations", ("driving/ablations.json",), drives.per_variant),
    Experiment("random suite", ("driving/random_suite.json",), drives.both),
    Experiment("random drives", ("driving/random_drives.json",), drives.both),
    Experiment("branches", ("replay/branches.json",), driving.branches),
    Experiment("faults", ("faults/faults.json",), driving.faults),
    Experiment("pictures", ("perception/eval.json", "detector/n.json", "detector/heads_goals.json"), seeing.pictures),
    Experiment("weather limits", ("weather/limits.json",), seeing.weather_limits),
    Experiment("cost", ("perception/closed_loop.json", "perception/cpu_shipped.json"), seeing.cost),
    Experiment("control", ("control/study.json",), peers.control),
    Experiment("pdm-lite", ("embedded-carla/pdm-lite.json",), peers.pdm_lite),
    Experiment("judges", ("judging/official_judge.json",), driving.judges),
)


def read(name: str) -> Any:
    """A result file below `docs/`."""
    return json.loads((DOCS / name).read_text())


def filled(page: str) -> str:
    """The page with all its tables made anew. Raises ValueError if the marks of one are missing."""
    for one in EXPERIMENTS:
        sources = ", ".join(f"[{name}]({name})" for name in one.files)
        table = one.table(*map(read, one.files))
        told = textwrap.fill(f"From {sources}.", COLUMNS, break_long_words=False, break_on_hyphens=False)
        page = markdown_tables.placed(page, one.mark, f"{table}\n{told}\n")
    return page
