"""PDM-Lite and our stack on the same routes under one Leaderboard evaluator: its result files as drives and a table.

PDM-Lite is the privileged expert of carla_garage; `benchmarks/pdm_lite/stack_agent.py` is our stack for carla_garage's
evaluator.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any
from xml.etree import ElementTree

from benchmarks import markdown_tables

MARK = "pdm-lite"
PDM_LITE, STACK = "PDM-Lite", "stack"
AGENTS = (PDM_LITE, STACK)
TO_THE_END = ("Perfect", "Completed")
"""The evaluator's words for a drive that got to the end of its route."""

COLUMNS = (
    "route", "scenario", "town", *(f"{agent}: score" for agent in AGENTS), "difference",
    *(f"{agent}: infractions" for agent in AGENTS), *(f"{agent}: time, s" for agent in AGENTS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drive:
    """One route as the evaluator judged it; scores in percent, times of the drive alone."""

    agent: str
    route: str
    scenario: str
    town: str
    status: str
    driving_score: float
    route_completion: float
    infractions: Mapping[str, list[str]]
    length_m: float
    game_s: float
    wall_s: float


def routes_of(files: Iterable[Path]) -> dict[str, tuple[str, str]]:
    """(town, scenario types) by route id."""
    found = {}
    for file in files:
        for route in ElementTree.parse(file).iter("route"):
            types = [scenario.get("type", "") for scenario in route.iter("scenario")]
            found[route.get("id", "")] = (route.get("town", ""), ", ".join(types))
    return found


def drives_of(agent: str, result: Mapping[str, Any], routes: Mapping[str, tuple[str, str]]) -> list[Drive]:
    """The drives of one result file; a route that no routes file names has neither town nor scenario."""
    found = []
    for record in result["_checkpoint"]["records"]:
        route = record["route_id"].removeprefix("RouteScenario_").rpartition("_rep")[0]
        town, scenario = routes.get(route, ("", ""))
        scores, meta = record["scores"], record["meta"]
        found.append(
            Drive(
                agent=agent,
                route=route,
                scenario=scenario,
                town=town,
                status=record["status"],
                driving_score=round(scores["score_composed"], 1),
                route_completion=round(scores["score_route"], 1),
                infractions={kind: told for kind, told in record["infractions"].items() if told},
                length_m=round(meta["route_length"], 1),
                game_s=round(meta["duration_game"], 1),
                wall_s=round(meta["duration_system"], 1),
            )
        )
    return found


def table(drives: Sequence[Drive]) -> str:
    """Markdown: one row a route with both agents side by side, and the means over the routes that both have driven.

    A drive that did not get to the end of its route counts with the evaluator's score; a route that one agent has no
    result for is named and counts in no mean.
    """
    by_route: dict[tuple[str, str], dict[str, Drive]] = {}
    for drive in drives:
        by_route.setdefault((drive.town, drive.route), {})[drive.agent] = drive
    pairs = [(of[PDM_LITE], of[STACK]) for of in by_route.values() if len(of) == len(AGENTS)]
    alone = [drive for of in by_route.values() if len(of) < len(AGENTS) for drive in of.values()]
    return markdown_tables.rows(COLUMNS, map(_cells, by_route.values())) + _summary(pairs, alone)


def _cells(of: Mapping[str, Drive]) -> list[str]:
    some = next(iter(of.values()))
    both = [of.get(agent) for agent in AGENTS]
    expert, stack = both
    difference = f"{stack.driving_score - expert.driving_score:+.1f}" if expert and stack else ""
    return [
        some.route, some.scenario, some.town,
        *(f"{drive.driving_score:.1f}" if drive else "no result" for drive in both), difference,
        *(_told(drive) if drive else "" for drive in both), *(f"{drive.game_s:.0f}" if drive else "" for drive in both),
    ]  # fmt: skip


def _told(drive: Drive) -> str:
    """The kinds of infraction with their counts; before them how a drive ended that did not get to the end."""
    kinds = [
        kind.removesuffix("_infractions").replace("_", " ") + (f" x{len(told)}" if len(told) > 1 else "")
        for kind, told in drive.infractions.items()
    ]
    ended = [] if drive.status in TO_THE_END else [f"{drive.status} ({drive.route_completion:.0f} %)"]
    return ", ".join([*ended, *kinds])


def _summary(pairs: Sequence[tuple[Drive, Drive]], alone: Sequence[Drive]) -> str:
    lines = []
    if pairs:
        expert, stack = (mean(drive.driving_score for drive in of) for of in zip(*pairs, strict=True))
        ahead = sum(ours.driving_score > theirs.driving_score for theirs, ours in pairs)
        equal = sum(ours.driving_score == theirs.driving_score for theirs, ours in pairs)
        lines.append(
            f"Mean score over the routes that both have driven ({len(pairs)}): {PDM_LITE} {expert:.1f}, {STACK} "
            f"{stack:.1f} ({stack - expert:+.1f}).\nThe stack is ahead on {ahead}, equal on {equal} and behind on "
            f"{len(pairs) - ahead - equal}.\n"
        )
    if alone:
        missing = ", ".join(f"{drive.route} (only {drive.agent})" for drive in alone)
        lines.append(textwrap.fill(f"In no mean, because one agent has no result: {missing}.", 120) + "\n")
    return "".join(f"\n{line}" for line in lines)
