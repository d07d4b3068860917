"""Output of the commands, and their end with an error."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from rich.console import Console

from av_core.errors import AvStackError
from av_stack.interruption import INTERRUPTED_STATUS
from av_stack.server_process import kill_servers

console = Console()


class OutcomeError(AvStackError):
    """The command ran, but its outcome is a failure; holds the message and the exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.exit_status = status


def say_error(message: str) -> None:
    """Print an error as one line on stderr."""
    print(f"av-stack: {printable(' '.join(message.split()))}", file=sys.stderr, flush=True)


def printable(line: str) -> str:
    """`line` with the terminal's escape codes written as text, so that the terminal does not execute them."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in line)


def abandon(message: str, status: int) -> NoReturn:
    """End the process at once with this error and status, even if the main thread is blocked in a library."""
    say_error(message)
    os._exit(status)


def give_up() -> None:
    """End the process and its servers at once."""
    kill_servers()
    abandon("interrupted", INTERRUPTED_STATUS)
