"""The part of the command replay that branches a recorded drive."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from av_core.errors import ConfigError
from av_stack.agents.names import check_agent
from av_stack.checks import check_known, check_out_folder, parse_list
from av_stack.cli.drive import with_progress
from av_stack.cli.options import ORACLE_NAMES
from av_stack.cli.output import OutcomeError, console, give_up
from av_stack.cli.report import write_run_page
from av_stack.foreign.kinds import RECORDING
from av_stack.interruption import INTERRUPTED_STATUS, importing, set_deadline

BRANCH_OUT = Path("out/branch")
BRANCH_REPORT = "branch.json"


@dataclass(frozen=True, slots=True)
class BranchCall:
    """What the command line says; None where an option is not given."""

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
    """Branch the drive, print the report and write it; OutcomeError where the branch failed."""
    from_s = _parse_time(call.branch_at)
    oracles = None if call.oracle is None else parse_list(call.oracle)
    check_known("--oracle", oracles or (), ORACLE_NAMES)
    if call.agent is not None:
        check_agent(call.agent)
    check_out_folder(call.out)
    with importing():
        from av_stack.recording.atomic_file import write_atomically
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
    write_atomically(call.out / BRANCH_REPORT, json.dumps(report.content(), indent=2) + "\n")
    for line in report.lines():
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if outcome.exit_status != INTERRUPTED_STATUS:
        write_run_page(call.out)
    console.print(f"wrote {BRANCH_REPORT} and the files of the drive to {call.out}/", markup=False)
    problem = report.problem or outcome.figures["recording_error"]
    if problem is not None:
        raise OutcomeError(str(problem), outcome.exit_status or 1)


def _parse_time(text: str) -> float:
    """Seconds, with or without the unit."""
    try:
        time_s = float(text.strip().removesuffix("s"))
    except ValueError:
        time_s = math.nan
    if not math.isfinite(time_s):
        raise ConfigError(f"--from {text!r:.40}: needed is a time of the drive in seconds, for example 41.5s")
    return time_s
