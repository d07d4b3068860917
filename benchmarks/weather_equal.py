"""Compares two folders of `av-stack weather`: `python -m benchmarks.weather_equal A B [--json FILE]`.

A and B may also hold the folders of several searches, with equal names. For each run in both: all figures of a look, or
all figures of a drive. What measures time on a clock is left out. For each search that is complete in both: the weather
in which each module first misses its limit. The exit status is 1 where anything differs.

A may also be a file of `python -m benchmarks.weather_record`. Only complete searches are compared then, and of each
weather the figures that this file keeps, to its four digits.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.suite_equal import figures_of, run_comparison
from benchmarks.weather_record import recorded

REFERENCE, RUN, LOOK, RESULT, CONTENT = "reference", "run.json", "look.json", "result.json", "weather.json"


def compare(first: Path, second: Path) -> dict[str, Any]:
    """What is equal in two folders of searches, or in a record and a folder, by the name of the search's folder."""
    if first.is_file():
        return _compare_record(json.loads(first.read_text()), recorded(second))
    names = sorted(path.parent.relative_to(first) for path in first.rglob(REFERENCE) if path.is_dir())
    searches = {str(name): _compare_search(first / name, second / name) for name in names if (second / name).is_dir()}
    return {
        "searches": searches,
        **{key: sum(one[key] for one in searches.values()) for key in ("looks", "drives", "limits")},
        "is_equal": bool(searches) and all(one["is_equal"] for one in searches.values()),
    }


def _compare_search(first: Path, second: Path) -> dict[str, Any]:
    here, there = dict(_runs(first)), dict(_runs(second))
    common = [name for name in here if name in there]
    runs = {name: _differences(here[name], there[name]) for name in common if here[name] != there[name]}
    limits, others = _limits(first / CONTENT), _limits(second / CONTENT)
    both = [name for name in limits if name in others]
    moved = {name: [limits[name], others[name]] for name in both if limits[name] != others[name]}
    looks = sum(name.startswith("look_") for name in common)
    return {
        "looks": looks,
        "drives": len(common) - looks,
        "limits": len(both),
        "different_runs": runs,
        "different_limits": moved,
        "is_equal": bool(common) and not runs and not moved,
    }


def _compare_record(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    one, other = (
        {f"{search['name']}/{search['search']['name']}": search for search in both} for both in (first, second)
    )
    searches = {name: _compare_recorded(one[name], search) for name, search in other.items() if name in one}
    return {
        "searches": searches,
        "not_repeated": [name for name in one if name not in other],
        **{key: sum(search[key] for search in searches.values()) for key in ("weathers", "limits")},
        "is_equal": bool(searches) and all(search["is_equal"] for search in searches.values()),
    }


def _compare_recorded(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    here, there = (
        {f"{point['unit']} {point['value']}": point["figures"] for point in search["points"]}
        for search in (first, second)
    )
    limits, others = _limits_of(first), _limits_of(second)
    weathers, moved = _differences(here, there), _differences(limits, others)
    return {
        "commits": [search["versions"]["commit"] for search in (first, second)],
        "machines": [search["machine"] for search in (first, second)],
        "weathers": len(there),
        "limits": len(others),
        "different_weathers": weathers,
        "different_limits": moved,
        "is_equal": not weathers and not moved,
    }


def _runs(folder: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The figures of each run that is done, by its name: of the reference drives, and of all rounds."""
    for path in sorted(folder.glob(f"*/*/{RUN}")):
        look, result = path.with_name(LOOK), path.with_name(RESULT)
        if look.is_file():
            content = json.loads(look.read_text())
            yield path.parent.name, {"steps": content["steps"], **{one["name"]: one for one in content["figures"]}}
        elif result.is_file():
            yield path.parent.name, figures_of(path.parent)


def _differences(here: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {key: [here.get(key), there.get(key)] for key in {**here, **there} if here.get(key) != there.get(key)}


def _limits(path: Path) -> dict[str, list[float | None]]:
    """For each drive and module: the last value at which the limit is met, and the first at which it is missed."""
    if not path.is_file():  # the search is not complete
        return {}
    return _limits_of(json.loads(path.read_text()))


def _limits_of(search: Mapping[str, Any]) -> dict[str, list[float | None]]:
    limits = [one for found in search["limits_found"] for one in found["limits"]]
    return {f"{one['unit']} {one['module']}": [one["kept"], one["missed"]] for one in limits}


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, one in found["searches"].items():
        kinds = [kind for kind in ("looks", "drives", "weathers", "limits") if kind in one]
        differ = [
            f"{len(one[key])} {key.replace('_', ' ')}" for key in one if key.startswith("different_") and one[key]
        ]
        yield f"{name}: {', '.join(f'{one[kind]} {kind}' for kind in kinds)}: {', '.join(differ) or 'equal'}"
    for name in found.get("not_repeated", []):
        yield f"{name}: not repeated"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weather_equal", description=__doc__)
    return run_comparison(parser, compare, _lines)


if __name__ == "__main__":
    raise SystemExit(main())
