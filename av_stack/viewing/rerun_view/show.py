"""Opens Rerun's window, and shows a recording or a running drive there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import rerun as rr

from av_core.errors import AvStackError, ConfigError
from av_stack.interruption import end_without_unloading
from av_stack.viewing.recorded import RecordedView
from av_stack.viewing.rerun_view.log import APPLICATION, RerunLog
from av_stack.viewing.viewer import DriveStep, ViewedDrive

HOST = "127.0.0.1"
START_WAIT_S = 20.0
"""Longest time for Rerun's window to open."""

FLUSH_WAIT_S = 30.0
"""Longest time to hand a recording over to the window."""

END_WAIT_S = 2.0
"""Longest time that a drive waits at its end until its last step is shown."""

STEP_EVERY_S = 0.1
"""Time between two looks for a new step of a running drive."""

Say = Callable[[str], None]


def view_recording(path: Path, save: Path | None) -> str | None:
    """Show a recording in Rerun, or write it to the .rrd file `save`; returns why it could not be read to its end.

    Raises ConfigError where the file is no recording, AvStackError where Rerun's window does not open.
    """
    recording = RecordedView(path)
    try:
        window = Window() if save is None else None
        stream = rr.RecordingStream(APPLICATION)
        if window is not None:
            stream.connect_grpc(window.url)
        else:
            stream.save(save)
        log = RerunLog(stream)
        log.log_drive(recording.drive)
        for step in recording.steps():
            log.log_step(step)
            if window is not None:
                window.check()
        _hand_over(stream, window)
    finally:
        recording.close()
    return recording.problem


def _hand_over(stream: rr.RecordingStream, window: Window | None) -> None:
    """Wait until the file is written, or until the window has everything."""
    try:
        stream.flush(timeout_sec=FLUSH_WAIT_S)
    except RuntimeError as error:  # Rerun raises it for a lost connection and for a full disk
        if window is not None:
            window.check()
        raise AvStackError(f"Rerun: {' '.join(str(error).split())}") from None
    stream.disconnect()


def check_display() -> None:
    """Raise ConfigError where no window can open."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ConfigError(
            "Rerun needs a screen, and neither DISPLAY nor WAYLAND_DISPLAY is set: "
            "try av-stack dashboard, or av-stack view DRIVE --save FILE.rrd"
        )


class Window:
    """Rerun's window, which stays open when this program ends; `url` is the address that it listens at.

    It listens on this machine only. (Rerun's own `spawn` lets it listen for the whole network.) Raises AvStackError
    where it does not open.
    """

    def __init__(self) -> None:
        check_display()
        port = _free_port()
        self.url = f"rerun+http://{HOST}:{port}/proxy"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it stays open as long as the window
        command = [sys.executable, "-m", "rerun_cli", "--bind", HOST, "--port", str(port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors, start_new_session=True
        )
        deadline_s = time.monotonic() + START_WAIT_S
        while not _is_open(port):
            self.check()
            if time.monotonic() > deadline_s:
                self._process.kill()
                raise AvStackError(f"Rerun's window does not open within {START_WAIT_S:.0f} s")
            time.sleep(0.1)

    def check(self) -> None:
        """Raise AvStackError where the window is gone."""
        if self._process.poll() is None:
            return
        end_without_unloading()  # Rerun's library would wait for the window at the end of the program
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        raise AvStackError(f"Rerun's window is gone: {lines[-1] if lines else 'it was closed'}")


def _is_open(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1.0).close()
    except OSError:
        return False
    return True


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


class LiveView:
    """A viewer that streams a drive to Rerun, in a thread of its own: the newest step, at most ten a second.

    `show` only keeps a reference. If Rerun fails, `say` is called once, and the drive goes on without this viewer.
    """

    def __init__(self, stream: rr.RecordingStream, say: Say, check: Callable[[], None] = lambda: None) -> None:
        """`check` raises an error if the window no longer exists."""
        self._stream, self._say, self._check = stream, say, check
        self._drive: ViewedDrive | None = None
        self._latest: DriveStep | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rerun", daemon=True)
        self._thread.start()

    def begin(self, drive: ViewedDrive) -> None:
        self._drive = drive

    def show(self, step: DriveStep) -> None:
        self._latest = step

    def end(self, how: str) -> None:
        """Waits a moment until the last step is shown."""
        self._ended.set()
        self._thread.join(END_WAIT_S)

    def _work(self) -> None:
        try:
            self._show_all()
        except Exception as error:  # noqa: BLE001 - whatever Rerun raises, the drive goes on
            self._say(f"--view has ended: {error or type(error).__name__}")

    def _show_all(self) -> None:
        log, shown, is_ended = RerunLog(self._stream), None, False
        while not is_ended:
            is_ended = self._ended.wait(STEP_EVERY_S)
            step = self._latest
            if step is None or step is shown or self._drive is None:
                continue
            if shown is None:
                log.log_drive(self._drive)
            self._check()
            log.log_step(step)
            shown = step
        self._stream.flush(timeout_sec=END_WAIT_S)


def live_view(say: Say) -> LiveView:
    """Open Rerun's window for a drive that is to begin. Raises AvStackError where it does not open."""
    window, stream = Window(), rr.RecordingStream(APPLICATION)
    stream.connect_grpc(window.url)
    return LiveView(stream, say, window.check)
