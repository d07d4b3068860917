"""A background thread that runs jobs in order, for work that a drive must not wait for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

JOBS_WAITING_MAX = 64
"""Default limit of waiting jobs. They can all be done within the time that an interrupted drive has to end."""

Job = Callable[[], object]


class BackgroundWriter:
    """Runs jobs in a background thread, in order.

    `submit` never waits: while `jobs_max` jobs wait, a new one is dropped and counted. `close` runs the waiting jobs
    first. After a job that raises an error, all later jobs are dropped, and the next `submit` or `close` raises this
    error once.
    """

    def __init__(self, name: str, jobs_max: int = JOBS_WAITING_MAX) -> None:
        self.dropped = 0
        self._queue: queue.Queue[Job | None] = queue.Queue(jobs_max)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Queue a job, or drop it where the thread is too far behind."""
        self._raise_error()
        try:
            self._queue.put_nowait(job)
        except queue.Full:
            self.dropped += 1

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
