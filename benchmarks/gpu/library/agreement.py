"""Whether two runs of the benchmark on different machines agree: a table of docs/operators/README.md.

A figure of one run is the median of 15 rounds. Within a run a figure is uncertain by the distance of its quartiles;
between two GPUs of one kind, also by what differs between the GPUs.

`python -m benchmarks.gpu.library.agreement RUN.json ... --out FILE` keeps of a run's files what the comparison needs.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.markdown_tables import rows
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.roofline import rows_of

KEY = ("operator", "element", "rows", "columns", "depth", "variant", "contender")
KEPT = (*KEY, "median_us", "first_quartile_us", "third_quartile_us")
"""What the comparison needs of a row."""

Key = tuple[Any, ...]
"""The values of `KEY`: a depth, and a variant (`records.variant_of`), are a product's alone."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One figure of both runs."""

    operator: str
    first_us: float
    second_us: float
    spread: float
    """The larger one of the two distances between the quartiles, relative to the median."""

    @property
    def ratio(self) -> float:
        return self.second_us / self.first_us


def pairs(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]], changed: Sequence[str]) -> list[Pair]:
    """The figures that both runs have, but for our versions of the operators `changed` in between.

    Nor has a version that got another launch shape after its run a figure (`roofline.rows_of`).
    """
    by_key = _figures(first)
    made = []
    for key, row in _figures(second).items():
        if key not in by_key or (key[0] in changed and key[-1].startswith("v")):
            continue
        before = by_key[key]
        made.append(Pair(key[0], before["median_us"], row["median_us"], max(_spread(before), _spread(row))))
    return made


def _figures(runs: Sequence[dict[str, Any]]) -> dict[Key, dict[str, Any]]:
    return {
        tuple(_keyed(row)[name] for name in KEY): row
        for run in runs
        for row in rows_of(run)
        if row["median_us"] is not None and "shape" not in row
    }


def _keyed(row: dict[str, Any]) -> dict[str, Any]:
    """The row with all of `KEY`."""
    return {"depth": 0, "variant": records.variant_of(row)} | row


def _spread(row: dict[str, Any]) -> float:
    return float((row["third_quartile_us"] - row["first_quartile_us"]) / row["median_us"])


def table(found: Sequence[Pair], others: Mapping[str, Sequence[Pair]]) -> str:
    """One line for each operator, and one for all: how far the second run's times are from the first's.

    The last lines have the pairs of `others`, by their titles.
    """
    names = ["operator", "figures", "second / first: median", "from", "to", "nine of ten differ by at most"]
    lines = []
    for ladder in LADDERS:
        own = [pair for pair in found if pair.operator == ladder.name]
        if own:
            lines.append([ladder.name, *_cells(own)])
    return rows(
        [*names, "spread in a run, nine of ten"],
        [*lines, ["all", *_cells(found)], *([title, *_cells(pairs)] for title, pairs in others.items())],
    )


def _cells(found: Sequence[Pair]) -> list[str]:
    ratios = sorted(pair.ratio for pair in found)
    return [
        str(len(found)),
        f"{statistics.median(ratios):.3f}",
        f"{ratios[0]:.3f}",
        f"{ratios[-1]:.3f}",
        f"{100 * _nine_of_ten([abs(ratio - 1.0) for ratio in ratios]):.1f} %",
        f"{100 * _nine_of_ten([pair.spread for pair in found]):.1f} %",
    ]


def _nine_of_ten(values: Sequence[float]) -> float:
    """The least bound that nine of ten values keep."""
    return sorted(values)[max(0, -(-9 * len(values) // 10) - 1)]


def kept(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the comparison needs of the files of a run: a list of numbers for each row, and their names once."""
    found = [
        [_keyed(row)[name] for name in KEPT] for run in runs for row in run["rows"] if row["median_us"] is not None
    ]
    return {"machine": runs[0]["machine"], "names": list(KEPT), "rows": found}


def opened(record: dict[str, Any]) -> dict[str, Any]:
    """A run again from what was kept of it."""
    return {"rows": [dict(zip(record["names"], values, strict=True)) for values in record["rows"]]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library.agreement", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    runs = [records.read(file) for file in arguments.runs]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(records.text(kept(runs)))


if __name__ == "__main__":
    main()
