"""The commands for CARLA Leaderboard routes: scenarios lint and scenarios types."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from av_stack.checks import check_maps_folder
from av_stack.cli.output import console, printable
from av_stack.interruption import importing

if TYPE_CHECKING:
    from av_core.types import LaneGraph

FOUND_STATUS = 1
"""Exit status if the lint reports a problem."""


def lint_command(
    file: Annotated[Path, typer.Argument(help="A Leaderboard 2 route file (.xml).")],
    maps: Annotated[
        Path | None, typer.Option(help="Folder with the .xodr maps of the towns, to compare triggers with the road.")
    ] = None,
) -> None:
    """Report what CARLA Leaderboard's own code would ignore or drop in a route file; exit status 1 if there is any."""
    check_maps_folder(maps)
    with importing():
        from scenarios.leaderboard.lint import lint
        from scenarios.leaderboard.route_xml import read_bytes, survey

    @cache
    def graph_of(town: str) -> LaneGraph | None:
        path = maps / f"{town.removesuffix('_Opt')}.xodr" if maps is not None and Path(town).name == town else None
        if path is None or not path.is_file():
            return None
        with importing():
            from av_stack.world.carla.map import read_lane_graph

        return read_lane_graph(path)

    routes = survey(read_bytes(file), str(file))
    report = lint(routes, graph_of)
    for problem in report.problems:
        _say(f"{file}:{problem.line}: {problem.message}")
    _say(f"{file}: {report.summary(routes)}")
    if report.problems:
        raise typer.Exit(FOUND_STATUS)


def types_command() -> None:
    """List the types of scenarios with their parameters."""
    with importing():
        from rich.table import Table

        from scenarios.leaderboard.types import TYPES

    table = Table("type", "timeout", "parameters", "what happens")
    for entry in TYPES.values():
        names = ", ".join(parameter.name for parameter in entry.parameters if parameter.has_effect)
        table.add_row(entry.name, "yes" if entry.has_timeout else "", names, entry.about)
    console.print(table)


def _say(line: str) -> None:
    console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
