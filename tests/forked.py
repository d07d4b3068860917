"""Processes that begin with their modules imported: forks of one server, with what tests need of `subprocess.Popen`.

A program that starts anew imports: the stack for 3 to 4 s of CPU time, the embedded server for 2 s. Here one server
imports once for each pytest process, and every program is a fork of it: it runs the same `main`, with its own
arguments, input, output and exit status.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext
from typing import IO

IMPORTED = ["av_stack.run", "av_stack.replay.session", "av_stack.cli.main", "tests.server_loaded", __name__]
"""None of them starts a thread, which a fork would lose, and none looks whether the output is a terminal."""

Main = Callable[[], object]
"""What a program runs; it reads `sys.argv` and gives the exit status, or None."""


@cache
def _forks() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


class ForkedProcess:
    """`main` with these arguments, in this process's folder and environment; its input and outputs are pipes.

    Its errors go to this process's own unless `is_heard`.
    """

    def __init__(
        self, main: Main, arguments: Sequence[str], *, is_heard: bool = True, has_own_session: bool = False
    ) -> None:
        (given, put), (told, said), (complained, complaint) = (os.pipe() for _ in range(3))
        if not is_heard:
            os.dup2(2, complaint)
        theirs = (Connection(given, writable=False), *(Connection(end, readable=False) for end in (said, complaint)))
        place = (os.getcwd(), dict(os.environ))
        self._process = _forks().Process(target=_run, args=(main, tuple(arguments), place, theirs, has_own_session))
        self._process.start()
        for connection in theirs:
            connection.close()
        self.stdin: IO[str] = os.fdopen(put, "w")
        self.stdout: IO[str] = os.fdopen(told)
        self.stderr: IO[str] = os.fdopen(complained)
        self._readers: list[threading.Thread] = []
        self._read = ["", ""]
        self._polling = threading.Lock()
        self._status: int | None = None

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status once `poll` or `wait` has seen it, as `Popen` gives it."""
        return self._status

    def poll(self) -> int | None:
        with self._polling:
            if self._status is None:
                self._status = self._process.exitcode
            return self._status

    def wait(self, timeout: float | None = None) -> int:
        wait([self._process.sentinel], timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0.0)
        return status

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Close the input, and give all output and errors once the process has ended; again after a time-out."""
        self.stdin.close()
        if not self._readers:
            self._readers = [threading.Thread(target=self._listen, args=(n,), daemon=True) for n in range(2)]
            for reader in self._readers:
                reader.start()
        self.wait(timeout)
        for reader in self._readers:
            reader.join()
        return self._read[0], self._read[1]

    def _listen(self, number: int) -> None:
        with (self.stdout, self.stderr)[number] as pipe:
            self._read[number] = pipe.read()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def forked(main: Main, arguments: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """The program's end; raises `subprocess.TimeoutExpired` where it goes on longer, and ends it."""
    process = ForkedProcess(main, arguments)
    try:
        output, errors = process.communicate(timeout_s)
    finally:
        process.kill()
    return subprocess.CompletedProcess(arguments, process.wait(), output, errors)


def _run(
    main: Main,
    arguments: tuple[str, ...],
    place: tuple[str, dict[str, str]],
    connections: Sequence[Connection],
    has_own_session: bool,
) -> None:
    if has_own_session:
        os.setsid()
    for descriptor, connection in enumerate(connections):
        os.dup2(connection.fileno(), descriptor)
        connection.close()
    sys.stdin = open(0)  # noqa: SIM115 - multiprocessing closes the one that the fork server had
    folder, environment = place
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [main.__module__, *arguments]
    sys.exit(main())  # type: ignore[arg-type]
