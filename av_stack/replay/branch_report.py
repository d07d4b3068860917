"""The report of a branch of a recorded drive, as lines for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from av_core.types import Stamp
from av_stack.replay.divergence import APART_M, Divergence, First

VERSION = 1
"""Version of the JSON."""

OUTCOME = ("end", "driving_score", "route_completion")
"""Figures of both outcomes that the report compares, besides the infractions."""


@dataclass(frozen=True, slots=True)
class BranchReport:
    """A recorded drive and its branch at `branch_s`, side by side.

    * `restored_steps`: number of steps up to the branch whose world equals the recorded one to the bit.
    * `decided`: first step before the branch in which today's stack would have given another command; None if there is
      none, or if the stack did not drive the recorded drive.
    * `divergence`: comparison of the steps from the branch on, as far as the recording has them.
    * `problem`: why the branch failed; None if it did not.
    """

    recording: str
    branch_s: float
    recorded_until_s: float
    agent: str
    weather: str | None
    restored_steps: int
    decided: First | None
    divergence: Divergence
    outcome_there: Mapping[str, Any]
    outcome_now: Mapping[str, Any]
    problem: str | None
    notes: Sequence[str]

    @property
    def rows(self) -> dict[str, tuple[Any, Any]]:
        """The figures of both outcomes by name, None where unknown; infractions that neither has are left out."""
        there, now = self.outcome_there, self.outcome_now
        rows = {name: (there.get(name), now.get(name)) for name in OUTCOME}
        before, after = there.get("infractions", {}), now.get("infractions", {})
        for name in {**before, **after}:
            pair = before.get(name), after.get(name)
            if name.startswith("collisions") or any(pair):
                rows[name] = pair
        return rows

    def lines(self) -> list[str]:
        """The report for people."""
        told = [*self.notes, f"{self.restored_steps} steps as recorded, equal to the bit"]
        if self.decided is not None:
            told.append(f"before the branch {self.agent} would have differed: {_told(self.decided)}")
        if self.divergence.steps:
            weather = "" if self.weather is None else f", in {self.weather} from the next step on"
            told.append(f"branch at {self.branch_s:.2f} s: {self.agent} drives{weather}")
            told += self._compared()
        told.append(f"{'':<28} {'recorded':>24} {'now':>24}")
        told += [f"{name:<28} {_cell(one):>24} {_cell(other):>24}" for name, (one, other) in self.rows.items()]
        return told

    def content(self) -> dict[str, Any]:
        """The report as plain values."""
        found = self.divergence
        return {
            "version": VERSION,
            "recording": self.recording,
            "branch_s": self.branch_s,
            "recorded_until_s": self.recorded_until_s,
            "agent": self.agent,
            "weather": self.weather,
            "problem": self.problem,
            "notes": list(self.notes),
            "restored_steps": self.restored_steps,
            "decided_before_branch": _entry(self.decided),
            "compared": {
                "steps": found.steps,
                "equal_steps": found.equal_steps,
                "measured": _entry(found.measured),
                "command": _entry(found.command),
                "truth": _entry(found.truth),
                "apart_s": {f"{limit_m:g} m": _time(found.apart.get(limit_m)) for limit_m in APART_M},
                "farthest_m": found.farthest_m,
                "farthest_s": _time(found.farthest_at),
            },
            "outcome": {name: {"recorded": one, "now": other} for name, (one, other) in self.rows.items()},
        }

    def _compared(self) -> Iterator[str]:
        found = self.divergence
        yield f"{found.equal_steps} of {found.steps} steps as recorded, up to {self.recorded_until_s:.2f} s"
        for name, first in (("command", found.command), ("measured", found.measured), ("world", found.truth)):
            if first is not None:
                yield f"  {name} differs: {_told(first)}"
        for limit_m, stamp in found.apart.items():
            far = "not to the bit" if limit_m == 0.0 else f"more than {limit_m:g} m off"
            yield f"  ego {far} where it was: first at {stamp.time_s:.2f} s"
        if found.farthest_at is not None:
            yield f"  farthest: {found.farthest_m:.3g} m at {found.farthest_at.time_s:.2f} s"


def _told(first: First) -> str:
    found = first.difference
    return f"first at {first.stamp.time_s:.2f} s: {found.field} {found.there} there, {found.now} now"


def _entry(first: First | None) -> dict[str, Any] | None:
    if first is None:
        return None
    found = first.difference
    return {"time_s": first.stamp.time_s, "field": found.field, "there": found.there, "now": found.now}


def _time(stamp: Stamp | None) -> float | None:
    return None if stamp is None else stamp.time_s


def _cell(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, (tuple, list)):
        return ", ".join(f"{one:.0f}" for one in value) or "none"
    return str(value)
