"""docs/performance-report.md: every operator of the library, from the records in docs/operators alone.

`python -m benchmarks.gpu.library.pages` writes it with the pages. Of each operator and type it shows the default
version beside the faster peer, over all sizes, and every version at one size.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.gpu.library import all_goals
from benchmarks.gpu.library.goals import (
    cpu_table,
    cub_times,
    default_version,
    goals_table,
    products_table,
    ragged_sentence,
)
from benchmarks.markdown_tables import rows
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.records import variant_of
from cuda_ops.library.roofline import Point, Roof, points_of, roof_of, rows_of, summary

Figures = dict[str, Any]
Size = tuple[int, int, int, str]
"""Rows, columns, depth, and what a case has besides."""
PEERS = ("torch", "torch.compile")
TEXT = """# Performance report of the operator library

Made by `python -m benchmarks.gpu.library.pages` from the records in [operators/](operators/README.md), which
`python -m benchmarks.gpu.library` wrote on the machines below; `make test` checks that it is up to date. Times are
medians in a CUDA graph on cold data, ours and the peers' in turn. The pages of the [operators](operators/README.md)
have every size; [roofline](operators/roofline.md) has the picture.
"""
GOALS_TEXT = """
The goals are rates on one H200, and so are the records: of one GPU of a host with nothing else to do, but for
`half_on_end.json`, of another H200 whose host was busy. Softmax and the norms were timed later on another one,
`liger.json` and `quack.json` on a third one, and drives kept the processors of both hosts busy. Nearly all of it was
timed again: [do two runs agree?](operators/README.md#do-two-runs-agree) Products are held against cuBLAS in the same
run, or against the rate itself. A goal is met if each of its cases meets it, in every record named beside it. All rates
are of the version that runs by default today. Another H200 has judged these defaults since, but for version 6 of
softmax and the norms, in timings repeated five times ([output](operators/again/h200_third_run.txt)): of 139 cases that
memory bounds, 133 have a default that is at most 3 % slower than the fastest version.
"""
PEERS_TEXT = """
In the records: torch, torch.compile, cuBLAS and cuSPARSELt through torch, cuDNN for
[convolutions](operators/convolve.md), [Liger](operators/README.md#beside-liger),
[QuACK](operators/README.md#beside-quack), and CUB for a sum of 2^30 float32 ({cub}). Not run:

- CV-CUDA and NPP, peers of the [operators for pictures](cuda.md#measured): their packages (128 and 154 MB) could not
  be brought there either.
- CUTLASS's kernels for 2:4 sparse products, in torch: they refuse an H100 ([record](operators/sparse.json)).
"""
OPERATORS_TEXT = """
Each line is the version that runs by default, over all sizes of that type. "Times as fast" is the time of the faster
peer, torch or torch.compile, over ours: the geometric mean, the worst size and the best one. For products the peer is
cuBLAS, through torch. The share of the roof is that of the size with the best rate. Clock and power are medians over
the sizes, read just after the last replay of a contender.
"""
LADDERS_TEXT = """
The versions of each operator at the size where most of them were timed, in the unit of the operator: TB/s, or TFLOP/s
of products. Empty is what cannot run there or was not timed.
"""
SUSTAINED_TEXT = """
Two seconds on end, ours and torch in turn, with the clock and the power late in that time: the card slows down before
it exceeds its power. Of a 2:4 sparse matrix torch multiplies all elements, zeros too. Readings of 122 to 476 W at
1,980 MHz beside such rates were taken when the last call had just ended, or nearly; they say nothing about the power of
those products.
"""


@dataclass(slots=True)
class Entry:
    """What was measured of one operator and type: times by size, and rates by contender and size."""

    ladder: Ladder
    element: str
    ours: dict[Size, dict[str, Any]] = field(default_factory=dict)
    peer_us: dict[Size, float] = field(default_factory=dict)
    rates: dict[Size, dict[str, float]] = field(default_factory=dict)

    def add(self, row: dict[str, Any]) -> None:
        """Take a row in; of two of the default version at one size the first one counts, of peers the fastest."""
        size = row["rows"], row["columns"], row.get("depth", 0), variant_of(row)
        rate = row["tflop_per_s"] if self.ladder.is_product else row["tb_per_s"]
        self.rates.setdefault(size, {}).setdefault(row["contender"], rate)
        if row["contender"] in PEERS:
            self.peer_us[size] = min(row["median_us"], self.peer_us.get(size, row["median_us"]))
        elif row["contender"] == default_version(row):
            self.ours.setdefault(size, row)

    def ratios(self) -> dict[Size, float]:
        """The peer's time over ours, by size."""
        return {size: self.peer_us[size] / row["median_us"] for size, row in self.ours.items() if size in self.peer_us}


def entries_of(runs: Iterable[Figures]) -> list[Entry]:
    """One entry for each operator and type, in the order of the catalogue."""
    found: dict[tuple[str, str], Entry] = {}
    by_name = {ladder.name: ladder for ladder in LADDERS}
    for run in runs:
        for row in (*rows_of(run), *run.get("compiled", [])):
            if row["median_us"] is not None:
                key = row["operator"], row["element"]
                found.setdefault(key, Entry(by_name[row["operator"]], row["element"])).add(row)
    order = [ladder.name for ladder in LADDERS]
    return sorted(found.values(), key=lambda entry: (order.index(entry.ladder.name), entry.element))


def machines_table(runs: Mapping[str, Figures]) -> str:
    """The GPU and the versions of each record, and how long it took."""
    names = ["record", "GPU", "driver", "Python", "torch", "NVRTC", "rows", "copy, TB/s", "measured for, s"]
    lines = []
    for name, run in runs.items():
        count = sum(len(run.get(part, [])) for part in ("rows", "compiled", "sweep", "sustained", "liger", "quack"))
        lines.append([f"[{name}](operators/runs/{name})", *_machine(run, str(count))])
        if later := run.get("later"):
            lines.append([f"the same, {', '.join(later['operators'])}: timed again later", *_machine(later, "")])
    return rows(names, lines)


def _machine(run: Figures, count: str) -> list[str]:
    """The GPU and the versions of one run; `count` is how many rows it has."""
    machine = run["machine"]
    versions = [str(machine.get(key) or "") for key in ("driver", "python", "torch", "nvidia-cuda-nvrtc")]
    return [machine["gpu"], *versions, count, f"{run['copy']['tb_per_s']:.2f}", str(run.get("took_s", ""))]


def operators_table(entries: Sequence[Entry], points: Sequence[Point], roof: Roof) -> str:
    """One line for each operator and type."""
    shares: dict[tuple[str, str], Point] = {}
    for point in points:
        key = point.operator, point.element
        if key not in shares or point.tflop_per_s > shares[key].tflop_per_s:
            shares[key] = point
    return rows(
        [
            "operator",
            "type",
            "sizes",
            "best rate",
            "share of the roof",
            "times as fast as the peer",
            "worst",
            "best",
            "clock, MHz",
            "power, W",
        ],
        [_line(entry, shares.get((entry.ladder.name, entry.element)), roof) for entry in entries if entry.ours],
    )


def _line(entry: Entry, point: Point | None, roof: Roof) -> list[str]:
    name, ratios = entry.ladder.name, entry.ratios()
    rates = [entry.rates[size][row["contender"]] for size, row in entry.ours.items()]
    compared = ["", "", ""]
    if ratios:
        worst, best = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
        compared = [
            f"{statistics.geometric_mean(ratios.values()):.2f}",
            *(f"{ratios[size]:.2f} ({_named(size)})" for size in (worst, best)),
        ]
    return [
        f"[{name}](operators/{name}.md)",
        entry.element,
        str(len(entry.ours)),
        f"{max(rates):.{1 if entry.ladder.is_product else 2}f} {entry.ladder.unit}",
        f"{100 * point.share(roof):.0f} %" if point else "",
        *compared,
        _median([row.get("clock_mhz") for row in entry.ours.values()]),
        _median([row.get("power_mw") for row in entry.ours.values()], 1000),
    ]


def _median(values: Sequence[int | None], unit: int = 1) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known) / unit:.0f}" if known else ""


def _named(size: Size) -> str:
    *numbers, variant = size
    text = " x ".join(str(number) for number in numbers if number)
    return f"{text}, {variant}" if variant else text


def ladders_table(entries: Sequence[Entry]) -> str:
    """The rates of all versions of each operator, at the size where most of them were timed."""
    most = max(len(ladder.versions) for ladder in LADDERS)
    lines = []
    for entry in entries:
        size = max(entry.rates, key=lambda size: sum(name.startswith("v") for name in entry.rates[size]))
        digits = 1 if entry.ladder.is_product else 2
        names = [f"v{number + 1}" for number in range(most)]
        rates = entry.rates[size]
        cells = [f"{rates[name]:.{digits}f}" if name in rates else "" for name in (*names, "torch")]
        lines.append([f"[{entry.ladder.name}](operators/{entry.ladder.name}.md)", entry.element, _named(size), *cells])
    return rows(["operator", "type", "size", *(f"v{number + 1}" for number in range(most)), "torch"], lines)


def sustained_table(runs: Iterable[Figures]) -> str:
    """What ran for seconds on end: rates, clock and power."""
    lines = []
    for gpu, row in ((run["machine"]["gpu"], row) for run in runs for row in run.get("sustained", [])):
        size = row["rows"], row["columns"], row["depth"], variant_of(row)
        readings = ("" if row[name] is None else f"{row[name] / unit:.0f}" for name, unit in READINGS)
        lines.append(
            [
                row["operator"],
                row["element"],
                _named(size),
                gpu,
                row["contender"],
                f"{row['tflop_per_s']:.1f}",
                *readings,
            ]
        )
    names = ["operator", "type", "size", "GPU", "contender", "TFLOP/s", "clock, MHz", "power, W"]
    return rows(names, lines) if lines else ""


READINGS = (("clock_mhz", 1), ("power_mw", 1000))


def report(runs: Mapping[str, Figures], figures: Figures) -> str:
    """The report of the records of an H200, by the file below operators/runs; `figures` are those of all operators."""
    measured = list(runs.values())
    roof, entries = roof_of([run for run in measured if run["rows"]]), entries_of(measured)
    sustained = sustained_table(measured)
    parts = [
        TEXT,
        "## Machines and versions\n",
        machines_table(runs),
        f"The limits of the roofline: {summary(roof)}.\n",
        "## Goals\n",
        GOALS_TEXT.lstrip(),
        all_goals.table(runs, figures),
        "## Peers\n",
        PEERS_TEXT.lstrip().format(
            cub=", ".join(f"{name} {time:,.0f} us" for name, time in cub_times(figures).items())
        ),
        "## Operators\n",
        OPERATORS_TEXT.lstrip(),
        operators_table(entries, points_of(measured), roof),
        "## Ladders\n",
        LADDERS_TEXT.lstrip(),
        ladders_table(entries),
        "## Products of matrices\n",
        products_table(measured).replace("](", "](operators/"),
        ragged_sentence(measured) + "\n",
        *(["## On end\n", SUSTAINED_TEXT.lstrip(), sustained] if sustained else []),
        "## Goals of the operators that memory bounds\n",
        goals_table(figures),
        "## CPU time of an eager call\n",
        cpu_table(figures),
    ]
    return "\n".join(parts)
