"""Work that a drive need not wait for, done in order in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

JOBS_WAITING_MAX = 32

Job = Callable[[], None]


class Aside:
    """`do` blocks only when `JOBS_WAITING_MAX` wait; what a job raises is raised by the next `do` or `close`, once, and
    no job is done after it. `close` does what is waiting."""

    def __init__(self, name: str) -> None:
        self._queue: queue.Queue[Job | None] = queue.Queue(JOBS_WAITING_MAX)
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def do(self, job: Job) -> None:
        self._tell()
        self._queue.put(job)

    def close(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        self._tell()

    def _tell(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _work(self) -> None:
        is_well = True
        while (job := self._queue.get()) is not None:
            if is_well:
                try:
                    job()
                except Exception as error:  # noqa: BLE001 - the drive is told
                    self._error, is_well = error, False
