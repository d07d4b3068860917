"""Shows the progress of a suite: a bar with the remaining time, and a line for each running and each finished run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Task as Row
from rich.text import Text

from av_stack.suite.entries import is_driven
from av_stack.suite.job import Attempt, Task


def remaining_s(durations_s: Sequence[float], running_s: Collection[float], waiting: int, workers: int) -> float | None:
    """Expected time to the end of a suite; None while no run has ended.

    Every run is assumed to last as long as the finished runs on average. `running_s` are the ages of the running
    attempts, `waiting` is the number of runs that have not started.
    """
    if not running_s and not waiting:
        return 0.0
    if not durations_s:
        return None
    mean_s = sum(durations_s) / len(durations_s)
    rest_s = [max(mean_s - age_s, 0.0) for age_s in running_s] + waiting * [mean_s]
    return max(sum(rest_s) / max(workers, 1), max(rest_s, default=0.0))


def told_s(seconds: float | None) -> str:
    """A duration as 1:02:03 or 2:03; ?:?? where it is unknown."""
    if seconds is None:
        return "?:??"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def told_entry(entry: Mapping[str, Any]) -> str:
    """One line about a run that is done."""
    name = entry["scenario"]
    if entry["crash"] is not None:
        return f"{name}: crashed, no verdict: {entry['crash']}"
    if not is_driven(entry):
        return f"{name}: not started: {entry['error']}"
    lacks = "; ".join(entry["shortcomings"]) or "lacks nothing"
    return f"{name}: {100 * entry['route_completion']:.0f} %, score {entry['driving_score']:.1f}: {lacks}"


class SuiteProgress:
    """Observer that shows the progress of a suite of `total` runs, `done` of which are done; a context manager.

    `tell` makes the line about a run that is done of its entry.
    """

    def __init__(
        self,
        name: str,
        total: int,
        done: int,
        capacity: Callable[[], int],
        console: Console,
        tell: Callable[[Mapping[str, Any]], str] = told_entry,
    ) -> None:
        self._total, self._done, self._capacity, self._console = total, done, capacity, console
        self._told = tell
        self._durations_s: list[float] = []
        self._began_s: dict[str, float] = {}
        self._rows: dict[str, TaskID] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            _Words(),
            console=console,
        )
        self._suite = self._progress.add_task(f"suite {name}", total=total, completed=done, say=self._say)

    def __enter__(self) -> SuiteProgress:
        self._progress.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def began(self, task: Task) -> None:
        self._began_s[task.name] = time.monotonic()
        again = f"attempt {task.number}" if task.number > 1 else ""
        self._rows[task.name] = self._progress.add_task(f"  {task.job.name}", total=None, say=lambda: again)

    def ended(self, task: Task, attempt: Attempt, will_repeat: bool) -> None:
        self._began_s.pop(task.name)
        self._progress.remove_task(self._rows.pop(task.name))
        if attempt.crash is None:
            self._durations_s.append(attempt.seconds)
        elif will_repeat:
            self._tell(f"{task.job.name}: crashed, and is repeated: {attempt.crash}")
        self._update()

    def kept(self, entry: Mapping[str, Any]) -> None:
        self._done += 1
        self._tell(f"{self._done}/{self._total} {self._told(entry)} ({self._say()})")
        self._update()

    def _tell(self, line: str) -> None:
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _update(self) -> None:
        self._progress.update(self._suite, completed=self._done)

    def _say(self) -> str:
        now_s = time.monotonic()
        ages_s = [now_s - began_s for began_s in self._began_s.values()]
        waiting = self._total - self._done - len(ages_s)
        return f"{told_s(remaining_s(self._durations_s, ages_s, waiting, self._capacity()))} left"


class _Words(ProgressColumn):
    """Calls the `say` of a row at each refresh, so that the remaining time runs down between two ends."""

    def render(self, task: Row) -> Text:
        return Text(task.fields["say"]())
