"""Bounds on building a map whose text came from a client: time, memory, and no error but MapError."""

from __future__ import annotations

import contextlib
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import cv2
from shapely.errors import ShapelyError

from embedded_carla.errors import MapError

LONGEST_LOAD_S = 30.0
"""The server does nothing else meanwhile. The largest town at hand takes 5 s."""

MOST_LOAD_BYTES = 4 << 30
"""What building may take in addition to what the server has."""


_TRIAL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({0}, {0}))
import carla
town = carla.Map("trial", sys.stdin.buffer.read().decode())
town.get_all_landmarks(), town.get_topology()
"""


class _TooLongError(Exception):
    pass


def try_with_carla(name: str, text: str, seconds: float = LONGEST_LOAD_S) -> None:
    """Let `carla.Map` read `text` in another process. Raises MapError when it crashes, complains or takes too long.

    It would take this server with it, and after that every client that asks for the map.
    """
    command = [sys.executable, "-c", _TRIAL.format(MOST_LOAD_BYTES)]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise MapError(f"map {name}: carla.Map does not read it within {seconds:g} s") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = f"signal {-done.returncode}" if done.returncode < 0 else said[-1] if said else "no reason"
        raise MapError(f"map {name}: carla.Map cannot read it ({why:.120})")


@contextlib.contextmanager
def bounded_load(name: str, seconds: float = LONGEST_LOAD_S, more_bytes: int = MOST_LOAD_BYTES) -> Iterator[None]:
    """Raises MapError in place of whatever a senseless text makes go wrong within.

    The clock runs only on the main thread, where signals arrive.
    """
    try:
        with _timer(seconds), _memory(more_bytes):
            yield
    except _TooLongError as error:
        raise MapError(f"map {name}: not built within {seconds:g} s, which is all that a client's text gets") from error
    except MemoryError as error:
        raise MapError(f"map {name}: building it needs more than {more_bytes / 2**30:g} GiB") from error
    except (ValueError, ArithmeticError, LookupError, RecursionError, TypeError, ShapelyError, cv2.error) as error:
        raise MapError(f"map {name}: its numbers make no map ({type(error).__name__}: {error!s:.120})") from error


def _ring(_number: int, _frame: Any) -> None:
    raise _TooLongError


@contextlib.contextmanager
def _timer(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _memory(more_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        wanted = int(file.read().split()[0]) * resource.getpagesize() + more_bytes
    allowed = min(limit for limit in (wanted, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
