"""Log messages of the server, on standard error."""

from __future__ import annotations

import os
import sys
import time
import traceback
from contextlib import suppress

SLOW_S = 0.5
"""Duration, s, from which `log_if_slow` reports: a good part of a client's usual time-out."""


def log(message: str) -> None:
    """Print one line. Write errors are ignored: a full disk must not end the server."""
    with suppress(OSError):
        print(f"embedded_carla: {message}", file=sys.stderr, flush=True)


def log_failure(message: str) -> None:
    """Report a fault whose effect clients notice, such as a sensor or camera that sends nothing."""
    log(f"error: {message}")


def log_if_slow(what: str, began_s: float) -> float:
    """Log `what` if it took longer than SLOW_S since `began_s`. Returns the time now; both are monotonic seconds."""
    now_s = time.monotonic()
    if now_s - began_s > SLOW_S:
        log(f"{what} took {now_s - began_s:.2f} s")
    return now_s


def log_exception() -> None:
    """Print the traceback of an internal fault of the server."""
    with suppress(OSError):
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()


def drop_unwritten() -> None:
    """Give up lines that could not be written, as on a full disk: Python would try again at its end, and then end with
    status 120."""
    try:
        sys.stderr.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)
