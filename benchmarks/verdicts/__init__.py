"""Verdicts of several agents on the same routes: a table, a JSON file, and a sheet with a picture of each type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from av_stack.suite.verdict import NOT_STARTED
from benchmarks import markdown_tables

MARK = "verdicts"
"""Name of the table in a page."""

AGENTS = ("stack", "imitation", "autopilot", "behavior", "basic", "straight", "idle")
"""The agents in the order of the tables: those that drive by their sensors, by the simulator's truth, and blindly."""

NOT_DRIVEN = "not driven"
"""What the table says where an agent has no verdict on a route."""

_TYPE = re.compile(r"_(?P<number>\d+)_(?P<type>[A-Za-z0-9_]+?)(_line_\d+)?$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one agent's drive on one route ended.

    `score` is the driving score of Leaderboard 2.1 in percent. `has_begun` tells whether the scenario was reached.
    `shortcomings` is what the suite holds against the drive; a crash has none. `passed` is Bench2Drive's success.
    """

    end: str
    score: float | None
    has_begun: bool
    shortcomings: tuple[str, ...]
    passed: bool
    crash: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One route: its number in the file, the type of its scenario, its map, and the verdict of each agent."""

    number: int
    type_name: str
    map_name: str
    verdicts: Mapping[str, Verdict]

    @property
    def key(self) -> tuple[int, str, str]:
        """What tells the route from all others."""
        return self.number, self.type_name, self.map_name

    def plain(self) -> dict[str, Any]:
        """The row as JSON takes it."""
        verdicts = {agent: asdict(verdict) for agent, verdict in self.verdicts.items()}
        return {"number": self.number, "type": self.type_name, "map": self.map_name, "verdicts": verdicts}


def read_json(path: Path) -> list[Row]:
    """The rows that `Row.plain` wrote to a file."""
    rows = []
    for plain in json.loads(path.read_text()):
        verdicts = {
            agent: Verdict(**{**found, "shortcomings": tuple(found["shortcomings"])})
            for agent, found in plain["verdicts"].items()
        }
        rows.append(Row(plain["number"], plain["type"], plain["map"], verdicts))
    return rows


def merged(older: list[Row], newer: list[Row]) -> list[Row]:
    """All rows in the order of the route file; where both have a verdict of an agent, that of `newer`."""
    found = {row.key: row for row in older}
    for row in newer:
        before = found[row.key].verdicts if row.key in found else {}
        found[row.key] = Row(*row.key, {**before, **row.verdicts})
    return [found[key] for key in sorted(found)]


def agents_of(rows: list[Row]) -> list[str]:
    """The agents that drove any of the routes: those of `AGENTS` first."""
    found = {agent for row in rows for agent in row.verdicts}
    return [*(agent for agent in AGENTS if agent in found), *sorted(found - set(AGENTS))]


def read_rows(folders: Mapping[str, list[Path]]) -> list[Row]:
    """The rows of the suites in `folders` by agent, in the order of the route file. An agent may have several folders.

    A run that did not start is no drive, and has no verdict.

    Raises ValueError for a run whose name is not that of a route with one scenario.
    """
    found: dict[tuple[int, str, str], dict[str, Verdict]] = {}
    for agent, several in folders.items():
        for folder in several:
            for entry in json.loads((folder / "suite.json").read_text())["drives"]:
                name = _TYPE.search(entry["scenario"])
                if name is None:
                    raise ValueError(f"{folder}: run {entry['scenario']} is not a route with one scenario")
                key = (int(name["number"]), name["type"], entry["map"])
                verdicts = found.setdefault(key, {})
                if entry["end"] != NOT_STARTED:
                    verdicts[agent] = _verdict(entry)
    return [Row(*key, verdicts) for key, verdicts in sorted(found.items())]


def _verdict(entry: Mapping[str, Any]) -> Verdict:
    parts = entry["parts"] or ()
    score = entry["driving_score_2_1"]
    return Verdict(
        end=entry["end"],
        score=None if score is None else round(score, 1),
        has_begun=any(part["began_s"] is not None for part in parts),
        shortcomings=tuple(entry["shortcomings"]),
        passed=entry["crash"] is None and bool(entry["is_success"]),
        crash=entry["crash"],
    )


def table(rows: list[Row], agents: list[str]) -> str:
    """Markdown: one line a route, one column an agent."""
    cells = [
        (str(row.number), f"`{row.type_name}`", row.map_name, *(cell(row.verdicts.get(agent)) for agent in agents))
        for row in rows
    ]
    return markdown_tables.rows(("route", "type", "map", *agents), cells)


def cell(verdict: Verdict | None) -> str:
    """What the table says of a verdict."""
    if verdict is None:
        return NOT_DRIVEN
    if verdict.crash is not None:
        return f"crash: {verdict.crash}"
    if verdict.passed:
        return f"**passed**, {verdict.score:.0f}"
    text = "; ".join(verdict.shortcomings) or "outside the lanes of the route"
    unreached = "" if verdict.has_begun else " (before the scenario)"
    return f"{text}{unreached}" + ("" if verdict.score is None else f", {verdict.score:.0f}")


def totals(rows: list[Row], agents: list[str]) -> str:
    """Markdown: for each agent the drives, those passed, those that reached their scenario, and the mean score.

    An agent that has not driven all routes has its share there, as "46 of 92": its figures are of these routes alone.
    """
    cells = []
    for agent in agents:
        driven = [row.verdicts[agent] for row in rows if agent in row.verdicts]
        scores = [verdict.score for verdict in driven if verdict.score is not None]
        line = (
            agent,
            str(len(driven)) if len(driven) == len(rows) else f"{len(driven)} of {len(rows)}",
            str(sum(verdict.passed for verdict in driven)),
            str(sum(verdict.has_begun for verdict in driven)),
            str(sum(verdict.crash is not None for verdict in driven)),
            f"{sum(scores) / len(scores):.1f}" if scores else "–",
        )
        cells.append(line)
    return markdown_tables.rows(("agent", "drives", "passed", "reached the scenario", "crashes", "mean score"), cells)
