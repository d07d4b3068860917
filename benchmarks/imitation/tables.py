"""The tables of held-back drives in docs/networks/imitation.md; `python -m benchmarks.networks.tables` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import markdown_tables

Row = Mapping[str, Any]

NAMES = {
    "r1_seed0": "seed 0", "r1_seed1": "seed 1", "r1_seed2": "seed 2", "r1_blind": "blind",
    "seed0": "seed 0 before DAgger", "labels": "the expert's labels", "expert": "the expert",
}  # fmt: skip
"""What the page calls the drivers of the record."""

SEEDS = ("r1_seed0", "r1_seed1", "r1_seed2")


def held_back(record: Mapping[str, Any]) -> str:
    """By driver and number of vehicles: drives, completion, successes, score, and how drives ended."""
    cells = []
    for vehicles in sorted({row["vehicles"] for row in record["drives"]}):
        of = {name: _of(record["drives"], (name,), vehicles) for name in NAMES}
        for name, rows in of.items():
            if rows:
                cells.append([str(vehicles), NAMES[name], *_figures(rows)])
        if all(of[name] for name in SEEDS):
            cells.append([str(vehicles), "**seeds: mean, deviation**", *_spread([of[name] for name in SEEDS])])
    columns = ["other vehicles", "network", "drives", "route completion", "arrived", "successes", "driving score",
               "red lights", "collisions"]  # fmt: skip
    return markdown_tables.rows(columns, cells)


def ends(record: Mapping[str, Any]) -> str:
    """Each drive: how far each driver got, and how it ended."""
    rows = record["drives"]
    names = [name for name in NAMES if any(row["driver"] == name for row in rows)]
    cells = []
    for drive in dict.fromkeys((row["vehicles"], row["drive"]) for row in sorted(rows, key=_order)):
        found = {row["driver"]: row for row in rows if row["drive"] == drive[1]}
        first = next(iter(found.values()))
        told = [_end(found[name]) if name in found else "–" for name in names]
        cells.append([drive[1].replace("_", " "), first["weather"], *told])
    return markdown_tables.rows(["drive", "weather", *(NAMES[name] for name in names)], cells)


def obstacles(suite: Mapping[str, Any]) -> str:
    """Each route of the suite: how far the shipped network got, and what went wrong."""
    cells = [
        [
            drive["scenario"].removeprefix("obstacles_").replace("_", " "), f"{drive['route_completion']:.0%}",
            f"{drive['driving_score']:.1f}", "yes" if drive["is_success"] else "no",
            ", ".join(drive["shortcomings"]) or "nothing",
        ]
        for drive in suite["drives"]
    ]  # fmt: skip
    return markdown_tables.rows(["route", "route completion", "driving score", "success", "what went wrong"], cells)


def _order(row: Row) -> tuple[int, str]:
    return row["vehicles"], row["drive"]


def _of(rows: Sequence[Row], drivers: Sequence[str], vehicles: int) -> list[Row]:
    return [row for row in rows if row["driver"] in drivers and row["vehicles"] == vehicles]


def _collisions(row: Row) -> int:
    return int(row["collisions_walker"] + row["collisions_vehicle"] + row["collisions_static"])


def _measures(rows: Sequence[Row]) -> tuple[float, float]:
    completion = float(np.mean([row["route_completion"] for row in rows]))
    return completion, float(np.mean([row["driving_score"] for row in rows]))


def _figures(rows: Sequence[Row]) -> list[str]:
    completion, score = _measures(rows)
    arrived = sum(row["end"] == "arrived" for row in rows)
    successes = sum(row["is_success"] for row in rows)
    reds, hits = sum(row["red_lights"] for row in rows), sum(_collisions(row) for row in rows)
    return [str(len(rows)), f"{completion:.1%}", str(arrived), str(successes), f"{score:.1f}", str(reds), str(hits)]


def _spread(seeds: Sequence[Sequence[Row]]) -> list[str]:
    """The mean over seeds, and the standard deviation between them."""
    completions, scores = zip(*map(_measures, seeds), strict=True)
    rows = [row for one in seeds for row in one]
    total = _figures(rows)
    total[1] = f"{np.mean(completions):.1%} ± {np.std(completions, ddof=1):.1%}"
    total[4] = f"{np.mean(scores):.1f} ± {np.std(scores, ddof=1):.1f}"
    return total


def _end(row: Row) -> str:
    """How far, and what went wrong, in a few words."""
    wrong = [f"{row['red_lights']} red"] * bool(row["red_lights"])
    wrong += [f"{_collisions(row)} hit"] * bool(_collisions(row))
    wrong += [row["end"]] * (row["end"] != "arrived")
    return ", ".join([f"{row['route_completion']:.0%}", *wrong])
