"""`python -m benchmarks.official_judge`: both judges on some routes; writes JSON, and a table for a page.

    python -m benchmarks.official_judge --leaderboard DIR --scenario-runner DIR --api DIR --python PYTHON \
        --routes FILE.xml --maps DIR --out DIR [--only ID,ID] [--table PAGE.md]

`--leaderboard` and `--scenario-runner` are checkouts of github.com/carla-simulator, `--api` is CARLA's folder
PythonAPI/carla, and PYTHON has their requirements. `--place TYPE,TYPE --map NAME` makes the routes file first. Routes
that have a result in `--out` are not driven again. `--formula 2.0` is for a checkout that computes the product of 2.0,
as the branch master does. The table replaces what stands between the lines `markdown_tables.marks(MARK)` of the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from av_stack.checks import parse_address
from av_stack.server_process import ServerProcess
from av_stack.world.spec import Address
from benchmarks import markdown_tables
from benchmarks.official_judge.compare import MARK, Pair, table
from benchmarks.official_judge.drives import SCORE_OF_FORMULA, Programs, official, ours
from benchmarks.official_judge.routes import place, routes_in


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.official_judge", description=__doc__)
    for name in ("leaderboard", "scenario-runner", "api", "python", "routes", "maps", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--formula", choices=SCORE_OF_FORMULA, default="2.1", help="that of --leaderboard's score")
    parser.add_argument("--server", help="HOST:PORT of a server for all drives, instead of one for each route")
    parser.add_argument("--place", default="", help="types of scenarios to find places for, comma-separated")
    parser.add_argument("--map", default="", help="the map of --place")
    parser.add_argument("--only", default="", help="ids of routes, comma-separated")
    parser.add_argument("--causes", type=Path, help="JSON: the cause of each route's difference, by its id")
    parser.add_argument("--table", type=Path, help="Markdown file whose marked part becomes the table")
    given = parser.parse_args()
    if given.place:
        given.routes.write_text(place(given.place.split(","), given.maps, given.map))
    programs = Programs(given.leaderboard, given.scenario_runner, given.api, given.python)
    causes = json.loads(given.causes.read_text()) if given.causes else {}
    only = [name for name in given.only.split(",") if name]
    pairs = []
    for route in routes_in(given.routes):
        if only and route.route_id not in only:
            continue
        folder = given.out / route.route_id
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "pair.json"
        if not file.exists():
            with _server(given.server, route.town, given.maps) as address:
                theirs = official(programs, given.routes, route, address, folder)
                mine = ours(programs, given.routes, route, address, folder, given.maps, given.formula)
            file.write_text(json.dumps(Pair(route.route_id, route.types, route.town, theirs, mine).plain(), indent=1))
        pairs.append(Pair.read(json.loads(file.read_text()), causes.get(route.route_id, "")))
        print(table(pairs[-1:]), flush=True)
    (given.out / "official_judge.json").write_text(json.dumps([pair.plain() for pair in pairs], indent=1) + "\n")
    if given.table:
        given.table.write_text(markdown_tables.placed(given.table.read_text(), MARK, table(pairs)))
    return 0


@contextmanager
def _server(server: str | None, town: str, maps: Path) -> Iterator[Address]:
    """The server that is given, or an embedded one with this town."""
    address = parse_address(server)
    if address is not None:
        yield address
        return
    with ServerProcess(("--map", town, "--maps", str(maps))) as own:
        yield own


if __name__ == "__main__":
    sys.exit(main())
