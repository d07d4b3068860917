"""Makes one attempt at a run: starts its process, waits for the end, and reads its files."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from av_stack.recording.recorder import RESULT
from av_stack.suite.job import FILES, Attempt, Job, Work
from av_stack.suite.verdict import CRASHED, ERROR_PREFIX, verdict

LOG = "run.log"
"""File in the run's folder with all that the run printed."""

END_TIMEOUT_S = 15.0
"""Time that a run has to end after an interruption."""

LOOK_EVERY_S = 0.2

STALL_S = 300.0
"""Longest time in which a run may write nothing: a recording grows four times per simulated second."""

TAIL_BYTES = 4096


def drive(job: Job, arguments: Sequence[str], folder: Path, stop: threading.Event) -> Attempt:
    """Drive `job` in a process of its own, which writes to the existing `folder`. Ends the process once `stop` is set.

    `arguments` are options of `av-stack run`.
    """
    return run_command(("run", str(write_table(job, folder)), "--out", str(folder), *arguments), folder, stop)


def do_work(work: Work, job: Job, folder: Path, stop: threading.Event) -> Attempt:
    """As `drive`, with the command of `work` in the place of `run`."""
    return run_command(work.words(write_table(job, folder), folder), folder, stop)


def write_table(job: Job, folder: Path) -> Path:
    """Write the scenario or route of a job to the folder of the run; returns the file."""
    table = folder / FILES[job.kind]
    table.write_text(job.text)
    return table


def run_command(words: Sequence[str], folder: Path, stop: threading.Event) -> Attempt:
    """As `drive`, with any command of av-stack that leaves a result in `folder`; `words` are the command's."""
    began_s = time.monotonic()
    # A session of its own keeps Ctrl-C away from the run: it is ended once, and then releases its resources.
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "av_stack.suite.child", *words],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    is_stalled = _wait(process, folder, stop)
    seconds = time.monotonic() - began_s
    if is_stalled:
        crash = f"the run wrote nothing for {STALL_S:.0f} s"
        return Attempt(CRASHED, crash, seconds, crash)
    return verdict(process.returncode, read_result(folder), last_line(folder / LOG), seconds)


def read_result(folder: Path) -> dict[str, Any] | None:
    """result.json of a run; None if it wrote none."""
    path = folder / RESULT
    if not path.is_file():
        return None
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures


def last_line(log: Path) -> str:
    """The error for people in a run's output, or else its last line."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - TAIL_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(ERROR_PREFIX)]
    return (told or lines or [""])[-1]


def _wait(process: subprocess.Popen[bytes], folder: Path, stop: threading.Event) -> bool:
    """Wait for the end of the run; True if it had to be ended because it stalled."""
    is_stalled = False
    try:
        while process.poll() is None:
            is_stalled = time.time() - _last_write(folder) > STALL_S
            if is_stalled or stop.wait(LOOK_EVERY_S):
                break
        return is_stalled
    finally:  # also after a KeyboardInterrupt, with which a Ray cluster cancels
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate the run, if it still runs, and let it release its resources; kill it only if it takes too long."""
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()  # its server ends with it
        process.wait()
    assert process.stdin is not None
    process.stdin.close()


def _last_write(folder: Path) -> float:
    """When something in `folder` was written last, on the clock of `time.time`."""
    return max(path.stat().st_mtime for path in (folder, *folder.iterdir()) if path.exists())
