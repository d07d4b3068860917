"""A background thread that runs jobs in order, for work that a drive need not wait for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

JOBS_WAITING_MAX = 32

Job = Callable[[], None]


class BackgroundWriter:
    """Runs jobs in a thread. `submit` blocks only while `JOBS_WAITING_MAX` jobs wait; `close` finishes those that wait.

    The first job that raises an error ends the work: later jobs are dropped, and the next `submit` or `close` raises
    that error once.
    """

    def __init__(self, name: str) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(JOBS_WAITING_MAX)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job."""
        self._raise_error()
        self._queue.put(job)

    def close(self) -> None:
        """Run the jobs that wait, then end the thread."""
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
                except BaseException as error:  # noqa: BLE001 - a panic in a Rust library is no Exception
                    self._error, is_well = error, False
