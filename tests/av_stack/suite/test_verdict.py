"""What counts as a crash, what as a run that cannot start, and what as a drive."""

from __future__ import annotations

from typing import Any

import pytest

from av_stack.suite.progress import remaining_s, told_s
from av_stack.suite.verdict import CRASHED, NOT_STARTED, verdict


def figures(**changes: Any) -> dict[str, Any]:
    return {"end": "arrived", "error": None, "recording_error": None, **changes}


LOST = figures(end="error", error="the CARLA server at 127.0.0.1:2000 went away")


@pytest.mark.parametrize(
    ("status", "result", "line", "end", "crash"),
    [
        (0, figures(), "wrote recording.mcap", "arrived", None),
        (0, figures(end="time-out after 30 s"), "", "time-out after 30 s", None),
        (-6, figures(), "", "arrived", None),  # the wheel died while it unloaded: the drive is whole
        (3, LOST, "av-stack: the CARLA server", CRASHED, "went away"),
        (-6, LOST, "", CRASHED, "went away"),
        (1, figures(end="error", error="the agent raised KeyError"), "", "error", None),
        (1, figures(recording_error="No space left on device"), "", CRASHED, "No space left"),
        (130, figures(end="interrupted", error="interrupted"), "", CRASHED, "from outside"),
        (-9, None, "loading", CRASHED, "ended by SIGKILL"),
        (-11, None, "", CRASHED, "SIGSEGV"),
        (-64, None, "", CRASHED, "SIGRTMAX"),
        (-99, None, "", CRASHED, "signal 99"),
        (130, None, "av-stack: interrupted", CRASHED, "from outside"),
        (3, None, "av-stack: the embedded server does not start", CRASHED, "does not start"),
        (1, None, "ZeroDivisionError: division by zero", CRASHED, "status 1: ZeroDivisionError"),
        (2, None, "av-stack: unknown key nam", NOT_STARTED, None),
        (4, None, "av-stack: no route", NOT_STARTED, None),
    ],
)
def test_how_an_attempt_ended(
    status: int, result: dict[str, Any] | None, line: str, end: str, crash: str | None
) -> None:
    attempt = verdict(status, result, line, 1.0)
    assert attempt.end == end
    assert (attempt.crash is None) == (crash is None)
    assert crash is None or crash in str(attempt.crash)
    if end == NOT_STARTED:
        assert attempt.error == line.removeprefix("av-stack: ")


def test_the_remaining_time_counts_down_and_never_below_nothing() -> None:
    assert remaining_s([], [5.0], 3, 1) is None
    assert remaining_s([10.0, 20.0], [], 4, 1) == 60.0
    assert remaining_s([10.0, 20.0], [], 4, 2) == 30.0
    assert remaining_s([10.0, 20.0], [5.0], 1, 1) == 25.0
    assert remaining_s([10.0, 20.0], [5.0, 40.0], 0, 2) == 10.0  # no sooner than the slowest
    assert remaining_s([10.0], [40.0], 0, 2) == 0.0
    assert remaining_s([], [], 0, 1) == 0.0


def test_durations_are_told_as_a_clock_shows_them() -> None:
    assert [told_s(value) for value in (None, 0.0, 61.4, 3723.0)] == ["?:??", "0:00", "1:01", "1:02:03"]
