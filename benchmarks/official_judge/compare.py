"""The verdicts of two judges on one route, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import markdown_tables

MARK = "official-judge"
"""Name of the table in a page."""

OFFICIAL_KINDS = {
    "collisions_layout": "collision with an object",
    "collisions_pedestrian": "collision with a walker",
    "collisions_vehicle": "collision with a vehicle",
    "red_light": "red light",
    "stop_infraction": "stop sign",
    "outside_route_lanes": "outside lanes",
    "min_speed_infractions": "slow quarter",
    "yield_emergency_vehicle_infractions": "failed yield",
    "scenario_timeouts": "scenario time-out",
    "route_dev": "left the route",
    "vehicle_blocked": "blocked",
    "route_timeout": "route time-out",
}
"""Words for the kinds of infractions in the evaluator's records."""

OUR_KINDS = {
    "collision_static": "collision with an object",
    "collision_walker": "collision with a walker",
    "collision_vehicle": "collision with a vehicle",
    "red_light": "red light",
    "stop_sign": "stop sign",
    "outside_lanes": "outside lanes",
    "minimum_speed": "slow quarter",
    "failed_yield": "failed yield",
    "scenario_timeout": "scenario time-out",
    "deviation": "left the route",
    "blocked": "blocked",
    "route_timeout": "route time-out",
}
"""The same words for the kinds of our infraction log."""

SCORE_EQUAL = 1.0
"""Scores that differ by less than this, in points, count as equal: the starts and ends of a route differ a little."""

COLUMNS = ("route", "type", "town", "official verdict", "score", "our verdict", "our score", "differs in", "cause")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a drive ended, completion and score in percent, and the number of infractions of each kind."""

    end: str
    completion_percent: float
    score: float
    counts: Mapping[str, int]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The two verdicts on one route; `cause` says why they differ, if they do."""

    route_id: str
    types: str
    town: str
    official: Verdict
    ours: Verdict
    cause: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any], cause: str) -> Pair:
        verdicts = {name: Verdict(**values[name]) for name in ("official", "ours")}
        return cls(values["route_id"], values["types"], values["town"], cause=cause, **verdicts)

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "differs": self.differences()}

    def differences(self) -> list[str]:
        """Kinds of infractions that are counted differently, and the score if it differs."""
        kinds = sorted({*self.official.counts, *self.ours.counts})
        found = [
            f"{kind}: {self.official.counts.get(kind, 0)} / {self.ours.counts.get(kind, 0)}"
            for kind in kinds
            if self.official.counts.get(kind, 0) != self.ours.counts.get(kind, 0)
        ]
        if not found and abs(self.official.score - self.ours.score) > SCORE_EQUAL:
            found.append(f"score: {self.official.score:.1f} / {self.ours.score:.1f}")
        return found


def table(pairs: Iterable[Pair]) -> str:
    """Markdown, one row a route."""
    cells = []
    for pair in pairs:
        line = (
            pair.route_id, pair.types, pair.town, pair.official.end, f"{pair.official.score:.1f}", pair.ours.end,
            f"{pair.ours.score:.1f}", "; ".join(pair.differences()) or "nothing", pair.cause or "-",
        )  # fmt: skip
        cells.append(line)
    return markdown_tables.rows(COLUMNS, cells)
