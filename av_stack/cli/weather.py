"""The command `av-stack weather`: measures how weather affects a drive and each module.

`look_command` is the hidden command that its processes run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from av_core.errors import ConfigError
from av_stack.checks import check_known, check_maps_folder, check_out_folder
from av_stack.cli.output import OutcomeError, abandon, console, give_up
from av_stack.cli.suite import RayOption, WorkersOption
from av_stack.interruption import importing, set_deadline
from av_stack.weather_stress.parameters import Axis, Search, parse_axes, parse_search

if TYPE_CHECKING:
    from av_core.types import SensorFrame, Truth
    from av_stack.agents.base import AgentStep
    from av_stack.weather_stress.study import Study
    from av_stack.weather_stress.weathers import Unit
    from scenarios.judging.judge import Judge
    from scenarios.model import Scenario

OUT = Path("out/weather_stress")
CONTENT, PAGE = "weather.json", "weather.html"
SEEDS_MAX = 100
TELL_EVERY_STEPS = 50


def weather_command(
    scenario: Annotated[
        str, typer.Argument(help="Name of a scenario or of a suite of scenarios (av-stack list), or a YAML file.")
    ],
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAM=FROM:TO:STEP",
            help="Values of a weather parameter, also as PARAM=A,B,C, preset=all or preset=A,B. Twice: a heat map.",
        ),
    ] = None,
    until_failure: Annotated[
        str | None,
        typer.Option(
            metavar="PARAM[=LOW:HIGH]", help="Search the value at which the drive or a module first misses a limit."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=SEEDS_MAX, help="Drives of each scenario, with this many traffic seeds.")
    ] = 1,
    looks_only: Annotated[
        bool, typer.Option("--looks-only", help="Measure the modules alone, without a drive in each weather.")
    ] = False,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps for the embedded server.")] = None,
    workers: WorkersOption = None,
    ray: RayOption = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for weather.json, weather.html and all runs.")] = OUT,
    resume: Annotated[bool, typer.Option("--resume", help="Continue in --out; finished runs are kept.")] = False,
) -> None:
    """Repeat one drive in many weathers; writes weather.json and weather.html.

    The exit status is 1 when a run crashes or does not start.
    """
    if bool(sweep) == (until_failure is not None):
        raise ConfigError("expected either --sweep or --until-failure, for example --sweep fog_density=0:100:10")
    search = parse_search(until_failure) if until_failure is not None else None
    check_maps_folder(maps)
    check_out_folder(out)
    with importing():
        from av_stack.suite.job import Options
        from av_stack.weather_stress.study import KINDS, Place, Study
        from av_stack.weather_stress.weathers import units
        from av_stack.world.carla.weather import named_weathers

        axes = parse_axes(sweep or [], named_weathers())
        found = units(_scenarios(scenario), seeds)
        options = Options(maps=maps.resolve() if maps is not None else None)
    kinds = tuple(kind for kind in KINDS if kind == "look" or not looks_only)
    place = Place(out, workers, options, console, resume, kinds, ray)
    with Study(Path(scenario).stem, found, place) as study:
        content = _search(study, search, found[0], out) if search is not None else _sweep(study, axes, out)
    _write(content, out)
    if content["problems"]:
        raise OutcomeError(f"{len(content['problems'])} runs crashed: {content['problems'][0]}", 1)


def look_command(
    recording: Annotated[Path, typer.Argument()],
    table: Annotated[Path, typer.Argument()],
    out: Annotated[Path, typer.Option("--out")],
) -> None:
    """Run perception on a recorded drive in the weather of a scenario table: one run of `av-stack weather`."""
    with importing():
        from av_stack.weather_stress.look import look
    set_deadline(give_up)

    def tell(frame: SensorFrame, _step: AgentStep, _truth: Truth, _judge: Judge) -> None:
        if frame.stamp.frame % TELL_EVERY_STEPS == 0:  # the suite counts a run without output for minutes as stalled
            print(f"step {frame.stamp.frame}", flush=True)

    outcome = look(recording, table, out, tell, abandon)
    if outcome.exit_status:
        raise OutcomeError(str(outcome.figures["error"]), outcome.exit_status)


def _scenarios(name: str) -> Sequence[Scenario]:
    """The scenarios of the suite of this name, or the single scenario of this name."""
    from av_core.config import names_in
    from scenarios.model import FOLDER, load_scenario
    from scenarios.suites import SUITES

    if name not in SUITES:
        if not name.endswith((".yaml", ".yml")):
            check_known("SCENARIO", [name], (*names_in(FOLDER), *SUITES))
        return [load_scenario(name)]
    if SUITES[name].route_files:
        raise ConfigError(f"suite {name} has Leaderboard routes, which bring weathers of their own; expected scenarios")
    return SUITES[name].scenarios


def _sweep(study: Study, axes: Sequence[Axis], out: Path) -> dict[str, Any]:
    from av_stack.weather_stress.content import sweep_content
    from av_stack.weather_stress.study import Wanted
    from av_stack.weather_stress.weathers import points

    found = points(axes)
    study.run_round([Wanted(unit, at, kind) for at in found for unit in study.units for kind in study.kinds])
    return sweep_content(study.name, study, axes, found, out)


def _search(study: Study, search: Search, first: Unit, out: Path) -> dict[str, Any]:
    from av_stack.weather_stress.content import search_content
    from av_stack.weather_stress.first_failures import points_of, search_limits
    from av_stack.weather_stress.tables import search_lines

    search = search.from_end_near(first.weather[search.name])
    limits = search_limits(study, search)
    content = search_content(study.name, study, search, limits, points_of(study, search), out)
    for line in search_lines(content):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return content


def _write(content: dict[str, Any], out: Path) -> None:
    from av_stack.recording.atomic_file import write_atomically
    from av_stack.weather_stress.page import weather_page

    write_atomically(out / CONTENT, json.dumps(content, indent=2) + "\n")
    write_atomically(out / PAGE, weather_page(content, out))
    console.print(f"wrote {CONTENT}, {PAGE}, and a folder for each run, to {out}/", markup=False, soft_wrap=True)
