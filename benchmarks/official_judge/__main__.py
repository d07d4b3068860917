"""`python -m benchmarks.official_judge`: both judges on some routes; writes JSON, and a table for a page.

    python -m benchmarks.official_judge --leaderboard DIR --scenario-runner DIR --api DIR --python PYTHON \
        --routes FILE.xml --maps DIR --out DIR [--only ID,ID] [--agent NAME] [--no-background] [--table PAGE.md]

`--leaderboard` and `--scenario-runner` are checkouts of github.com/carla-simulator, `--api` is CARLA's folder
PythonAPI/carla, and PYTHON has their requirements. `--place TYPE,TYPE --map NAME` makes the routes file first. Drives
that have a result in `--out` are not driven again. `--formula 2.0` is for a checkout that computes the product of 2.0,
as the branch master does. The table replaces what stands between the lines `markdown_tables.marks(MARK)` of the page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from av_stack.checks import parse_address
from av_stack.server_process import ServerProcess
from av_stack.world.spec import Address
from benchmarks import markdown_tables
from benchmarks.official_judge.compare import MARK, Pair, Verdict, summary, table
from benchmarks.official_judge.drives import SCORE_OF_FORMULA, Programs, official, ours, second
from benchmarks.official_judge.order import Order
from benchmarks.official_judge.routes import JudgedRoute, place, routes_in

PAIR = "pair.json"
JUDGED = ("behavior", "basic", "autopilot", "idle")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.official_judge", description=__doc__)
    for name in ("leaderboard", "scenario-runner", "api", "python", "routes", "maps", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--formula", choices=SCORE_OF_FORMULA, default="2.1", help="that of --leaderboard's score")
    parser.add_argument("--server", help="HOST:PORT of a server for all drives, instead of one for each route")
    parser.add_argument("--place", default="", help="types of scenarios to find places for, comma-separated")
    parser.add_argument("--map", default="", help="the map of --place")
    parser.add_argument("--only", default="", help="ids of routes, comma-separated")
    parser.add_argument("--agent", choices=JUDGED, default="behavior", help="what drives")
    parser.add_argument("--no-background", action="store_true", help="drive without background traffic")
    parser.add_argument("--drive-only", action="store_true", help="write no summary: other commands drive as well")
    parser.add_argument(
        "--causes", type=Path, help="JSON: the cause of each difference, by AGENT/TRAFFIC/ROUTE, the folder in --out"
    )
    parser.add_argument("--json", type=Path, help="file for all drives in --out; default: official_judge.json there")
    parser.add_argument("--sum-up", action="store_true", help="drive nothing")
    parser.add_argument("--table", type=Path, help="Markdown file whose marked part becomes the table")
    given = parser.parse_args()
    if given.place:
        given.routes.write_text(place(given.place.split(","), given.maps, given.map))
    programs = Programs(given.leaderboard, given.scenario_runner, given.api, given.python)
    only = [name for name in given.only.split(",") if name]
    for route in routes_in(given.routes) if not given.sum_up else ():
        if not only or route.route_id in only:
            order = _order(given, route)
            if not (Path(order.folder) / PAIR).exists():
                print(table([_driven(given, programs, route, order)]), flush=True)
    if not given.drive_only:
        _sum_up(given)
    return 0


def _order(given: argparse.Namespace, route: JudgedRoute) -> Order:
    traffic = "alone" if given.no_background else "traffic"
    folder = (given.out / given.agent / traffic / route.route_id).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    places = (str(given.routes.resolve()), route.route_id, str(given.maps.resolve()), str(folder))
    return Order(*places, agent=given.agent, has_background=not given.no_background)


def _driven(given: argparse.Namespace, programs: Programs, route: JudgedRoute, order: Order) -> Pair:
    """Drive a route under both judges, each with a server of its own; a verdict that is there already is read."""
    folder = Path(order.folder)

    def verdict(name: str, drive: Callable[[Address], Verdict]) -> Verdict:
        file = folder / f"{name}.verdict.json"
        if not file.exists():
            with _server(given.server, route.town, given.maps) as address:
                file.write_text(json.dumps(asdict(drive(address)), indent=1))
        return Verdict(**json.loads(file.read_text()))

    theirs = verdict("official", lambda address: official(programs, order, address))
    mine = verdict("ours", lambda address: ours(programs, order, address, given.formula))
    on_theirs = second(order, given.formula)
    what = (route.route_id, route.types, route.town, order.agent, order.has_background)
    pair = Pair(*what, theirs, on_theirs, mine)
    (folder / PAIR).write_text(json.dumps(pair.plain(), indent=1))
    return pair


def _sum_up(given: argparse.Namespace) -> None:
    """Write all drives in `--out` as one file, and their table into the page."""
    causes = json.loads(given.causes.read_text()) if given.causes else {}
    pairs = []
    for file in given.out.glob(f"*/*/*/{PAIR}"):
        cause = causes.get(str(file.parent.relative_to(given.out)), "")
        pairs.append(Pair.read(json.loads(file.read_text()), cause))
    pairs.sort(key=lambda pair: (pair.agent, pair.has_background, int(pair.route_id)))
    file = given.json or given.out / "official_judge.json"
    file.write_text(json.dumps([pair.plain() for pair in pairs], indent=1) + "\n")
    print(summary(pairs), flush=True)
    if given.table:
        text = f"{summary(pairs)}\n\n{table(pairs)}"
        given.table.write_text(markdown_tables.placed(given.table.read_text(), MARK, text))


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
