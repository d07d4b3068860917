"""Pools, which run attempts: the protocol `Pool`, and a pool on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Protocol

from av_stack.suite.job import Attempt, Task

Drive = Callable[[Task, Path, threading.Event], Attempt]
"""Makes an attempt that writes to an existing folder; it ends early once the event is set."""


class Pool(Protocol):
    """Runs attempts. `close` ends all running attempts; nothing may be submitted after it."""

    def capacity(self) -> int:
        """How many attempts run at the same time."""

    def submit(self, task: Task, folder: Path) -> None:
        """Start an attempt, whose files will be in `folder` once it has ended."""

    def next_ended(self) -> tuple[Task, Attempt]:
        """Wait for the next attempt to end."""

    def close(self) -> None:
        """End all attempts, and wait until they have ended."""


class LocalPool:
    """Runs up to `workers` attempts at a time on this machine, each in a thread that waits for its process."""

    def __init__(self, workers: int, drive: Drive) -> None:
        self._workers, self._drive = workers, drive
        self._stop = threading.Event()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="run")
        self._running: dict[Future[Attempt], Task] = {}

    def capacity(self) -> int:
        return self._workers

    def submit(self, task: Task, folder: Path) -> None:
        self._running[self._threads.submit(self._drive, task, folder, self._stop)] = task

    def next_ended(self) -> tuple[Task, Attempt]:
        first = next(iter(wait(self._running, return_when=FIRST_COMPLETED).done))
        return self._running.pop(first), first.result()

    def close(self) -> None:
        self._stop.set()
        self._threads.shutdown()
