"""Commands in processes of their own that begin with the stack's modules imported.

A process that starts anew imports for 3 to 4 s of CPU time. Here one server imports once for each pytest process, and
every command is a fork of it: it runs the same `main`, with its own arguments, output and exit status.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext
from pathlib import Path
from tempfile import TemporaryDirectory

IMPORTED = ["av_stack.run", "av_stack.replay.session", "av_stack.cli.main", __name__]
"""None of them starts a thread, which a fork would lose, and none looks whether the output is a terminal."""


@cache
def _forks() -> ForkServerContext:
    context = get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    return context


def forked(arguments: tuple[str, ...], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """`av-stack` with these arguments, in this process's folder and environment."""
    with TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        place = (os.getcwd(), dict(os.environ))
        process = _forks().Process(target=_command, args=(arguments, place, str(output), str(errors)))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(arguments, timeout_s, output.read_text(), errors.read_text())
        return subprocess.CompletedProcess(arguments, process.exitcode, output.read_text(), errors.read_text())


def _command(arguments: tuple[str, ...], place: tuple[str, dict[str, str]], output: str, errors: str) -> None:
    for path, stream in ((output, sys.stdout), (errors, sys.stderr)):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    folder, environment = place
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["av-stack", *arguments]
    from av_stack.cli.main import main

    main()
