"""The command `av-stack explain`: explains the infractions of a recorded drive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from av_core.errors import ConfigError
from av_stack.checks import check_known, check_out_folder, chosen_detector
from av_stack.cli.options import DEVICES, DetectorOption
from av_stack.cli.output import abandon, console, give_up
from av_stack.cli.recorded.branch import parse_time
from av_stack.cli.report import write_run_page
from av_stack.foreign.kinds import RECORDING, Kind, kind_of
from av_stack.interruption import importing, set_deadline

if TYPE_CHECKING:
    from av_core.types import SensorFrame, Truth
    from av_stack.agents.base import AgentStep
    from av_stack.explain.record import Explanation
    from av_stack.run import Watcher
    from scenarios.judging.judge import Judge

BEFORE_MAX_S = 600.0


def explain_command(
    drive: Annotated[Path, typer.Argument(help="Folder of a drive with infractions.", metavar="RUN_DIR")],
    before: Annotated[
        str, typer.Option(metavar="TIME", help="How long before an infraction its branches begin, such as 8s.")
    ] = "8s",
    detector: DetectorOption = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights (.pt) of the drive's detector. Default: those shipped.")
    ] = None,
    device: Annotated[str, typer.Option(help=f"Where perception runs: {', '.join(DEVICES)}.")] = "cpu",
    out: Annotated[
        Path | None, typer.Option(help="Keep recording and video of every branch, each in a folder of this one.")
    ] = None,
) -> None:
    """Find the module whose output decides whether an infraction happens; writes explain.json and report.html.

    It simulates the last seconds before each infraction again: unchanged, with one oracle at a time, with all oracles,
    and with CARLA's autopilot. Stop it with Ctrl-C; the same command resumes.
    """
    before_s = parse_time(before, "--before", "a time in seconds, for example 8s")
    if not 0.0 < before_s <= BEFORE_MAX_S:
        raise ConfigError(f"--before {before}: expected a time above 0 s and at most {BEFORE_MAX_S:g} s")
    check_known("--device", [device], DEVICES)
    weights = chosen_detector(detector, weights)
    check_out_folder(out)
    if (kind := kind_of(drive)) is not Kind.OWN:
        raise ConfigError(f"{drive}: it is {kind.value}, and only a drive of av-stack run can be explained")
    with importing():
        from av_stack.explain.study import ExplainOptions, explain, load_study
        from av_stack.replay.recorded_drive import read_drive
        from perception.device import resolve_device

        there, _ = resolve_device(device, True)
        recorded = read_drive(drive / RECORDING if drive.is_dir() else drive)
        study = load_study(recorded, ExplainOptions(before_s, out, weights, there))
    for note in study.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    set_deadline(give_up)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("loading", total=None)

        def tell(number: int, change: str) -> Watcher:
            one = study.explanations[number]
            said = f"{number + 1} of {len(study.explanations)}, {_named(one)}: {change}"
            progress.reset(task, total=one.until_s, description=said)

            def watch(frame: SensorFrame, _step: AgentStep, _truth: Truth, _judge: Judge) -> None:
                progress.update(task, completed=frame.stamp.time_s)

            return watch

        def stop_and_abandon(message: str, status: int) -> None:
            """Print the message and exit at once: a thread of the carla wheel may end the process before."""
            progress.stop()
            abandon(message, status)

        explain(study, tell, stop_and_abandon)
    for line in _lines(study.explanations):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    page = " and report.html" if write_run_page(study.path.parent) else ""
    console.print(f"wrote {study.path.name}{page} to {study.path.parent}/", markup=False, soft_wrap=True)


def _named(one: Explanation) -> str:
    from av_stack.report.infractions import WORDS

    return f"{WORDS[one.infraction.kind.value]} at {one.infraction.time_s:.1f} s"


def _lines(explanations: Sequence[Explanation]) -> list[str]:
    """The lines to print: for each infraction its verdict, followed by its branches."""
    from av_stack.explain.verdict import MEANINGS

    told = []
    for one in explanations:
        assert one.verdict is not None
        told.append(f"{_named(one)}: {one.verdict.words} ({MEANINGS[one.verdict.cause]})")
        for trial in one.trials:
            happened = "; ".join(f"{entry.time_s:.1f} s {entry.what}" for entry in trial.infractions)
            detail = trial.problem or happened
            told.append(f"  {trial.change:<14} {trial.outcome.value}" + (f": {detail}" if detail else ""))
    return told
