"""Compares two folders of `av-stack weather`: `python -m benchmarks.weather_equal A B [--json FILE]`.

A and B may also hold the folders of several searches, with equal names. For each run in both: all figures of a look, or
all figures of a drive. What measures time on a clock is left out. For each search that is complete in both: the weather
in which each module first misses its limit. The exit status is 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.suite_equal import figures_of, run_comparison

REFERENCE, RUN, LOOK, RESULT, CONTENT = "reference", "run.json", "look.json", "result.json", "weather.json"


def compare(first: Path, second: Path) -> dict[str, Any]:
    """What is equal in two folders of searches, by the name of the search's folder."""
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
    found = json.loads(path.read_text())["limits_found"]
    return {f"{one['unit']} {one['module']}": [one["kept"], one["missed"]] for each in found for one in each["limits"]}


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for name, one in found["searches"].items():
        differ = len(one["different_runs"]), len(one["different_limits"])
        told = "equal" if one["is_equal"] else f"{differ[0]} runs and {differ[1]} limits differ"
        yield f"{name}: {one['looks']} looks, {one['drives']} drives, {one['limits']} limits: {told}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weather_equal", description=__doc__)
    return run_comparison(parser, compare, _lines)


if __name__ == "__main__":
    raise SystemExit(main())
