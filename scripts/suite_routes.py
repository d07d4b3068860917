"""Chooses the routes of a suite: `python -m scripts.suite_routes PLACES.xml... --out FILE`.

Each input holds the places of scenario types on one map, as `av-stack scenarios place all --map MAP --out PLACES.xml`
writes them. The output has up to `--each` routes of every type, from different maps where that is possible.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from scenarios.leaderboard.route_writer import to_xml
from scenarios.leaderboard.route_xml import read_routes
from scenarios.leaderboard.routes import LeaderboardRoute
from scenarios.leaderboard.types import TYPES


def choose(files: Sequence[Sequence[LeaderboardRoute]], each: int) -> list[LeaderboardRoute]:
    """Up to `each` routes of every type, numbered from 0: the first of each file, then the second of each, ..."""
    chosen: list[LeaderboardRoute] = []
    for name in TYPES:
        columns = [[route for route in routes if _type_of(route) == name] for routes in files]
        in_turn = [route for row in zip_longest(*columns) for route in row if route is not None]
        chosen += in_turn[:each]
    return [replace(route, route_id=str(number)) for number, route in enumerate(chosen)]


def missing(routes: Iterable[LeaderboardRoute], each: int) -> dict[str, int]:
    """For each type that has fewer than `each` routes, how many it has."""
    counts = dict.fromkeys(TYPES, 0)
    for route in routes:
        counts[_type_of(route)] += 1
    return {name: count for name, count in counts.items() if count < each}


def _type_of(route: LeaderboardRoute) -> str:
    return route.scenarios[0].type


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.suite_routes", description=__doc__)
    parser.add_argument("places", type=Path, nargs="+")
    parser.add_argument("--each", type=int, default=2, help="routes of each type (%(default)s)")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    routes = choose([read_routes(path).routes for path in arguments.places], arguments.each)
    arguments.out.write_text(to_xml(routes))
    print(f"{len(routes)} routes; fewer than {arguments.each} of: {missing(routes, arguments.each) or 'no type'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
