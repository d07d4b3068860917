"""What the server tells the person who runs it, on standard error."""

from __future__ import annotations

import sys
import time
import traceback
from contextlib import suppress

SLOW_S = 0.5
"""What takes longer keeps clients waiting for a good part of the time-out that they may have set."""


def log(message: str) -> None:
    """One line, or none where it cannot be written: a full disk must not end the server."""
    with suppress(OSError):
        print(f"embedded_carla: {message}", file=sys.stderr, flush=True)


def log_failure(message: str) -> None:
    """One line about something that clients will miss: a sensor or camera that stays silent."""
    log(f"error: {message}")


def log_if_slow(what: str, began_s: float) -> float:
    """Tell when `what`, begun at `began_s`, took long; returns the time now. Both in monotonic seconds."""
    now_s = time.monotonic()
    if now_s - began_s > SLOW_S:
        log(f"{what} took {now_s - began_s:.2f} s")
    return now_s


def log_exception() -> None:
    """The trace of a fault of the server's own."""
    with suppress(OSError):
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
