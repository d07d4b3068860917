"""The command scenarios place: finds places for types of Leaderboard scenarios on a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_map, check_maps_folder
from av_stack.cli.output import console, printable
from av_stack.interruption import importing
from av_stack.server_process import embedded_map_files

if TYPE_CHECKING:
    from scenarios.leaderboard.routes import LeaderboardRoute, ScenarioInstance

NONE_FOUND_STATUS = 1
"""Exit status if no place was found."""

ALL = "all"


def place_command(
    type_name: Annotated[str, typer.Argument(metavar="TYPE", help="A type (`av-stack scenarios types`), or `all`.")],
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or an .xodr file.")],
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Another seed gives other places.")] = 0,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of places of each type.")] = 2,
    out: Annotated[Path | None, typer.Option(help="Route file (.xml) to write the places to.")] = None,
) -> None:
    """Find places on a map for a type of scenario, or print why there are none; the exit status is 1 without places."""
    check_maps_folder(maps)
    path = map_path(map_name, maps)
    if out is not None and not out.parent.is_dir():
        raise ConfigError(f"--out {out}: no such folder {out.parent}")
    with importing():
        from av_stack.world.carla.map import read_lane_graph
        from scenarios.leaderboard.placing.find import check_type, find_places
        from scenarios.leaderboard.route_writer import to_xml
        from scenarios.leaderboard.types import TYPES

    if type_name != ALL:
        check_type(type_name)
    graph = read_lane_graph(path)
    found = [find_places(name, graph, seed, count) for name in (TYPES if type_name == ALL else (type_name,))]
    rows: list[tuple[str, ...]] = []
    routes: list[LeaderboardRoute] = []
    for places in found:
        for route, length_m in zip(places.routes, places.lengths_m, strict=True):
            routes.append(replace(route, route_id=str(len(routes))))
            rows.append(_row(routes[-1], length_m))
        if places.refusal:
            rows.append(("-", places.type_name, "none", places.refusal))
    for line in aligned([("route", "type", "at (x, y, yaw)", "length and parameters, or why there is none"), *rows]):
        _say(line)
    if out is not None and routes:
        out.write_text(to_xml(routes), encoding="utf-8")
        _say(f"{len(routes)} routes in {out}")
    if not routes:
        raise typer.Exit(NONE_FOUND_STATUS)


def map_path(name: str, maps: Path | None) -> Path:
    """The OpenDRIVE file of a map, given by name or as a file. Raises ConfigError if there is none."""
    if name.endswith(".xodr"):
        return Path(name)
    files = embedded_map_files(maps)
    check_map(name, sorted(files))
    return files.get(name) or files[name.removesuffix("_Opt")]


def aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The rows as lines with aligned columns; the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()


def _row(route: LeaderboardRoute, length_m: float) -> tuple[str, ...]:
    (scenario,) = route.scenarios
    trigger = scenario.trigger
    at = f"{trigger.x_m:.0f}, {trigger.y_m:.0f}, {trigger.yaw_deg:.0f}"
    return route.route_id, scenario.type, at, ", ".join([f"{length_m:.0f} m", *_parameters(scenario)])


def _parameters(scenario: ScenarioInstance) -> Iterator[str]:
    from scenarios.leaderboard.routes import Interval, Location

    for given in scenario.parameters:
        value = given.value
        if isinstance(value, Location):
            text = f"({value.x_m:.0f}, {value.y_m:.0f})"
        elif isinstance(value, Interval):
            text = f"{value.low:g} to {value.high:g}"
        else:
            text = value if isinstance(value, str) else f"{value:g}"
        yield f"{given.name} {text}"


def _say(line: str) -> None:
    console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
