"""Runs the embedded server as a child process, and ends it whatever happens in between."""

from __future__ import annotations

import importlib.util
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from av_core.errors import WorldError
from av_stack.world.spec import Address

HOST = "127.0.0.1"
READY_TIMEOUT_S = 120.0
"""Time that the server has to start listening."""

END_TIMEOUT_S = 3.0
"""Time that the server has to end before it is killed."""

ATTEMPTS = 3
"""Attempts to start, since another process may take the chosen port in the meantime."""

PORT_IN_USE = "in use"
ERROR_PREFIX = "embedded_carla: error: "

_running: set[ServerProcess] = set()


class ServerProcess:
    """`python -m embedded_carla` on a free port; a context manager that gives its address."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = tuple(arguments)
        self._process: subprocess.Popen[str] | None = None
        self._errors: list[str | None] = []

    @property
    def last_words(self) -> str:
        """The last line of the server's log; empty if the log is empty.

        If the log ends with a traceback, the place in the server's code is added.
        """
        words = [line.strip() for line in self._errors if line and line.strip()]
        if not words:
            return ""
        places = [found for line in words if (found := _TRACED.match(line))]
        where = f" (at {Path(places[-1][1]).name}:{places[-1][2]})" if places else ""
        return words[-1].removeprefix("embedded_carla: ") + where

    def ending(self) -> str:
        """How the server ended, or the error it reported while it runs; empty when there is nothing to say.

        Other lines of its log are left out, because they do not tell why it ended.
        """
        process = self._process
        if process is None:
            return ""
        status = process.poll()
        if status is None:
            errors = [line.strip() for line in self._errors if line and line.startswith(ERROR_PREFIX)]
            return f"the server reports: {errors[-1].removeprefix(ERROR_PREFIX)}" if errors else ""
        if status < 0:
            return f"the server was ended by {_signal_name(-status)}"
        return f"the server ended with status {status}" + (f": {self.last_words}" if status else "")

    def has_ended(self) -> bool:
        """Whether the server ended by itself, or was ended by others."""
        process = self._process
        return process is not None and process.poll() is not None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def send_signal(self, number: int) -> None:
        """Send a signal to the server, for tests and injected faults. No effect once it has ended."""
        if self._process is not None:
            self._process.send_signal(number)

    def __enter__(self) -> Address:
        for attempt in range(ATTEMPTS):
            address = Address(HOST, free_port_pair())
            try:
                problem = self._start(address)
            except BaseException:  # Ctrl-C while it loads
                self.stop()
                raise
            if problem is None:
                return address
            if PORT_IN_USE not in problem or attempt == ATTEMPTS - 1:
                raise WorldError(f"the embedded server does not start: {problem}")
        raise AssertionError("unreachable")

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server: terminate it, and kill it after `END_TIMEOUT_S`."""
        self._end(END_TIMEOUT_S)

    def kill(self) -> None:
        """End the server at once, even if it is frozen."""
        self._end(0.0)

    def _end(self, patience_s: float) -> None:
        process, self._process = self._process, None
        _running.discard(self)
        if process is None:
            return
        if patience_s:
            process.terminate()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()

    def _start(self, address: Address) -> str | None:
        """Start the server; None once it listens, otherwise why it does not."""
        command = [sys.executable, "-m", "embedded_carla", "--host", address.host, "--port", str(address.port)]
        # A session of its own keeps Ctrl-C away from the server, since the run has to release the world first. If this
        # process dies without cleaning up (the wheel can abort it), its end of the pipe closes, and the server ends
        # too.
        self._process = _opened([*command, "--until-stdin-ends", *self._arguments])
        _running.add(self)
        said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._errors = []
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        threading.Thread(target=_listen, args=(self._process.stdout, said.put), daemon=True).start()
        listener = threading.Thread(target=_listen, args=(self._process.stderr, self._errors.append), daemon=True)
        listener.start()
        deadline = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                line = said.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.stop()
                return f"it was not ready after {READY_TIMEOUT_S:.0f} s"
            if line is not None and "listening on" in line:
                return None
            if line is None:
                listener.join(END_TIMEOUT_S)
                self.stop()
                return self.last_words or "it ended without a message"


_TRACED = re.compile(r'File "(.+)", line (\d+), in ')
"""A line of a traceback that names a place in the code."""


def kill_servers() -> None:
    """Kill all servers of this process without waiting for them. For a process that is about to end."""
    for server in list(_running):
        if server.pid is not None:
            os.kill(server.pid, signal.SIGKILL)


def _opened(command: Sequence[str]) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _listen(pipe: IO[str], tell: Callable[[str | None], None]) -> None:
    """Pass on each line, then None at the end. It never stops reading, or a full pipe would block the server."""
    try:
        for line in pipe:
            tell(line)
    except ValueError:  # closed while reading: the server is being ended
        pass
    tell(None)


def free_port_pair() -> int:
    """A port p on this machine such that p and p + 1 are free right now; CARLA uses both."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind((HOST, 0))
            port = int(first.getsockname()[1])
            try:
                second.bind((HOST, port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise WorldError(f"no two neighbouring free ports on {HOST}")


def embedded_maps(folder: Path | None = None) -> list[str]:
    """Sorted names of the maps of an embedded server that is started with `--maps folder`."""
    return sorted(embedded_map_files(folder))


def embedded_map_files(folder: Path | None = None) -> dict[str, Path]:
    """The OpenDRIVE files of these maps by name, as such a server would choose them."""
    spec = importlib.util.find_spec("embedded_carla")
    own = (
        Path(next(iter(spec.submodule_search_locations))) / "maps" if spec and spec.submodule_search_locations else None
    )
    listed = [Path(part) for part in os.environ.get("EMBEDDED_CARLA_MAPS", "").split(os.pathsep) if part]
    found: dict[str, Path] = {}
    for place in (place for place in (folder, *listed, own) if place is not None):
        for path in sorted(place.glob("*.xodr")):
            found.setdefault(path.stem, path)
    return found


def embedded_town(name: str) -> Path | None:
    """The OpenDRIVE file of one of the embedded server's own towns; None for other maps. For servers without that map.

    Searches beside the installed package without importing it, since the stack must not import the server.
    """
    spec = importlib.util.find_spec("embedded_carla")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / "maps" / f"{name}.xodr"
    return path if path.is_file() else None
