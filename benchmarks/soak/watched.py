"""Starts a server process whose memory and file descriptors can be read."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Watched:
    """A running server process and its port."""

    process: subprocess.Popen[str]
    port: int

    def resident_mb(self) -> float:
        """Resident memory of the process, MB."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE_BYTES / 1e6

    def descriptors(self) -> int:
        """Number of open files and sockets."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextlib.contextmanager
def watched_server(*arguments: str, log: Path | None = None) -> Iterator[Watched]:
    """Context with a server on free ports, which ends with the context or when this process dies; `log` gets stderr."""
    command = [sys.executable, "-m", "embedded_carla", "--port", "0", "--until-stdin-ends", *arguments]
    with contextlib.ExitStack() as stack:
        told = stack.enter_context(log.open("a")) if log is not None else None
        # In a session of its own, so that Ctrl-C reaches only the run, which saves its progress before the server ends.
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, text=True, start_new_session=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "listening on" not in line:
                raise SystemExit("the server did not start")
            yield Watched(process, int(line.split("listening on ")[1].split(",")[0].rsplit(":", 1)[1]))
        finally:
            process.terminate()
            process.wait(30)
