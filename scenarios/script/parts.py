"""Follows the parts of a script: which have begun, which have ended, and which took too long."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

from scenarios.script.model import PartTable


@dataclass(frozen=True, slots=True)
class PartRun:
    """The state of one part of a script.

    `began_s` and `ended_s` count from the start of the drive; None if the part has not begun or not ended. `missing`
    are the part's actors that could not be spawned so far because their places are taken.
    """

    type: str
    began_s: float | None = None
    ended_s: float | None = None
    is_timed_out: bool = False
    missing: tuple[str, ...] = ()

    @property
    def is_running(self) -> bool:
        return self.began_s is not None and self.ended_s is None


GIVE_UP_S = 20.0
"""A part ends when it has run for this time without one of its actors."""


class Parts:
    """The parts of a script; `runs` holds the state of each by its name.

    `awaited` contains the names of the actors that are not spawned yet; the caller keeps it up to date.
    """

    def __init__(self, tables: Mapping[str, PartTable], awaited: Container[str] = ()) -> None:
        self._tables, self._awaited = tables, awaited
        self._happened: set[str] = set()
        self.runs = {name: PartRun(table.type) for name, table in tables.items()}

    def overdue_ends(self, time_s: float) -> set[str]:
        """The `end` events of the parts that must end now: by their time-out, or after `GIVE_UP_S` without an actor."""
        ends = set()
        for name, table in self._tables.items():
            run = self.runs[name]
            if run.is_running:
                missing = tuple(actor for actor in table.actors if actor in self._awaited)
                if missing != run.missing:
                    self.runs[name] = replace(run, missing=missing)
                longest_s = GIVE_UP_S if missing else table.timeout_s
                if longest_s is not None and time_s >= (run.began_s or 0.0) + longest_s:
                    ends.add(table.end)
        return ends

    def note(self, event: str, time_s: float, *, is_forced: bool = False) -> None:
        """Take note that `event` happens now.

        `is_forced` says that it happens although its condition does not hold. A part whose `end` has happened before
        its `begin` never begins.
        """
        self._happened.add(event)
        for name, table in self._tables.items():
            run = self.runs[name]
            if event == table.begin and table.end not in self._happened:
                self.runs[name] = replace(run, began_s=time_s)
            elif event == table.end and run.is_running:
                self.runs[name] = replace(run, ended_s=time_s, is_timed_out=is_forced and not run.missing)
