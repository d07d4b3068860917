"""Compares two values of the stack's dataclasses field by field, and sums up where they differ over a drive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from av_core.types import Stamp, StepResult

TEXT_MAX = 80
"""Longest text of a value in a report, characters."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How to compare. The name of a field, such as `scene.objects`, stands for the field and all fields within it.

    * `tolerances`: for some fields, the largest difference of numbers that is ignored; the longest matching name holds.
    * `only`: the fields to compare; empty for all.
    """

    ignored: Sequence[str] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    only: Sequence[str] = ()

    def compares(self, name: str) -> bool:
        """Whether the field `name` is compared."""
        return not any(within(name, one) for one in self.ignored) and (
            not self.only or any(within(name, one) for one in self.only)
        )

    def tolerance(self, name: str) -> float:
        """The largest difference of numbers in the field `name` that is ignored."""
        names = [one for one in self.tolerances if within(name, one)]
        return self.tolerances[max(names, key=len)] if names else 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values of one field; `size` is the largest difference between their numbers, None where they are none."""

    field: str
    there: str
    now: str
    size: float | None


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """How one field differs over a drive: in how many steps, at most by how much, and its first difference."""

    field: str
    steps: int
    size_max: float | None
    first: Difference
    first_at: Stamp


class Comparison:
    """Collects the differences of a drive; call `add` with every step in order of time."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._found: dict[str, FieldSummary] = {}
        self.steps = 0
        self.equal_steps = 0

    @property
    def is_equal(self) -> bool:
        return not self._found

    @property
    def fields(self) -> tuple[FieldSummary, ...]:
        """The fields that differ, in the order of their first difference."""
        return tuple(self._found.values())

    def add_equal(self) -> None:
        """Take in a step whose values are known to be equal."""
        self.steps += 1
        self.equal_steps += 1

    def add(self, there: StepResult, now: StepResult, ignored: Sequence[str] = ()) -> None:
        """Compare the recorded result `there` of a step with today's `now`; the fields `ignored` are left out."""
        self.steps += 1
        is_equal = True
        largest: dict[str, Difference] = {}
        for found in differences(there, now):
            counts = self._rules.compares(found.field) and not any(within(found.field, one) for one in ignored)
            if counts and not (found.size is not None and found.size <= self._rules.tolerance(found.field)):
                is_equal = False
                known = largest.get(found.field)
                if known is None or (found.size or 0.0) > (known.size or 0.0):
                    largest[found.field] = found
        self.equal_steps += is_equal
        for name, found in largest.items():
            before = self._found.get(name)
            if before is None:
                self._found[name] = FieldSummary(name, 1, found.size, found, there.stamp)
            else:
                sizes = [size for size in (before.size_max, found.size) if size is not None]
                size_max = max(sizes) if sizes else None
                self._found[name] = FieldSummary(name, before.steps + 1, size_max, before.first, before.first_at)


def within(name: str, other: str) -> bool:
    """Whether the field `name` is `other` or a part of it."""
    return name == other or name.startswith(f"{other}.")


def differences(there: Any, now: Any, name: str = "") -> Iterator[Difference]:
    """Every difference between two values, with the name of its field. The times of stages are not compared."""
    if type(there) is not type(now) and not (_is_number(there) and _is_number(now)):
        yield _difference(name, there, now)
    elif is_dataclass(there):
        for each in fields(there):
            if each.name != "stage_ms":
                inner = f"{name}.{each.name}" if name else each.name
                yield from differences(getattr(there, each.name), getattr(now, each.name), inner)
    elif isinstance(there, np.ndarray):
        yield from _array_differences(name, there, now)
    elif isinstance(there, Mapping):
        if there.keys() != now.keys():
            yield Difference(name, _short(sorted(map(str, there))), _short(sorted(map(str, now))), None)
        for key in there:
            if key in now:
                yield from differences(there[key], now[key], name)
    elif isinstance(there, (tuple, list)):
        if len(there) != len(now):
            yield Difference(name, f"{len(there)} items", f"{len(now)} items", None)
        for one, other in zip(there, now, strict=False):
            yield from differences(one, other, name)
    elif there != now and not (_is_number(there) and np.isnan(there) and np.isnan(now)):
        yield _difference(name, there, now)


def _array_differences(name: str, there: Any, now: Any) -> Iterator[Difference]:
    if there.shape != now.shape or there.dtype != now.dtype:
        yield Difference(name, f"{there.dtype} {there.shape}", f"{now.dtype} {now.shape}", None)
    elif not np.array_equal(there, now, equal_nan=there.dtype.kind == "f"):
        if there.dtype.kind not in "fiu":
            at = np.unravel_index(np.flatnonzero((there != now).ravel())[0], there.shape)
            yield _difference(name, there[at].item(), now[at].item())
            return
        with np.errstate(invalid="ignore"):
            size = np.abs(there.astype(np.float64) - now.astype(np.float64))
        size[(there == now) | (np.isnan(there) & np.isnan(now))] = 0.0
        size[np.isnan(size)] = np.inf
        at = np.unravel_index(int(size.argmax()), there.shape)
        where = f"[{', '.join(map(str, at))}]"
        yield Difference(name, f"{where} {there[at].item()!r}", f"{where} {now[at].item()!r}", float(size[at]))


def _difference(name: str, there: Any, now: Any) -> Difference:
    size = abs(float(there) - float(now)) if _is_number(there) and _is_number(now) else None
    return Difference(name, _short(there), _short(now), None if size is None or np.isnan(size) else size)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    with np.printoptions(precision=8, linewidth=75):  # ultralytics changes how numpy prints, when it is imported
        text = repr(getattr(value, "value", value))
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 3]}..."
