"""The same runs driven by several variants of the stack, or by several agents, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from av_stack.recording.recorder import RESULT
from benchmarks import markdown_tables

COUNTED = {
    "collisions_walker": "pedestrians hit",
    "collisions_vehicle": "vehicles hit",
    "collisions_static": "objects hit",
    "red_lights": "red lights run",
    "stop_signs": "stop signs passed",
}
"""The infractions of result.json that the tables count, and their words."""

EQUAL_SCORES = 0.05
"""Driving scores in percent that differ by less count as equal."""

Row = Mapping[str, Any]


def read_study(folders: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """The runs of all suites in `folders`, each given with the name of its variant; and what drove them.

    A run is known by its suite, name, map, weather and seed. Raises ValueError where a variant drove it twice.
    """
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    machines, codes = set(), set()
    for variant, folder in folders:
        suite = json.loads((folder / "suite.json").read_text())
        machine = suite["fingerprint"]["machine"]
        machines.add(f"{machine['processor']}, {machine['cores']} cores, {machine['gpu']}")
        codes.add(suite["fingerprint"]["version"]["code"])
        for entry in suite["drives"]:
            run = {
                "suite": Path(suite["suite"]).stem,
                "run": entry["scenario"],
                **{name: entry[name] for name in ("map", "weather", "seed")},
            }
            row = rows.setdefault(tuple(run.values()), {**run, "variants": {}})
            if variant in row["variants"]:
                raise ValueError(
                    f"{folder}: {entry['scenario']} with seed {entry['seed']} was driven by {variant} twice"
                )
            row["variants"][variant] = _drive(entry, folder / entry["scenario"])
    return {"code": sorted(codes), "machines": sorted(machines), "rows": list(rows.values())}


def _drive(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What one variant did in one run; after a crash, only its words."""
    if entry["crash"] is not None:
        return {"crash": entry["crash"]}
    found = json.loads((folder / RESULT).read_text())["infractions"]
    return {
        "crash": None,
        "end": entry["end"],
        "route_length_m": round(entry["route_length_m"]),
        "route_completion": round(entry["route_completion"], 4),
        "score_2_0": round(entry["driving_score"], 1),
        "score_2_1": round(entry["driving_score_2_1"], 1),
        "infractions": {name: found[name] for name in COUNTED},
        "shortcomings": entry["shortcomings"],
        "time_s": round(entry["time_s"], 1),
        "mean_kmh": round(entry["mean_kmh"], 1),
    }


def variants_of(rows: Iterable[Row]) -> list[str]:
    """The names of all variants, in the order in which they were given."""
    return list(dict.fromkeys(variant for row in rows for variant in row["variants"]))


def per_variant(study: Mapping[str, Any]) -> str:
    """Markdown: a line for each suite and variant, over the runs that it and the suite's first variant both drove."""
    suites = dict.fromkeys(row["suite"] for row in study["rows"])
    cells = [line for suite in suites for line in _suite_lines(suite, study["rows"])]
    names = (
        "suite", "variant", "runs", "passed", "score 2.0", "first variant's", "better, worse", "route completed",
        *COUNTED.values(), "crashes",
    )  # fmt: skip
    return markdown_tables.rows(names, cells)


def _suite_lines(suite: str, rows: Iterable[Row]) -> Iterable[tuple[str, ...]]:
    own = [row["variants"] for row in rows if row["suite"] == suite]
    variants = variants_of({"variants": one} for one in own)
    for variant in variants:
        pairs = [(one[variants[0]], one[variant]) for one in own if {variants[0], variant} <= one.keys()]
        driven = [(first, drive) for first, drive in pairs if first["crash"] is None and drive["crash"] is None]
        if driven:
            yield _line(suite, variant, driven, sum(drive["crash"] is not None for _, drive in pairs))


def _line(suite: str, variant: str, driven: Sequence[tuple[Row, Row]], crashes: int) -> tuple[str, ...]:
    gains = [drive["score_2_0"] - first["score_2_0"] for first, drive in driven]
    own = [drive for _, drive in driven]
    return (
        suite,
        variant,
        str(len(own)),
        str(sum(not drive["shortcomings"] for drive in own)),
        f"{mean(drive['score_2_0'] for drive in own):.1f}",
        f"{mean(first['score_2_0'] for first, _ in driven):.1f}",
        f"{sum(gain > EQUAL_SCORES for gain in gains)}, {sum(gain < -EQUAL_SCORES for gain in gains)}",
        f"{100.0 * mean(drive['route_completion'] for drive in own):.0f} %",
        *(str(sum(drive["infractions"][name] for drive in own)) for name in COUNTED),
        str(crashes),
    )


def per_run(study: Mapping[str, Any]) -> str:
    """Markdown: a line for each run, a column for each variant with its score of Leaderboard 2.0 and what it lacked."""
    variants = variants_of(study["rows"])
    cells = []
    for row in study["rows"]:
        lengths = [drive["route_length_m"] for drive in row["variants"].values() if drive["crash"] is None]
        seen = (str(row["run"]), str(row["map"]), str(row["weather"]), str(lengths[0]) if lengths else "–")
        cells.append((*seen, *(_cell(row["variants"].get(variant)) for variant in variants)))
    return markdown_tables.rows(("run", "map", "weather", "m", *variants), cells)


def both(study: Mapping[str, Any]) -> str:
    """Markdown: the table by variant, then the one by run."""
    return f"{per_variant(study)}\n{per_run(study)}"


def _cell(drive: Row | None) -> str:
    if drive is None:
        return "–"
    if drive["crash"] is not None:
        return f"crash: {drive['crash']}"
    lacks = "; ".join(drive["shortcomings"])
    return f"{drive['score_2_0']:.0f}" + (f": {lacks}" if lacks else "")
