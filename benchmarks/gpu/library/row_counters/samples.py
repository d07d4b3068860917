"""Where warps wait, by instruction: `python -m benchmarks.gpu.library.row_counters.samples SOURCE.csv --plan FILE`.

Nsight Compute's counters call a wait for the memory and a wait for a cluster's barrier by one name, long_scoreboard.
Its samples of each instruction tell them apart. This sums them up, for each launch of a plan:

    ncu -o rows --profile-from-start off --section SourceCounters \\
        python -m benchmarks.gpu.library.row_counters --plan plan.json --columns 4096,131072
    ncu --import rows.ncu-rep --page source --csv --print-source sass > source.csv
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cuda_ops.library import records

WAIT = "stall_"
LISTED_PERCENT = 3.0
"""An instruction is listed by itself if so many of the samples are at it."""
TRY = re.compile(r"SYNCS\.\S*TRYWAIT\S* (?:P\d, )?(P\d)")
"""Asks whether a barrier in shared memory has completed, and sets a predicate by which the warp waits."""


def launches_of(lines: Iterable[str]) -> list[tuple[str, list[dict[str, str]]]]:
    """The kernel of each launch and its instructions in order, from ncu's page of sources as CSV."""
    found: list[tuple[str, list[dict[str, str]]]] = []
    names: list[str] = []
    for cells in csv.reader(lines):
        if cells[:1] == ["Kernel Name"]:
            found.append((cells[1], []))
        elif cells[:1] == ["Address"]:
            names = cells
        elif found and cells:
            found[-1][1].append(dict(zip(names, cells, strict=True)))
    return found


def summed(kernel: str, instructions: Sequence[dict[str, str]]) -> dict[str, Any]:
    """One row: percents of the samples by wait, those at barriers of a cluster, and what loads ask for."""
    samples = sum(int(one["# Samples"]) for one in instructions)
    if not samples:
        raise ValueError(f"{kernel}: no samples")

    def percent(count: int) -> float:
        return round(100 * count / samples, 1)

    reasons = [name for name in instructions[0] if name.startswith(WAIT) and not name.endswith("(Not Issued)")]
    waits = {name.removeprefix(WAIT): percent(sum(int(one[name]) for one in instructions)) for name in reasons}
    at_barrier = sum(int(instructions[k][f"{WAIT}long_sb"]) for k in _waits_of_clusters(instructions))
    longest = sorted(instructions, key=lambda one: -int(one["# Samples"]))
    return {
        "kernel": kernel.split("(const")[0],
        "samples": samples,
        "at_cluster_barriers_percent": percent(at_barrier),
        "waits_percent": {name: share for name, share in sorted(waits.items(), key=lambda one: -one[1]) if share},
        "instructions_percent": [
            [one["Source"].strip(), percent(int(one["# Samples"]))]
            for one in longest
            if 100 * int(one["# Samples"]) >= LISTED_PERCENT * samples
        ],
        "requests": _requests(instructions),
    }


def _waits_of_clusters(instructions: Sequence[dict[str, str]]) -> set[int]:
    """Places of the instructions that wait for a barrier in shared memory."""
    found = set()
    for k, one in enumerate(instructions):
        if not (asked := TRY.search(one["Source"])):
            continue
        found.add(k)
        guards = (f"@{asked[1]} ", f"@!{asked[1]} ")
        later = range(k + 1, len(instructions))
        found.update([j for j in later if instructions[j]["Source"].strip().startswith(guards)][:1])
    return found


def _requests(instructions: Sequence[dict[str, str]]) -> dict[str, dict[str, int]]:
    """By the instruction's name: how many warps executed it, and 32-byte sectors asked for, beside the fewest."""
    found: dict[str, dict[str, int]] = {}
    for one in instructions:
        if not (sectors := int(one["L2 Theoretical Sectors Global"])):
            continue
        name = next(word for word in one["Source"].split() if not word.startswith("@"))
        sums = found.setdefault(name, {"executed": 0, "sectors": 0, "fewest_sectors": 0})
        sums["executed"] += int(one["Instructions Executed"])
        sums["sectors"] += sectors
        sums["fewest_sectors"] += int(one["L2 Theoretical Sectors Global Ideal"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="ncu's page of sources as CSV, or that packed by gzip")
    parser.add_argument("--plan", type=Path, required=True, help="what row_counters --plan wrote")
    parser.add_argument("--out", type=Path, default=Path("out/bench/row_samples.json"))
    arguments = parser.parse_args()
    opened = gzip.open if arguments.source.suffix == ".gz" else open
    with opened(arguments.source, "rt", newline="") as lines:
        launches = launches_of(lines)
    calls = json.loads(arguments.plan.read_text())["calls"]
    found = []
    for (named, ours), (kernel, instructions) in zip(calls, launches, strict=True):
        if not all(name in kernel for name in ours):
            raise SystemExit(f"row_counters.samples: {named} ran {ours}, but ncu has {kernel}")
        found.append(named | summed(kernel, instructions))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(records.text({"rows": found}))
    print(f"{len(found)} launches; {arguments.out}")


if __name__ == "__main__":
    main()
