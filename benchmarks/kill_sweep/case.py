"""Runs one case: a drive that is ended by a signal, or that runs on a small disk; inspects what it leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.kill_sweep.files import inspect

SCENARIO = """\
name: kill_sweep
map: city_grid
weather: ClearNoon
seed: 1
ego: {blueprint: vehicle.lincoln.mkz_2020}
route: {start: [22.0, -93.25], via: [[111.75, -147.5]], goal: [380.0, -198.25]}
traffic: {vehicles: 2}
timeout_s: %g
"""
RIG = """\
cameras:
  - {name: front, width_px: 160, height_px: 96, fov_x_deg: 60.0, x_m: 2.1, y_m: 0.0, z_m: 1.6, pitch_deg: 2.0}
"""
DRIVE_S = 10.0
END_MAX_S = 5.0
"""Time after the signal by which all processes of a drive should be gone; those left then are counted and killed."""

GIVE_UP_S = 60.0
RUN_MAX_S = 600.0
POLL_S = 0.02
MARK = "AV_STACK_KILL_SWEEP"
"""Environment variable that marks all processes of a case."""


@dataclass(frozen=True, slots=True)
class Case:
    """Either a signal to `target` at the fraction `share` of its loading or driving, or a disk of `disk_bytes`."""

    name: str
    target: str = ""  # client or server
    signal: str = ""
    phase: str = ""  # loading or driving
    share: float = 0.0
    disk_bytes: int = 0


def run_case(case: Case, folder: Path, loading_s: dict[str, float], rerun: str | None) -> dict[str, Any]:
    """Run one case and return its figures; `loading_s` is the result of `measure_loading`."""
    work = folder / case.name
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    (work / "scenario.yaml").write_text(SCENARIO % DRIVE_S)
    (work / "rig.yaml").write_text(RIG)
    before = set(os.listdir("/dev/shm"))
    with _disk(work / "out", case.disk_bytes):
        figures = asdict(case) | _drive(case, work, loading_s) | inspect(work / "out", work, rerun)
        clock = work / "clock"
        figures["clock_s"] = float(clock.read_text() or 0) if clock.exists() else None
        if case.disk_bytes:
            (work / "kept").mkdir()
            for path in (work / "out").iterdir():
                shutil.copy(path, work / "kept")
    figures["temporary_files"] = sorted(os.listdir(work / "tmp"))
    figures["shared_memory"] = sorted(set(os.listdir("/dev/shm")) - before)
    return figures


def measure_loading(folder: Path) -> dict[str, float]:
    """Durations of an undisturbed drive, s: the client's loading, the server's loading from its own start, driving."""
    work = folder / "reference"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    (work / "out").mkdir()
    (work / "scenario.yaml").write_text(SCENARIO % DRIVE_S)
    (work / "rig.yaml").write_text(RIG)
    begin_s = time.monotonic()
    client = _start(work, "reference")
    _wait_until(lambda: _server_of(client.pid) is not None, client)
    server_s = time.monotonic()
    _wait_until(lambda: (work / "out" / "recording.mcap").exists(), client)
    loaded_s = time.monotonic()
    if client.wait(RUN_MAX_S) != 0:
        raise SystemExit(f"kill_sweep: an undisturbed drive fails: {(work / 'errors').read_text()}")
    return {
        "client": loaded_s - begin_s,
        "server": loaded_s - server_s,
        "driving": time.monotonic() - loaded_s,
    }


def _drive(case: Case, work: Path, loading_s: dict[str, float]) -> dict[str, Any]:
    client = _start(work, case.name)
    server = _come_to_moment(case, client, work, loading_s)
    is_early_end = client.poll() is not None
    if case.target and not is_early_end:
        pid = client.pid if case.target == "client" else server
        if pid is not None:
            _send(pid, signal.Signals[case.signal])
    told_s = time.monotonic()
    is_hung = False
    try:
        client.wait(GIVE_UP_S if case.target else RUN_MAX_S)
    except subprocess.TimeoutExpired:
        is_hung = True
    end_s = time.monotonic() - told_s
    while (left := _processes(case.name)) and time.monotonic() - told_s < max(end_s, END_MAX_S):
        time.sleep(POLL_S)
    gone_s = time.monotonic() - told_s
    for pid in left:
        _send(pid, signal.SIGKILL)
    client.wait()
    lines = [line for line in (work / "errors").read_text().splitlines() if line.startswith("av-stack: ")]
    return {
        "status": client.returncode,
        "ended_before_signal": is_early_end,
        "end_s": round(end_s, 2),
        "all_gone_s": round(gone_s, 2),
        "is_hung": is_hung,
        "left_processes": len(left),
        "message": lines[-1] if lines else "",
        "messages": len(lines),
        "has_traceback": "Traceback" in (work / "errors").read_text() or "panicked" in (work / "errors").read_text(),
    }


def _come_to_moment(case: Case, client: subprocess.Popen[bytes], work: Path, loading_s: dict[str, float]) -> int | None:
    """Wait until the signal is due; returns the server's process id, or None if there is no server yet."""
    if not case.target:
        return None
    if case.phase == "driving":
        _wait_until(lambda: (work / "out" / "recording.mcap").exists(), client)
    elif case.target == "server":
        _wait_until(lambda: _server_of(client.pid) is not None, client)
    server = _server_of(client.pid)
    span_s = loading_s["driving"] if case.phase == "driving" else loading_s[case.target]
    due_s = time.monotonic() + case.share * span_s
    while time.monotonic() < due_s and client.poll() is None:
        time.sleep(POLL_S)
    return server


def _start(work: Path, mark: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.kill_sweep.client", str(work / "clock"), "run"]
    command += [str(work / "scenario.yaml"), "--rig", str(work / "rig.yaml"), "--out", str(work / "out")]
    command += ["--oracle", "detection,lights", "--device", "cpu"]
    environment = {**os.environ, MARK: mark, "TMPDIR": str(work / "tmp")}
    with (work / "errors").open("wb") as errors:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=environment, start_new_session=True
        )


def _wait_until(is_so: Any, client: subprocess.Popen[bytes]) -> None:
    deadline_s = time.monotonic() + RUN_MAX_S
    while not is_so() and client.poll() is None and time.monotonic() < deadline_s:
        time.sleep(POLL_S)


def _server_of(pid: int) -> int | None:
    """Process id of the embedded server that the client `pid` has started; None if there is none."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return next((int(child) for child in children if b"embedded_carla" in _command(int(child))), None)
    except OSError:
        return None


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _processes(mark: str) -> list[int]:
    """Process ids of a case that still run; zombies do not count."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:  # the process has ended, or belongs to another user
                continue
    return found


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


@contextmanager
def _disk(path: Path, size_bytes: int) -> Iterator[None]:
    """Create the folder `path`, on a disk (tmpfs) of its own if `size_bytes` is not 0."""
    path.mkdir()
    if not size_bytes:
        yield
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "kill_sweep", str(path)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(path)], check=True)
