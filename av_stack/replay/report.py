"""The report of a replay, as lines for people and as JSON for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from av_stack.replay.compare import Comparison, FieldSummary

VERSION = 1
"""Version of the JSON."""

FIELDS_MAX = 30
"""Largest number of fields in the lines for people; the JSON has all of them."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The outcome of one replay. `comparison` is None where nothing was compared.

    `stage_ms` holds the mean time of each stage, `took_s` the time of the whole loop. `problem` says why the recording
    could not be read to its end; None if it could.
    """

    recording: str
    compared_with: str
    modules: tuple[str, ...]
    steps: int
    first_s: float
    last_s: float
    step_s: float
    took_s: float
    stage_ms: Mapping[str, float]
    comparison: Comparison | None
    byte_equal_steps: int
    problem: str | None
    notes: tuple[str, ...]
    versions_there: Mapping[str, str]
    versions_now: Mapping[str, str]

    @property
    def times_real_time(self) -> float:
        return self.steps * self.step_s / max(self.took_s, 1e-9)

    @property
    def is_equal(self) -> bool:
        return self.comparison is None or self.comparison.is_equal

    def lines(self) -> list[str]:
        """The report for people."""
        told = [
            f"replayed {self.steps} steps, {self.first_s:.2f} s to {self.last_s:.2f} s: {', '.join(self.modules)}",
            f"{self.times_real_time:.2f} times real time",
            *self.notes,
        ]
        if self.comparison is None:
            return told
        told += [f"{name}: {there} there, {now} now" for name, (there, now) in self._other_versions().items()]
        compared = self.comparison
        told.append(
            f"{compared.equal_steps} of {compared.steps} steps as in {self.compared_with}, "
            f"{self.byte_equal_steps} of them byte for byte"
        )
        for found in compared.fields[:FIELDS_MAX]:
            told.append(_line(found))
        if len(compared.fields) > FIELDS_MAX:
            told.append(f"and {len(compared.fields) - FIELDS_MAX} more fields")
        return told

    def content(self) -> dict[str, Any]:
        """The report as plain values."""
        content: dict[str, Any] = {
            "version": VERSION,
            "recording": self.recording,
            "modules": list(self.modules),
            "steps": self.steps,
            "first_s": self.first_s,
            "last_s": self.last_s,
            "took_s": self.took_s,
            "times_real_time": self.times_real_time,
            "stage_ms": dict(self.stage_ms),
            "problem": self.problem,
            "notes": list(self.notes),
            "versions": {"there": dict(self.versions_there), "now": dict(self.versions_now)},
            "comparison": None,
        }
        if self.comparison is not None:
            content["comparison"] = {
                "with": self.compared_with,
                "is_equal": self.is_equal,
                "steps": self.comparison.steps,
                "equal_steps": self.comparison.equal_steps,
                "byte_equal_steps": self.byte_equal_steps,
                "fields": [_entry(found) for found in self.comparison.fields],
            }
        return content

    def _other_versions(self) -> dict[str, tuple[str, str]]:
        there, now = self.versions_there, self.versions_now
        return {
            name: (there.get(name, "absent"), now.get(name, "absent"))
            for name in sorted({*there, *now})
            if there.get(name) != now.get(name)
        }


def _line(found: FieldSummary) -> str:
    size = "" if found.size_max is None else f", at most {found.size_max:.3g}"
    first = found.first
    return (
        f"  {found.field}: {found.steps} steps{size}; first at {found.first_at.time_s:.2f} s "
        f"(frame {found.first_at.frame}): {first.there} there, {first.now} now"
    )


def _entry(found: FieldSummary) -> dict[str, Any]:
    return {
        "field": found.field,
        "steps": found.steps,
        "size_max": _finite(found.size_max),
        "first": {
            "frame": found.first_at.frame,
            "time_s": found.first_at.time_s,
            "there": found.first.there,
            "now": found.first.now,
            "size": _finite(found.first.size),
        },
    }


def _finite(size: float | None) -> float | None:
    """`size`, or None if it is infinite: JSON has no infinite numbers."""
    return size if size is not None and math.isfinite(size) else None
