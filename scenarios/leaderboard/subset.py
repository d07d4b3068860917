"""Selects routes by id: `--routes 0-4,7`."""

from __future__ import annotations

from collections.abc import Sequence

from av_core.config import shortened
from av_core.errors import ConfigError
from scenarios.leaderboard.routes import LeaderboardRoute

RUNS_MAX = 12
"""Most ids or ranges that an error message lists."""


def select_routes(routes: Sequence[LeaderboardRoute], text: str) -> tuple[LeaderboardRoute, ...]:
    """The routes that `text` names, in the order of the file.

    `text` is a list of ids and of ranges `FIRST-LAST`, separated by commas; a range takes in all routes of the file
    from the first to the last. Raises ConfigError for an id that the file lacks or has twice, a route that is named
    twice, and a range that runs backwards.
    """
    numbers: dict[str, int] = {}
    repeated: set[str] = set()
    for number, route in enumerate(routes):
        if route.route_id in numbers:
            repeated.add(route.route_id)
        numbers.setdefault(route.route_id, number)

    def number_of(route_id: str, part: str) -> int:
        if route_id not in numbers:
            raise ConfigError(
                f"--routes {shortened(text)}: no route has the id {shortened(route_id or part)}; there are "
                f"{_runs(list(numbers))}"
            )
        return numbers[route_id]

    chosen: set[int] = set()
    for part in (piece.strip() for piece in text.split(",")):
        first, dash, last = part.partition("-")
        if part in numbers or not dash:
            first = last = part
        start, end = number_of(first.strip(), part), number_of(last.strip(), part)
        if end < start:
            raise ConfigError(f"--routes {shortened(text)}: in {shortened(part)} the last route is before the first")
        for number in range(start, end + 1):
            route_id = routes[number].route_id
            if route_id in repeated:
                raise ConfigError(
                    f"--routes {shortened(text)}: the file has two routes with the id {shortened(route_id)}"
                )
            if number in chosen:
                raise ConfigError(f"--routes {shortened(text)}: route {shortened(route_id)} is named twice")
            chosen.add(number)
    return tuple(routes[number] for number in sorted(chosen))


def _runs(ids: Sequence[str]) -> str:
    """The ids with consecutive numbers as ranges: 0-4, 7."""
    runs: list[list[str]] = []
    for route_id in ids:
        is_next = bool(runs) and route_id.isdecimal() and route_id == _successor(runs[-1][-1])
        if is_next:
            runs[-1].append(route_id)
        else:
            runs.append([route_id])
    shown = [run[0][:40] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:RUNS_MAX]]
    return ", ".join(shown) + (" and more" if len(runs) > RUNS_MAX else "")


def _successor(route_id: str) -> str:
    return str(int(route_id) + 1) if route_id.isdecimal() and len(route_id) < 18 else ""
