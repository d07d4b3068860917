"""The parts of `av-stack replay` that simulate again: branches of a drive, and the drive in another weather."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from av_core.errors import ConfigError
from av_stack.agents.names import STACK, check_agent
from av_stack.checks import check_known, check_out_folder, parse_list
from av_stack.cli.drive import with_progress
from av_stack.cli.options import ORACLE_NAMES
from av_stack.cli.output import OutcomeError, console, give_up
from av_stack.cli.report import write_run_page
from av_stack.foreign.kinds import RECORDING
from av_stack.interruption import INTERRUPTED_STATUS, importing, set_deadline

if TYPE_CHECKING:
    from av_stack.replay.branch_report import BranchReport
    from av_stack.replay.weather_report import WeatherReport
    from av_stack.results.drive_log import Outcome

BRANCH_OUT = Path("out/branch")
BRANCH_REPORT = "branch.json"
WEATHER_OUT = Path("out/weather")
WEATHER_REPORT, WEATHER_STEPS = "weather.json", "weather_steps.jsonl"


@dataclass(frozen=True, slots=True)
class BranchCall:
    """The options on the command line; an option that is not given is None."""

    path: Path
    branch_at: str
    out: Path
    weather: str | None
    agent: str | None
    agents: Path | None
    oracle: str | None
    weights: Path | None
    device: str


def replay_branch(call: BranchCall) -> None:
    """Branch the drive, print the report and write it. Raises OutcomeError if the branch failed."""
    from_s = parse_time(call.branch_at, "--from", "a time of the drive in seconds, for example 41.5s")
    oracles = None if call.oracle is None else parse_list(call.oracle)
    check_known("--oracle", oracles or (), ORACLE_NAMES)
    if call.agent is not None:
        check_agent(call.agent)
    check_out_folder(call.out)
    with importing():
        from av_stack.replay.branch import BranchOptions, branch, load_branch
        from av_stack.replay.recorded_drive import read_drive
        from perception.device import resolve_device

        drive = read_drive(call.path / RECORDING if call.path.is_dir() else call.path)
        device, _ = resolve_device(call.device, True)
        options = BranchOptions(from_s, call.out, call.weather, call.agent, oracles, call.weights, device, call.agents)
        plan = load_branch(drive, options)
    set_deadline(give_up)
    report, outcome = with_progress(
        f"{drive.scenario.name} from {from_s:g} s", plan.agent, lambda watch, abandon: branch(plan, watch, abandon)
    )
    _write(report, outcome, call.out, BRANCH_REPORT)


def replay_in_weather(path: Path, weather: str, out: Path, weights: Path | None, device: str) -> None:
    """Show the drive in another weather, print the comparison and write it. Raises OutcomeError if a drive failed."""
    check_out_folder(out)
    with importing():
        from av_stack.recording.atomic_file import write_atomically
        from av_stack.replay.other_weather import WeatherOptions, compare_weathers, load_other_weather
        from av_stack.replay.recorded_drive import read_drive
        from perception.device import resolve_device

        drive = read_drive(path / RECORDING if path.is_dir() else path)
        there, _ = resolve_device(device, True)
        plan = load_other_weather(drive, WeatherOptions(weather, out, weights, there))
    set_deadline(give_up)
    report, outcome = with_progress(
        f"{drive.scenario.name} in {weather}", STACK, lambda watch, abandon: compare_weathers(plan, watch, abandon)
    )
    out.mkdir(parents=True, exist_ok=True)  # if the first drive failed, the folder does not exist yet
    write_atomically(out / WEATHER_STEPS, "".join(json.dumps(step) + "\n" for step in report.steps()))
    _write(report, outcome, out, WEATHER_REPORT)


def _write(report: BranchReport | WeatherReport, outcome: Outcome, out: Path, name: str) -> None:
    """Write and print the report and make the page of the drive. Raises OutcomeError if the drive failed."""
    from av_stack.recording.atomic_file import write_atomically

    write_atomically(out / name, json.dumps(report.content(), indent=2) + "\n")
    for line in report.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if outcome.exit_status != INTERRUPTED_STATUS and (out / RECORDING).exists():
        write_run_page(out)
    console.print(f"wrote {name} and the files of the drive to {out}/", markup=False)
    problem = report.problem or outcome.figures.get("recording_error")
    if problem is not None:
        raise OutcomeError(str(problem), outcome.exit_status or 1)


def parse_time(text: str, option: str, expected: str) -> float:
    """A time in seconds, written with or without the unit s. Raises ConfigError that says what is `expected`."""
    try:
        time_s = float(text.strip().removesuffix("s"))
    except ValueError:
        time_s = math.nan
    if not math.isfinite(time_s):
        raise ConfigError(f"{option} {text!r:.40}: expected {expected}")
    return time_s
