"""What the server tells the person who runs it, on standard error."""

from __future__ import annotations

import sys
import traceback


def log(message: str) -> None:
    """One line."""
    print(f"embedded_carla: {message}", file=sys.stderr, flush=True)


def log_exception() -> None:
    """The trace of a fault of the server's own."""
    traceback.print_exc(file=sys.stderr)
    sys.stderr.flush()
