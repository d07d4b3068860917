"""The content of weather.json, which holds the results of a study; the page of the study is made from it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from av_stack.suite import fingerprint
from av_stack.weather_stress.first_failures import ModuleLimit, first_of
from av_stack.weather_stress.intervals import CONFIDENCE
from av_stack.weather_stress.limits import LIMITS
from av_stack.weather_stress.parameters import Axis, Search
from av_stack.weather_stress.study import Study
from av_stack.weather_stress.weathers import Point

VERSION = 1


def sweep_content(name: str, study: Study, axes: Sequence[Axis], points: Sequence[Point], out: Path) -> dict[str, Any]:
    """The content of a sweep; every unit has every point."""
    told = [{"name": axis.name, "values": list(axis.values)} for axis in axes]
    return {**_common(name, study), "axes": told, "search": None, "points": list(_points(study, points, out))}


def search_content(
    name: str, study: Study, search: Search, limits: Sequence[ModuleLimit], points: Sequence[Point], out: Path
) -> dict[str, Any]:
    """The content of a search: `points` are all weathers that any unit was in."""
    units = {
        unit.name: first_of([one for limit in limits for one in limit.limits if one.unit == unit.name])
        for unit in study.units
    }
    values = [value for point in points for _, value in point]
    return {
        **_common(name, study),
        "axes": [{"name": search.name, "values": values}],
        "search": asdict(search),
        "limits_found": [asdict(limit) for limit in limits],
        "failed_first": units,
        "points": list(_points(study, points, out)),
    }


def _common(name: str, study: Study) -> dict[str, Any]:
    return {
        "version": VERSION,
        "name": name,
        "versions": dict(fingerprint.version()),
        "units": [
            {"name": unit.name, "scenario": unit.scenario.name, "seed": unit.scenario.seed,
             "weather": dict(unit.weather)}
            for unit in study.units
        ],
        "confidence": CONFIDENCE,
        "limits": [asdict(limit) for limit in LIMITS],
        "problems": study.problems(),
    }  # fmt: skip


def _points(study: Study, points: Sequence[Point], out: Path) -> Iterator[dict[str, Any]]:
    """The measurements of each unit: in its own weather, with a `point` of null, and in each of `points`."""
    for point in (None, *points):
        for unit in study.units:
            measured = study.at(unit, point or ())
            if not measured.folders:
                continue  # a search does not visit every point with every unit
            yield {
                "unit": unit.name,
                "point": None if point is None else dict(point),
                "figures": {name: figure.value for name, figure in measured.figures.items()},
                "samples": {name: figure.count for name, figure in measured.figures.items()},
                "folders": {kind: str(path.relative_to(out)) for kind, path in measured.folders.items()},
            }
