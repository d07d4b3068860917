"""The verdicts of two judges on one route, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

PENALTY_EQUAL = 1.0
"""Penalties (score in percent of the completion) that differ by less than this count as equal.

The evaluator's routes are up to 3 m shorter than ours, so completions differ a little.
"""

COMPLETION_EQUAL = 2.0
"""Completions that differ by less than this, in percent, count as equal."""

NOT_SEEN = ("scenario time-out", "failed yield")
"""Kinds that our judge cannot count on the evaluator's drive: the program that plays the scenario tells them."""

COLUMNS = (
    "route", "type", "town", "agent", "traffic", "official verdict", "score", "ours, same drive", "ours, own drive",
    "own drive differs in", "cause",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a drive ended, completion and score in percent, and the number of infractions of each kind.

    `skipped` names the scenarios of the route that the judge's program did not play, and why.
    """

    end: str
    completion_percent: float
    score: float
    counts: Mapping[str, int]
    lines: tuple[str, ...]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """The verdicts on one route: the evaluator's, ours on the same drive, and ours on a drive of its own.

    `cause` says why the first and the last differ, if they do.
    """

    route_id: str
    types: str
    town: str
    agent: str
    has_background: bool
    official: Verdict
    second: Verdict
    ours: Verdict
    cause: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any], cause: str) -> Pair:
        plain = dict(values)
        for name in ("official", "second", "ours"):
            plain[name] = Verdict(**values[name])
        return cls(**{name: plain[name] for name in cls.__slots__ if name != "cause"}, cause=cause)

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "judges_differ": self.judges_differ(), "differs": self.differences()}

    def judges_differ(self) -> list[str]:
        """What the two judges count differently on the same drive."""
        return _differences(self.official, self.second, NOT_SEEN)

    def differences(self) -> list[str]:
        """What differs between the evaluator's drive and ours: infractions, score, completion."""
        return _differences(self.official, self.ours)


def _differences(one: Verdict, other: Verdict, but: Sequence[str] = ()) -> list[str]:
    """Kinds of infractions that are counted differently, and completion and score if only they differ."""
    kinds = sorted({*one.counts, *other.counts} - set(but))
    found = [
        f"{kind}: {one.counts.get(kind, 0)} / {other.counts.get(kind, 0)}"
        for kind in kinds
        if one.counts.get(kind, 0) != other.counts.get(kind, 0)
    ]
    hides_score = any(one.counts.get(kind, 0) != other.counts.get(kind, 0) for kind in but)
    if abs(one.completion_percent - other.completion_percent) > COMPLETION_EQUAL:
        found.append(f"completion: {one.completion_percent:.0f} / {other.completion_percent:.0f} %")
    elif not found and not hides_score and abs(_penalty(one) - _penalty(other)) > PENALTY_EQUAL:
        found.append(f"score: {one.score:.1f} / {other.score:.1f}")
    return found


def _penalty(verdict: Verdict) -> float:
    return 100.0 * verdict.score / verdict.completion_percent if verdict.completion_percent else 100.0


def table(pairs: Iterable[Pair]) -> str:
    """Markdown, one row a route."""
    return markdown_tables.rows(COLUMNS, [_row(pair) for pair in pairs])


def _row(pair: Pair) -> tuple[str, ...]:
    judges = pair.judges_differ()
    same_drive = "; ".join(judges) if judges else f"equal, {pair.second.score:.1f}"
    return (
        pair.route_id, pair.types, pair.town, pair.agent, "yes" if pair.has_background else "no",
        _counted(pair.official), f"{pair.official.score:.1f}", same_drive, f"{pair.ours.score:.1f}",
        "; ".join(pair.differences()) or "nothing", (pair.differences() and pair.cause) or "-",
    )  # fmt: skip


def _counted(verdict: Verdict) -> str:
    """How a drive ended and what was counted, in a few words."""
    counted = [f"{count} {kind}" if count > 1 else kind for kind, count in sorted(verdict.counts.items())]
    skipped = ["scenario skipped"] if verdict.skipped else []
    return ", ".join([verdict.end, *counted, *skipped])


def summary(pairs: Sequence[Pair]) -> str:
    """The table in one sentence."""
    equal = sum(not pair.differences() for pair in pairs)
    judged_equally = sum(not pair.judges_differ() for pair in pairs)
    types = {pair.types for pair in pairs if not pair.official.skipped}
    unnamed = sum(bool(pair.differences()) and not pair.cause for pair in pairs)
    return (
        f"{len(pairs)} drives, in which the evaluator plays {len(types)} types. On the evaluator's own drives, our "
        f"judge comes to the same verdict and score in {judged_equally}. Between its drives and ours, they are "
        f"equal in {equal}; {len(pairs) - equal - unnamed} differences have a named cause, {unnamed} have none."
    )
