"""Searches, for each module and each drive, the weather in which it first misses its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from av_stack.weather_stress.intervals import Interval, limit_interval
from av_stack.weather_stress.limits import DRIVE, MODULES, is_missed
from av_stack.weather_stress.parameters import Search
from av_stack.weather_stress.search import RESOLUTION, bracket, next_fraction
from av_stack.weather_stress.study import Kind, Measured, Wanted
from av_stack.weather_stress.weathers import Point, Unit

STEPS = round(1.0 / RESOLUTION)
"""Number of steps into which the range of a search is divided; all weathers of the search lie on these steps."""


class Rounds(Protocol):
    """The part of `Study` that a search uses."""

    kinds: tuple[Kind, ...]
    units: Sequence[Unit]

    def at(self, unit: Unit, point: Point) -> Measured: ...

    def run_round(self, wanted: Sequence[Wanted]) -> None: ...


@dataclass(frozen=True, slots=True)
class UnitLimit:
    """The weather at which one module first misses its limit in the drive `unit`.

    The module meets its limit at the value `kept` of the parameter, and misses it at `missed`. `kept` is None if it
    misses the limit already at the mild end; `missed` is None if it meets the limit up to the harsh end. If its figures
    have too few samples everywhere, `is_known` is False and `missed` is None.
    """

    unit: str
    module: str
    kept: float | None
    missed: float | None
    fraction: float | None
    is_known: bool


@dataclass(frozen=True, slots=True)
class ModuleLimit:
    """The mean weather limit of a module over all drives, in the parameter's unit.

    `interval` is None if no drive misses the module's limit. `never` is the number of drives that do not miss it. They
    count with the harsh end of the range, so the true mean lies farther towards it.
    """

    module: str
    interval: Interval | None
    never: int
    unknown: int
    limits: tuple[UnitLimit, ...]


def search_limits(study: Rounds, search: Search) -> list[ModuleLimit]:
    """Run rounds until the limit of each module is known in each drive; returns the limits, mildest weather first."""
    while wanted := [one for unit in study.units for one in _next(study, unit, search)]:
        study.run_round(wanted)
    modules = _modules(study)
    limits = [_unit_limit(study, unit, search, module) for unit in study.units for module in modules]
    found = [module_limit(module, [one for one in limits if one.module == module], search) for module in modules]
    return sorted(found, key=lambda one: _order(one, search))


def module_limit(module: str, limits: Sequence[UnitLimit], search: Search) -> ModuleLimit:
    """The mean limit of the drives, and its interval."""
    known = [one for one in limits if one.is_known]
    never = sum(one.fraction is None for one in known)
    interval = None
    if never < len(known):
        values = [search.value(1.0 if one.fraction is None else one.fraction) for one in known]
        widths = [abs(one.missed - one.kept) / 2.0 for one in known if one.kept is not None and one.missed is not None]
        interval = limit_interval(values, max(widths, default=0.0), (search.first, search.second))
    return ModuleLimit(module, interval, never, len(limits) - len(known), tuple(limits))


def first_of(limits: Sequence[UnitLimit]) -> list[str]:
    """The modules of perception that miss their limits first in one drive; several if they do so in the same step."""
    failed = [one for one in limits if one.fraction is not None and one.module != DRIVE]
    least = min((one.fraction for one in failed if one.fraction is not None), default=None)
    return [one.module for one in failed if one.fraction == least]


def point_of(search: Search, fraction: float) -> Point:
    return ((search.name, search.value(fraction)),)


def points_of(study: Rounds, search: Search) -> list[Point]:
    """The weathers of the search in which any unit has a drive or a look."""
    points = [point_of(search, number / STEPS) for number in range(STEPS + 1)]
    return [point for point in points if any(study.at(unit, point).folders for unit in study.units)]


def _kind(module: str) -> Kind:
    return "drive" if module == DRIVE else "look"


def _modules(study: Rounds) -> list[str]:
    """The modules that the runs of a study measure."""
    return [module for module in MODULES if _kind(module) in study.kinds]


def _next(study: Rounds, unit: Unit, search: Search) -> list[Wanted]:
    found: dict[Wanted, None] = {}
    for module in _modules(study):
        kind = _kind(module)
        fraction = next_fraction(_outcomes(study, unit, search, module, kind))
        if fraction is not None:
            found[Wanted(unit, point_of(search, fraction), kind)] = None
    return list(found)


def _outcomes(study: Rounds, unit: Unit, search: Search, module: str, kind: Kind) -> dict[float, bool]:
    """For each measured weather, whether the module misses its limit there; a figure of None counts as not missed."""
    found = {}
    for number in range(STEPS + 1):
        fraction = number / STEPS
        measured = study.at(unit, point_of(search, fraction))
        if kind in measured.folders:
            found[fraction] = bool(is_missed(module, measured.values))
    return found


def _unit_limit(study: Rounds, unit: Unit, search: Search, module: str) -> UnitLimit:
    kind = _kind(module)
    outcomes = _outcomes(study, unit, search, module, kind)
    values = [study.at(unit, point_of(search, fraction)).values for fraction in outcomes]
    found = bracket(outcomes)
    return UnitLimit(
        unit.name,
        module,
        None if found.kept is None else search.value(found.kept),
        None if found.missed is None else search.value(found.missed),
        found.middle,
        any(is_missed(module, each) is not None for each in values),
    )


def _order(limit: ModuleLimit, search: Search) -> float:
    """Sort key: the module whose limit is nearest to the mild end comes first."""
    span = search.second - search.first
    return 2.0 if limit.interval is None else (limit.interval.mean - search.first) / span
