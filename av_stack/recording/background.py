"""Runs work that a drive need not wait for in a thread of its own, in order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

JOBS_WAITING_MAX = 32

Job = Callable[[], None]


class BackgroundWriter:
    """`submit` waits only while `JOBS_WAITING_MAX` jobs wait; `close` runs the jobs that wait.

    The first error of a job ends the work: later jobs are dropped, and the next `submit` or `close` raises it, once.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(JOBS_WAITING_MAX)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        self._raise_error()
        self._queue.put(job)

    def close(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._raise_error()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _work(self) -> None:
        is_well = True
        while (job := self._queue.get()) is not None:
            if is_well:
                try:
                    job()
                except BaseException as error:  # noqa: BLE001 - a panic of a Rust library is no Exception
                    self._error, is_well = error, False
