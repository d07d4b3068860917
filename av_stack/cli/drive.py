"""The command that drives one scenario or route: run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_core.errors import ConfigError
from av_stack.agents.names import IMITATION, STACK, check_agent
from av_stack.checks import check_known, check_maps_folder, check_out_folder, chosen_detector, parse_address, parse_list
from av_stack.cli.options import (
    DEVICES,
    ORACLE_NAMES,
    RECORDS,
    AgentOption,
    AgentsOption,
    DetectorOption,
    OracleOption,
    OutOption,
    ServerOption,
    StepLimitOption,
)
from av_stack.cli.output import OutcomeError, abandon, console, give_up, printable
from av_stack.cli.report import write_run_page
from av_stack.faults.fault import parse_faults
from av_stack.interruption import INTERRUPTED_STATUS, importing, set_deadline
from av_stack.viewing.commands import check_view, opened_viewing
from scenarios.limits import SEED_MAX

if TYPE_CHECKING:  # commands import late, so that --help and wrong arguments answer at once
    from av_core.types import SensorFrame, Truth
    from av_stack.agents.base import AgentStep
    from av_stack.results.drive_log import Outcome
    from av_stack.run import Options, Watcher
    from av_stack.world.spec import Address
    from scenarios.judging.judge import Judge
    from scenarios.model import Scenario


T = TypeVar("T")
Abandon = Callable[[str, int], None]
"""Ends the process with this message and status."""

ROUTE_FILES = (".xml", ".xosc", ".osc", ".xodr", ".osm", ".json")
"""File extensions that are read as a route file; for other formats than .xml the reader's error names the format."""


def run_command(
    scenario: Annotated[
        str,
        typer.Argument(help="Name of a scenario (av-stack list scenarios), a YAML file, or a Leaderboard route file."),
    ],
    routes: Annotated[str | None, typer.Option(metavar="ID", help="The route of a route file (.xml).")] = None,
    server: ServerOption = None,
    weather: Annotated[
        str | None, typer.Option(help="Name of a weather (av-stack list weathers) or a YAML file.")
    ] = None,
    oracle: OracleOption = "",
    seed: Annotated[
        int | None, typer.Option(min=0, max=SEED_MAX, help="Seed of traffic and sensor noise. Default: the scenario's.")
    ] = None,
    maps: Annotated[Path | None, typer.Option(help="Folder with more .xodr maps for the embedded server.")] = None,
    detector: DetectorOption = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Weights (.pt) of a detector, or with --agent imitation of its network. Default: the shipped ones."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help=f"Where perception runs: {', '.join(DEVICES)}.")] = "auto",
    rig: Annotated[
        str | None,
        typer.Option(
            help="Cameras: compact, full or a YAML file. Default: full on a GPU, compact on a CPU; none for an agent "
            "without cameras, which records no video."
        ),
    ] = None,
    agent: AgentOption = STACK,
    agents: AgentsOption = None,
    step_limit: StepLimitOption = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND@TIME[-TIME]",
            help="A fault of a sensor, the control or the server, for example camera:freeze@12s or "
            "gnss:noise=15@4s-10s; repeatable. docs/faults.md lists the kinds.",
        ),
    ] = None,
    record: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="exact: with every picture, lossless, for av-stack replay (some 220 MB a minute with one camera); "
            "small: without pictures; none: neither recording nor video.",
        ),
    ] = "small",
    view: Annotated[bool, typer.Option("--view", help="Stream the drive to Rerun's window (extra view).")] = False,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show the drive on a local web page, which can stop it.")
    ] = False,
    out: OutOption = Path("out"),
) -> None:
    """Drive a scenario; writes recording.mcap, drive.mp4, result.json and report.html."""
    address, oracles = parse_address(server), parse_list(oracle)
    check_known("--oracle", oracles, ORACLE_NAMES)
    check_known("--device", [device], DEVICES)
    check_known("--record", [record], RECORDS)
    faults = parse_faults(fault or [])
    check_maps_folder(maps)
    check_out_folder(out)
    chosen = chosen_detector(detector, weights)
    check_agent(agent)
    own = None if agent == IMITATION else weights
    check_options_of_stack(agent, {"--oracle": oracle, "--detector": detector, "--weights": own})
    if view:
        check_view()
    changes = {"weather": weather, "seed": seed}
    given: dict[str, object] = {name: value for name, value in changes.items() if value is not None}
    if weather is not None:
        given["weather_keyframes"] = ()
    with importing():
        driven = _load(scenario, routes, maps, address, seed or 0).model_copy(update=given)

        from av_stack.recording.recorder import RECORDING, RESULT, VIDEO
        from av_stack.results.report import table
        from av_stack.run import Options, check_settings, needed_weights
        from perception.device import resolve_device

        check_settings(driven, rig, address, maps)
    there = "cpu"
    if agent in (STACK, IMITATION):
        there, why = resolve_device(device, agent == STACK and needed_weights(oracles) is not None)
        console.print(why, markup=False, soft_wrap=True)
    for warning in driven.warnings:
        console.print(f"warning: {printable(warning)}", markup=False, highlight=False, soft_wrap=True)
    options = Options(address, maps, out, oracles, chosen, there, rig, agent, agents, step_limit, record, faults)
    set_deadline(give_up)
    with opened_viewing(view, dashboard) as viewing:
        outcome = drive_with_progress(driven, replace(options, viewers=viewing.viewers, stop=viewing.stop))
    console.print(table(outcome.figures))
    files = [name for name in (RECORDING, VIDEO, RESULT) if (out / name).exists()]
    # An interrupted drive ends at once without its page; `av-stack report` can make the page later.
    page = " and report.html" if outcome.exit_status != INTERRUPTED_STATUS and write_run_page(out) else ""
    console.print(f"wrote {', '.join(files)}{page} to {out}/", markup=False)
    if dropped := outcome.figures["recording_dropped_steps"]:
        console.print(f"the recording lacks {dropped} steps: writing could not keep up with the drive", markup=False)
    if outcome.exit_status:
        what = outcome.figures["error"] or outcome.figures["recording_error"]
        raise OutcomeError(str(what), outcome.exit_status)


