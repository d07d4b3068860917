"""What became of a program: read from its own words, its exit status and the server's log."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tests.embedded_carla.programs.catalogue import Program


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row of the table. `exception` is the client's, `server` what the server's log said meanwhile."""

    group: str
    name: str
    town: str
    verdict: str
    seconds: float
    exception: str
    server: str
    ratio: float | None = None
    """Simulated over real time, where the program tells it."""
    is_unclean: bool = False
    """It was killed, or the server's log tells of a fault: the server should not be used further."""
    commit: str = ""
    """Of the server's sources."""


def _exception(text: str) -> str:
    """The last line of the first trace that is not just Ctrl-C."""
    traces = re.findall(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(.+)", text, re.MULTILINE)
    words = [line for line in traces if not line.startswith("KeyboardInterrupt")]
    other = re.findall(r"^(?:terminate called|Segmentation fault|Fatal Python error).*", text, re.MULTILINE)
    return str((words + other + [""])[0])[:200]


def _scenario(text: str, ended: str, status: int) -> str:
    results = re.findall(r"Results of Scenario: \S+ -+ (\w+)", text)
    if results:
        # Rows of the table: actor, criterion, result, value reached, value wanted.
        failed = re.findall(r"^│[^│]*│ (\w+)[^│]*│ FAILURE │ (\S+) ", text, re.MULTILINE)
        reasons = ", ".join(f"{criterion} {value}" for criterion, value in failed)
        return f"{results[-1]}: {reasons}" if reasons else str(results[-1])
    if "has no criteria" in text:
        return "played to its end (no criteria)"
    return "killed at the limit" if ended == "killed" else f"no verdict (status {status})"


def _leaderboard(checkpoint: Path | None) -> str:
    if checkpoint is None or not checkpoint.exists():
        return "no verdict"
    records = json.loads(checkpoint.read_text())["_checkpoint"]["records"]
    return "; ".join(
        f"{record['route_id']}: {record['status']}, route {record['scores']['score_route']:.0f} %,"
        f" driving score {record['scores']['score_composed']:.1f}" for record in records
    ) or "no verdict"  # fmt: skip


def _plain(program: Program, text: str, status: int, ended: str, exception: str) -> str:
    if program.group == "smoke":
        return {"itself": "pass" if status == 0 else "FAIL"}.get(ended, ended)
    if ended == "killed":
        return "killed at the limit" if program.interrupt_after_s is None else "did not end on Ctrl-C"
    if exception or (status != 0 and ended == "itself"):
        return f"failed (status {status})"
    return "ran until Ctrl-C" if ended == "Ctrl-C" else "ended"


def judge(
    program: Program, text: str, status: int, ended: str, seconds: float, server_words: str, checkpoint: Path | None,
    commit: str,
) -> Outcome:  # fmt: skip
    """`ended`: "itself", "Ctrl-C" or "killed"."""
    exception = _exception(text)
    if status < 0 and ended == "itself":
        exception = exception or f"ended by signal {-status}"
    if program.group == "Leaderboard 2":
        verdict = _leaderboard(checkpoint)
    elif program.ego_turn is not None:
        verdict = _scenario(text, ended, status)
    else:
        verdict = _plain(program, text, status, ended, exception)
    ratios = re.findall(r"Ratio \(Game / System\) │ ([\d.]+)", text)
    lines = [line for line in server_words.splitlines() if line and "listening" not in line]
    has_trace = "Traceback" in server_words
    return Outcome(
        program.group, program.name, program.town, verdict, round(seconds, 1), exception, " / ".join(lines)[-600:],
        float(ratios[-1]) if ratios else None, ended == "killed" or has_trace, commit,
    )  # fmt: skip
