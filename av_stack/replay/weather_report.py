"""The report of one drive in two weathers: the scores of perception in the same world, compared in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from av_stack.evaluation.lanes import AT_M, MISSED_M
from av_stack.replay.perception_scores import PEDESTRIANS, VEHICLES, SeenLine, SeenObject, StepScore

VERSION = 1
"""Version of the JSON."""

BANDS_M = ((0.0, 20.0), (20.0, 40.0), (40.0, 80.0))

RIGHT, WRONG, UNREAD = "right", "wrong", "not read"


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure in both weathers, over the same `count` samples.

    Where a sample is a hit or a miss, `only_there` and `only_now` count the samples that are hits in one weather alone.
    """

    name: str
    group: str
    count: int
    there: float
    now: float
    unit: str = ""
    only_there: int | None = None
    only_now: int | None = None


@dataclass(frozen=True, slots=True)
class WeatherReport:
    """A drive in its own weather and in another one, with the same steps.

    `problem` says why one of the drives failed; None if none did.
    """

    recording: str
    weather_there: str
    weather_now: str
    there: Sequence[StepScore]
    now: Sequence[StepScore]
    problem: str | None
    notes: Sequence[str]

    @property
    def pairs(self) -> list[Pair]:
        """The figures over all steps that both drives have."""
        return compare(self.there, self.now)

    def lines(self) -> list[str]:
        """The report for people."""
        steps = min(len(self.there), len(self.now))
        told = [*self.notes, f"{steps} steps of one world, equal to the bit"]
        told.append(f"there: {self.weather_there}; now: {self.weather_now}")
        told.append(f"{'':<52} {'samples':>8} {'there':>9} {'now':>9}   hits there only, now only")
        for pair in self.pairs:
            name = f"{pair.name}, {pair.group}" + (f" ({pair.unit})" if pair.unit else "")
            alone = "" if pair.only_there is None else f"   {pair.only_there}, {pair.only_now}"
            told.append(f"{name:<52} {pair.count:>8} {pair.there:>9.3f} {pair.now:>9.3f}{alone}")
        return told

    def content(self) -> dict[str, Any]:
        """The report without its steps as plain values."""
        return {
            "version": VERSION,
            "recording": self.recording,
            "weather": {"there": self.weather_there, "now": self.weather_now},
            "problem": self.problem,
            "notes": list(self.notes),
            "steps": min(len(self.there), len(self.now)),
            "figures": [asdict(pair) for pair in self.pairs],
        }

    def steps(self) -> Iterator[dict[str, Any]]:
        """Every step as plain values."""
        return (_entry(one, other) for one, other in zip(self.there, self.now, strict=False))


def compare(there: Sequence[StepScore], now: Sequence[StepScore]) -> list[Pair]:
    """The figures of two drives through the same world, paired step by step, sample by sample."""
    steps = list(zip(there, now, strict=False))
    objects = [pair for one, other in steps for pair in zip(one.objects, other.objects, strict=True)]
    return [
        *_lane_figures([pair for one, other in steps for pair in zip(one.lines, other.lines, strict=True)]),
        *_object_figures(objects),
        *_light_figures([pair for one, other in steps for pair in light_outcomes(one, other)]),
    ]


def light_outcomes(there: StepScore, now: StepScore) -> list[tuple[str, str]]:
    """(outcome there, outcome now) of each light that was recognized in either weather: right, wrong or not read."""
    names = sorted({*there.lights, *now.lights} & there.true_lights.keys())
    return [(_light(there, name), _light(now, name)) for name in names]


def _light(score: StepScore, name: str) -> str:
    if name not in score.lights:
        return UNREAD
    return RIGHT if score.lights[name] == score.true_lights[name] else WRONG


def _lane_figures(lines: Sequence[tuple[SeenLine, SeenLine]]) -> Iterator[Pair]:
    if not lines:
        return
    seen = [(one.error_m is not None, other.error_m is not None) for one, other in lines]
    errors = np.array([[_error_m(one), _error_m(other)] for one, other in lines])
    there_m, now_m = np.median(errors, axis=0)
    yield Pair("lane line, median error", f"at {AT_M:g} m", len(lines), float(there_m), float(now_m), "m")
    yield _shares("lane line seen", "all", seen)


def _error_m(line: SeenLine) -> float:
    return MISSED_M if line.error_m is None else line.error_m


def _object_figures(objects: Sequence[tuple[SeenObject, SeenObject]]) -> Iterator[Pair]:
    for group in (VEHICLES, PEDESTRIANS):
        for low_m, high_m in BANDS_M:
            within = [pair for pair in objects if pair[0].group == group and low_m <= pair[0].range_m < high_m]
            found = [(one.range_error is not None, other.range_error is not None) for one, other in within]
            if found:
                yield _shares(f"{group} tracked", f"{low_m:g}-{high_m:g} m", found)
            errors = np.array([[e, f] for one, other in within if (e := one.range_error) is not None
                               and (f := other.range_error) is not None])  # fmt: skip
            if len(errors):
                there, now = np.median(errors, axis=0)
                name = f"{group}, median relative range error"
                yield Pair(name, f"{low_m:g}-{high_m:g} m", len(errors), float(there), float(now))


def _light_figures(lights: Sequence[tuple[str, str]]) -> Iterator[Pair]:
    for outcome in (RIGHT, WRONG) if lights else ():
        yield _shares(f"light {outcome}", "all", [(one == outcome, other == outcome) for one, other in lights])


def _shares(name: str, group: str, hits: Sequence[tuple[bool, bool]]) -> Pair:
    there, now = np.mean(hits, axis=0)
    only_there, only_now = sum(a and not b for a, b in hits), sum(b and not a for a, b in hits)
    return Pair(name, group, len(hits), float(there), float(now), "", only_there, only_now)


def _entry(there: StepScore, now: StepScore) -> dict[str, Any]:
    """One step: the errors of lines and the ranges of road users in both weathers, and the outcomes of lights."""
    return {
        "time_s": there.stamp.time_s,
        "lines": [[one.side, one.error_m, other.error_m] for one, other in zip(there.lines, now.lines, strict=True)],
        "objects": [
            [one.group, one.actor_id, one.range_m, one.seen_range_m, other.seen_range_m]
            for one, other in zip(there.objects, now.objects, strict=True)
        ],
        "lights": [list(pair) for pair in light_outcomes(there, now)],
    }