def check_options_of_stack(agent: str, given: Mapping[str, object]) -> None:
    """Raise ConfigError if an option of the stack is given although another agent drives."""
    for option, value in given.items():
        if value and agent != STACK:
            raise ConfigError(f"{option}: only the stack uses it, and --agent is {agent}")


def _load(name: str, routes: str | None, maps: Path | None, address: Address | None, seed: int) -> Scenario:
    """The scenario with this name or in this file. Raises ConfigError or RouteError if there is none."""
    from scenarios.model import load_scenario

    if name.lower().endswith(ROUTE_FILES):
        from av_stack.route_drive import load_route

        return load_route(Path(name), routes, maps, address, seed)
    if routes is not None:
        raise ConfigError(
            f"--routes {routes!r:.40}: it selects a route of a file, and {name!r:.80} is not an .xml file"
        )
    return load_scenario(name)


def drive_with_progress(scenario: Scenario, options: Options) -> Outcome:
    """Run the scenario with a progress bar."""
    from av_stack.run import run

    return with_progress(
        scenario.name, options.agent, lambda watch, abandon: run(scenario, replace(options, abandon=abandon), watch)
    )


def with_progress(name: str, agent: str, drive: Callable[[Watcher, Abandon], T]) -> T:
    """Call `drive` with a progress bar that shows distance, speed and the constraint that limits the speed."""
    from av_stack.recording.overlay import speed_text
    from av_stack.results.constraint_text import describe

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TextColumn("{task.fields[say]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        task = progress.add_task(name, total=None, say="loading")

        def watch(frame: SensorFrame, step: AgentStep, truth: Truth, judge: Judge) -> None:
            if frame.stamp.frame % 5 == 0:
                told = describe(step.result.plan.constraint) if step.result is not None else agent
                say = f"{judge.progress_m:5.0f} m  {speed_text(truth.ego_speed_mps)}  {told}"
                progress.update(task, total=judge.route_length_m, completed=judge.progress_m, say=say)

        def stop_and_abandon(message: str, status: int) -> None:
            """Print the message and exit at once: a thread of the carla wheel may end the process before."""
            progress.stop()
            abandon(message, status)

        return drive(watch, stop_and_abandon)
