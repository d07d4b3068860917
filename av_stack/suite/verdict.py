"""Decides how an attempt ended: a drive, a run that cannot start, or a crash of client, server or machine."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from av_core.errors import WorldError
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.suite.job import Attempt

NOT_STARTED = "not started"
CRASHED = "crashed"
INTERRUPTED = "interrupted"

ERROR_PREFIX = "av-stack: "
"""Start of the line on stderr with which the command line ends after an error for people."""


def verdict(status: int, figures: Mapping[str, Any] | None, last_line: str, seconds: float) -> Attempt:
    """How the process of a run ended, from its exit status (negative: the signal), its result and its last line.

    An error that `av-stack run` reports before the drive begins is no crash, unless it concerns the server, because
    another attempt would report it again. During the drive, an error that does not concern the server is an error of
    the agent.
    """
    if figures is None:
        return _without_result(status, last_line, seconds)
    error = figures["error"]
    if error == "interrupted":
        return Attempt(CRASHED, error, seconds, "the run was interrupted from outside")
    if error and (status < 0 or status == WorldError.exit_status):
        return Attempt(CRASHED, error, seconds, str(error))
    if recording_error := figures.get("recording_error"):
        return Attempt(CRASHED, error, seconds, str(recording_error))
    return Attempt(str(figures["end"]), error, seconds)


def _without_result(status: int, last_line: str, seconds: float) -> Attempt:
    message = last_line.removeprefix(ERROR_PREFIX)
    is_for_people = last_line.startswith(ERROR_PREFIX)
    if status < 0:
        crash = f"the client was ended by {_signal_name(-status)}"
    elif status == INTERRUPTED_STATUS:
        crash = "the run was interrupted from outside"
    elif is_for_people and status == WorldError.exit_status:
        crash = message
    elif is_for_people:
        return Attempt(NOT_STARTED, message, seconds)
    else:
        crash = f"the client ended with status {status}" + (f": {message}" if message else "")
    return Attempt(CRASHED, crash, seconds, crash)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
