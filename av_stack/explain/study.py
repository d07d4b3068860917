"""Explains the infractions of a recorded drive by branches of its last seconds before each.

Each branch restores the recorded world before an infraction and drives on to the end of a window after it: without a
change, with one oracle at a time, with all of them, and at last with CARLA's autopilot.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from av_core.errors import ConfigError
from av_stack.agents.names import STACK
from av_stack.assembly import ORACLES
from av_stack.checks import check_out_folder
from av_stack.explain import record
from av_stack.explain.record import Explanation, Trial
from av_stack.explain.verdict import (
    ALL_ORACLES,
    AUTOPILOT,
    EXPLAINED,
    NO_CHANGE,
    Cause,
    Outcome,
    Verdict,
    next_change,
    outcome,
    verdict,
)
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.recording.recorder import EXPLANATION
from av_stack.replay.branch import Branch, BranchOptions, branch, load_branch
from av_stack.replay.recorded_drive import RecordedDrive
from av_stack.run import Watcher, needed_weights, weights_label
from av_stack.suite.fingerprint import version
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction

AFTER_S = 5.0
"""Time after the infraction until which a branch is watched, because a change may only delay the infraction."""


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """How to explain: the branches begin `before_s` before an infraction; `out` keeps the files of each, if given."""

    before_s: float
    out: Path | None = None
    weights: Path | None = None
    device: str = "cpu"


@dataclass(slots=True)
class Study:
    """The infractions of a drive, and the results on each. `left` are the oracles that the drive did not use."""

    drive: RecordedDrive
    options: ExplainOptions
    explanations: list[Explanation]
    left: Sequence[str]
    notes: Sequence[str]
    settings: dict[str, Any]

    @property
    def path(self) -> Path:
        """explain.json of the drive."""
        return self.drive.path.parent / EXPLANATION


Tell = Callable[[int, str], Watcher]
"""Function (number of the infraction, change) that returns the watcher of the branch."""


def load_study(drive: RecordedDrive, options: ExplainOptions) -> Study:
    """Check everything before a server starts, and take over the trials that an earlier call has driven.

    Raises ConfigError where the drive cannot be explained.
    """
    if drive.setup.agent != STACK:
        raise ConfigError(f"{drive.path}: {drive.setup.agent} drove; only drives of the stack can be explained")
    check_out_folder(options.out)
    left = [name for name in ORACLES if name not in drive.setup.oracles]
    first_s = drive.steps[min(drive.steps)].stamp.time_s
    explanations = []
    for infraction in _infractions(drive):
        branch_s = max(0.0, round(infraction.time_s - options.before_s, 3))
        explanations.append(Explanation(infraction, branch_s, round(infraction.time_s + AFTER_S, 3)))
    explained = [one for one in explanations if one.infraction.kind in EXPLAINED]
    plan = load_branch(drive, BranchOptions(first_s, None, weights=options.weights, device=options.device))
    for one in explained:
        load_branch(drive, BranchOptions(first_s + one.branch_s, None, weights=options.weights, device=options.device))
    study = Study(drive, options, explanations, left, plan.notes, _settings(drive, options))
    known = record.read_trials(study.path, study.settings)
    for one, trials in zip(explanations, known, strict=False):
        one.trials = [trial for trial in trials if trial.outcome is not Outcome.FAILED]
    return study


def explain(study: Study, tell: Tell, abandon: Callable[[str, int], None] | None = None) -> None:
    """Drive the branches that the verdicts need; explain.json is written after each.

    Raises KeyboardInterrupt where one was interrupted.
    """
    for number, one in enumerate(study.explanations):
        if one.infraction.kind not in EXPLAINED:
            one.verdict = Verdict(Cause.NOT_EXPLAINED)
            continue
        while (change := next_change(one.outcomes, study.left)) is not None:
            one.trials.append(_drive(study, number, change, tell(number, change), abandon))
            record.write(study.path, study.settings, study.notes, study.explanations)
        one.verdict = verdict(one.outcomes, study.left)
    record.write(study.path, study.settings, study.notes, study.explanations)


def _infractions(drive: RecordedDrive) -> list[LoggedInfraction]:
    """The recorded infractions in the order of time. Raises ConfigError where none of them can be explained."""
    if not drive.verdict:
        raise ConfigError(f"{drive.path}: the recording was cut off, so it tells no infractions")
    try:
        found = [record.infraction_of(values) for values in drive.verdict.get("infraction_log") or ()]
    except (LookupError, TypeError, ValueError) as error:
        raise ConfigError(f"{drive.path}: the recorded infractions cannot be read: {error}") from None
    if not found:
        raise ConfigError(f"{drive.path}: the drive had no infraction")
    return found


def _settings(drive: RecordedDrive, options: ExplainOptions) -> dict[str, Any]:
    """All settings on which the outcomes of the branches depend, as plain values."""
    content = (drive.setup.scenario, json.dumps(drive.verdict, sort_keys=True), drive.last.packed_truth.hex())
    weights = needed_weights(drive.setup.oracles, options.weights, options.device)
    return {
        "drive": hashlib.sha256("\n".join(content).encode()).hexdigest(),
        "versions": dict(version()),
        "before_s": options.before_s,
        "after_s": AFTER_S,
        "weights": weights_label(weights),
        "device": options.device,
    }


def _drive(study: Study, number: int, change: str, watch: Watcher, abandon: Callable[[str, int], None] | None) -> Trial:
    """Drive one branch to the end of its window."""
    one = study.explanations[number]
    began_s = time.monotonic()
    report, driven = branch(_plan(study, number, change), watch, abandon)
    if driven.exit_status == INTERRUPTED_STATUS:
        raise KeyboardInterrupt
    took_s = round(time.monotonic() - began_s, 1)
    if report.problem is not None:
        return Trial(change, Outcome.FAILED, (), report.problem, took_s)
    log = [record.infraction_of(values) for values in driven.figures["infraction_log"]]
    happened = tuple(entry for entry in log if entry.kind in EXPLAINED and one.branch_s < entry.time_s <= one.until_s)
    earlier = [other.infraction for other in study.explanations[:number]]
    return Trial(change, outcome(one.infraction, happened, earlier, _unchanged(one)), happened, None, took_s)


def _unchanged(one: Explanation) -> Collection[InfractionKind]:
    """The kinds of infraction that happen without a change."""
    return {entry.kind for trial in one.trials if trial.change == NO_CHANGE for entry in trial.infractions}


def _plan(study: Study, number: int, change: str) -> Branch:
    """The branch with this change. The scenario gets only the time to the end of the window."""
    drive, options, one = study.drive, study.options, study.explanations[number]
    first_s = drive.steps[min(drive.steps)].stamp.time_s
    scenario = drive.scenario.model_copy(update={"timeout_s": min(drive.scenario.timeout_s, one.until_s)})
    added = {NO_CHANGE: (), ALL_ORACLES: tuple(study.left), AUTOPILOT: ()}.get(change, (change,))
    is_autopilot = change == AUTOPILOT
    out = None if options.out is None else options.out / f"{number + 1}_{change.replace(' ', '_')}"
    return load_branch(
        replace(drive, scenario=scenario),
        BranchOptions(
            first_s + one.branch_s,
            out,
            agent=AUTOPILOT if is_autopilot else None,
            oracles=None if is_autopilot else (*drive.setup.oracles, *added),
            weights=None if is_autopilot else options.weights,
            device=options.device,
        ),
    )
