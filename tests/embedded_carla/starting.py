"""Waits until a server that a test started listens, and tells why when it does not."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.forked import ForkedProcess

END_S = 30.0
"""Time that a server has to end after it has closed its output."""


def listening_port(process: subprocess.Popen[str] | ForkedProcess, log: Path | None = None) -> int:
    """The port on which the server listens. `log` is the file of its errors; None where the test's own shows them.

    Raises AssertionError with how the process ended and its log when it does not listen.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "listening on 127.0.0.1:" in line, f"the server did not start: it said {line!r}, {_ending(process, log)}"
    return int(line.split("127.0.0.1:")[1].split(",")[0])


def _ending(process: subprocess.Popen[str] | ForkedProcess, log: Path | None) -> str:
    try:
        ended = f"ended with status {process.wait(END_S)}"
    except subprocess.TimeoutExpired:
        ended = f"and still runs after {END_S:g} s"
    return ended if log is None else f"{ended}; its log: {log.read_text(errors='replace')!r}"
