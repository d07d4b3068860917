"""Finds what the official code silently ignores, drops or misreads in a route file: `lint` returns a `LintReport`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from av_core.config import shortened
from av_core.suggest import did_you_mean
from av_core.types import LaneGraph
from scenarios.leaderboard.lint_placement import placement_problems
from scenarios.leaderboard.lint_road import road_problems
from scenarios.leaderboard.lint_scenarios import scenario_problems
from scenarios.leaderboard.lint_weather import weather_problems
from scenarios.leaderboard.routes import Ignored, Problem, RouteFile

PROBLEMS_MAX = 1000
"""Most problems of a report."""

TOWNS_MAX = 20
"""Most towns without a map that the summary names."""


@dataclass(frozen=True, slots=True)
class LintReport:
    """The problems of a route file, in the order of its lines.

    * `unchecked_towns`: towns without a map; their triggers could not be compared with the road.
    * `is_cut`: the file has more problems than the `PROBLEMS_MAX` that are listed.
    """

    problems: tuple[Problem, ...]
    unchecked_towns: tuple[str, ...]
    is_cut: bool

    def summary(self, file: RouteFile) -> str:
        """One line: the counts, and what was not checked."""
        scenarios = sum(len(route.scenarios) for route in file.routes)
        counts = ((len(file.routes), "route"), (scenarios, "scenario"), (len(self.problems), "problem"))
        parts = [", ".join(f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts)]
        if self.is_cut:
            parts.append(f"more than {PROBLEMS_MAX} problems, the others are not listed")
        if self.unchecked_towns:
            towns = ", ".join(shortened(town) for town in self.unchecked_towns[:TOWNS_MAX])
            parts.append(f"triggers not compared with the road: no map of {towns} (--maps DIR)")
        return "; ".join(parts)


def lint(file: RouteFile, graph_of: Callable[[str], LaneGraph | None]) -> LintReport:
    """Check a file that `route_xml.survey` has read; `graph_of` gives the lane graph of a town, None without a map."""
    found = list(islice(_all_problems(file, graph_of), PROBLEMS_MAX + 1))
    towns = dict.fromkeys(route.town for route in file.routes)
    return LintReport(
        tuple(sorted(found[:PROBLEMS_MAX], key=lambda problem: problem.line)),
        tuple(town for town in towns if graph_of(town) is None),
        is_cut=len(found) > PROBLEMS_MAX,
    )


def _all_problems(file: RouteFile, graph_of: Callable[[str], LaneGraph | None]) -> Iterator[Problem]:
    yield from file.problems
    for ignored in file.ignored:
        yield Problem(ignored.line, _explain_ignored(ignored))
    first_line: dict[str, int] = {}
    for route in file.routes:
        if route.route_id in first_line:
            yield Problem(
                route.line, f"route id {shortened(route.route_id)} is repeated; it is first in line "
                f"{first_line[route.route_id]}",
            )  # fmt: skip
        first_line.setdefault(route.route_id, route.line)
        yield from weather_problems(route.weather)
        for scenario in route.scenarios:
            yield from scenario_problems(scenario)
        yield from placement_problems(route)
        graph = graph_of(route.town)
        if graph is not None:
            yield from road_problems(route, graph)


def _explain_ignored(ignored: Ignored) -> str:
    name, parent = shortened(ignored.name), shortened(ignored.parent)
    if ignored.kind == "repeated":
        return f"<{name}> is given more than once in <{parent}>; this one has no effect"
    hint = did_you_mean(ignored.name, ignored.read)
    read = f"; read are {', '.join(ignored.read)}" if ignored.read else ""
    if ignored.kind == "attribute":
        return f"unknown attribute {name} of <{parent}>{hint} has no effect{read}"
    return f"unknown element <{name}> in <{parent}>{hint} has no effect{read}"
