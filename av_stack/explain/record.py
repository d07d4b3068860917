"""explain.json: the results on each infraction so far; a later call of the command continues from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from av_stack.explain.verdict import MEANINGS, Outcome, Verdict
from av_stack.recording.atomic_file import write_atomically
from av_stack.suite.fingerprint import differences
from scenarios.judging.infraction_log import InfractionKind, LoggedInfraction

VERSION = 1
"""Version of the JSON."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A branch that was driven: its outcome, the infractions in its window, and the reason if it failed."""

    change: str
    outcome: Outcome
    infractions: tuple[LoggedInfraction, ...]
    problem: str | None
    took_s: float


@dataclass(slots=True)
class Explanation:
    """An infraction, the branches that were driven for it, and the verdict once they settle it.

    All times are seconds since the first tick. The window of the branches is from `branch_s` to `until_s`.
    """

    infraction: LoggedInfraction
    branch_s: float
    until_s: float
    trials: list[Trial] = field(default_factory=list)
    verdict: Verdict | None = None

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcome by change."""
        return {trial.change: trial.outcome for trial in self.trials}


def write(path: Path, settings: Mapping[str, Any], notes: Sequence[str], explanations: Sequence[Explanation]) -> None:
    """Write the file in one step; `settings` are all that the branches depend on."""
    entries = [_entry(one) for one in explanations]
    content = {"version": VERSION, "settings": settings, "notes": list(notes), "infractions": entries}
    write_atomically(path, json.dumps(content, indent=2) + "\n")


def read_trials(path: Path, settings: Mapping[str, Any]) -> list[list[Trial]]:
    """The trials of each infraction in the file; none if the file is absent, cut off, or has other settings."""
    try:
        content = json.loads(path.read_text())
        if content["version"] != VERSION or differences(content["settings"], settings):
            return []
        return [[_trial(values) for values in entry["branches"]] for entry in content["infractions"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return []


def infraction_of(values: Mapping[str, Any]) -> LoggedInfraction:
    """An entry of the infraction log. Raises LookupError, TypeError or ValueError if it is not valid."""
    time_s, x_m, y_m = (float(values[key]) for key in ("time_s", "x_m", "y_m"))
    return LoggedInfraction(InfractionKind(values["kind"]), time_s, x_m, y_m, str(values["what"]))


def _trial(values: Mapping[str, Any]) -> Trial:
    happened = tuple(map(infraction_of, values["infractions"]))
    return Trial(values["change"], Outcome(values["outcome"]), happened, values["problem"], values["took_s"])


def _entry(one: Explanation) -> dict[str, Any]:
    found = one.verdict
    return {
        **asdict(one.infraction),
        "branch_s": one.branch_s,
        "until_s": one.until_s,
        "branches": [asdict(trial) for trial in one.trials],
        "verdict": None
        if found is None
        else {
            "cause": found.cause,
            "modules": list(found.modules),
            "words": found.words,
            "meaning": MEANINGS[found.cause],
        },
    }
