"""Runs the unfinished runs of a suite: gives attempts to a pool, repeats crashed attempts, and keeps the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

from av_stack.suite.folder import SuiteFolder
from av_stack.suite.job import Attempt, Job, Task
from av_stack.suite.pool import Pool
from av_stack.suite.verdict import NOT_STARTED

ATTEMPTS = 2
"""Largest number of attempts at a run whose server, client or machine crashes, in one call of the suite."""


class Observer(Protocol):
    """Observer that shows the progress of a suite."""

    def began(self, task: Task) -> None: ...

    def ended(self, task: Task, attempt: Attempt, will_repeat: bool) -> None: ...

    def kept(self, entry: Mapping[str, Any]) -> None: ...


def run_suite(folder: SuiteFolder, pool: Pool, observer: Observer) -> None:
    """Drive the runs that `folder` lacks, as many at a time as `pool` takes, in the order of the suite.

    An attempt that crashed is repeated once, with a server of its own again; its run comes before those that wait.
    """
    waiting: deque[tuple[Job, int]] = deque()
    for job in folder.left():
        if job.refusal:
            observer.kept(folder.keep_refusal(job, Attempt(NOT_STARTED, job.refusal, 0.0)))
        else:
            waiting.append((job, ATTEMPTS))
    running: dict[str, int] = {}  # by the name of the task: the attempts that remain, with it
    while waiting or running:
        while waiting and len(running) < pool.capacity():
            job, attempts = waiting.popleft()
            task, path = folder.begin(job)
            running[task.name] = attempts
            observer.began(task)
            pool.submit(task, path)
        task, attempt = pool.next_ended()
        remaining = running.pop(task.name) - 1
        will_repeat = attempt.crash is not None and remaining > 0
        folder.note(task, attempt)
        observer.ended(task, attempt, will_repeat)
        if will_repeat:
            waiting.appendleft((task.job, remaining))
        else:
            observer.kept(folder.keep(task))
