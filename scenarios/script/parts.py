"""The parts of a script: which have begun, which have ended, and which took too long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from scenarios.script.model import PartTable


@dataclass(frozen=True, slots=True)
class PartRun:
    """How a part went so far. Times are since the drive began, None before it has begun or ended."""

    type: str
    began_s: float | None = None
    ended_s: float | None = None
    is_timed_out: bool = False

    @property
    def is_running(self) -> bool:
        return self.began_s is not None and self.ended_s is None


class Parts:
    """Follows the parts by the events that have happened; `runs` are their states by name."""

    def __init__(self, tables: Mapping[str, PartTable]) -> None:
        self._tables = tables
        self._happened: set[str] = set()
        self.runs = {name: PartRun(table.type) for name, table in tables.items()}

    def overdue_ends(self, time_s: float) -> set[str]:
        """The `end` events of the parts that have run for their time-out."""
        return {
            table.end
            for name, table in self._tables.items()
            if table.timeout_s is not None
            and (run := self.runs[name]).is_running
            and time_s >= (run.began_s or 0.0) + table.timeout_s
        }

    def note(self, event: str, time_s: float, *, is_forced: bool = False) -> None:
        """An event happens; `is_forced` where a time-out is the reason. A part whose `end` comes first never begins."""
        self._happened.add(event)
        for name, table in self._tables.items():
            run = self.runs[name]
            if event == table.begin and table.end not in self._happened:
                self.runs[name] = replace(run, began_s=time_s)
            elif event == table.end and run.is_running:
                self.runs[name] = replace(run, ended_s=time_s, is_timed_out=is_forced)
