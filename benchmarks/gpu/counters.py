"""Collects Nsight Compute's main counters of the operators' kernels: `python -m benchmarks.gpu.counters --out FILE`.

It runs itself under ncu, which must be installed, at the sizes of docs/cuda.md. Caches are flushed before each kernel;
clocks are not locked. A launch is repeated for every group of counters, so times differ from those of `benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.operators import bench_canny, bench_detect, bench_features, bench_ground, bench_hough
from benchmarks.gpu.timing import Bench

SECTIONS = (
    "SpeedOfLight", "Occupancy", "WarpStateStats", "SchedulerStats", "LaunchStats", "InstructionStats",
    "MemoryWorkloadAnalysis",
)  # fmt: skip
STALLED = "smsp__average_warps_issue_stalled_"
COUNTERS = {
    "time_ns": "gpu__time_duration.sum",
    "blocks": "launch__grid_size",
    "threads_a_block": "launch__block_size",
    "registers": "launch__registers_per_thread",
    "warp_instructions": "smsp__inst_executed.sum",
    "issuing_percent_of_cycles": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps_resident_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "l1_hits_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_hits_percent": "lts__t_sector_hit_rate.pct",
    "l2_percent_of_peak": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
}
"""Nsight Compute's counters by their names in the file.

The reasons for which warps wait are added to them, in cycles between two instructions.
"""


class Once:
    """Stands in for `Bench`: runs each call once between the profiler's start and stop."""

    def add(self, name: str, call: Callable[[], Any], *_figures: Any) -> None:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        call()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


def run_all() -> None:
    once: Bench = Once()  # type: ignore[assignment]  # stands in for Bench's add alone
    for bench in (bench_canny, bench_hough, bench_ground, bench_features, bench_detect):
        bench(once)


def counted(
    program: Sequence[str], metrics: Sequence[str] = (), sections: Sequence[str] = SECTIONS
) -> list[dict[str, Any]]:
    """One row of raw counters per launch that `program` makes between the profiler's start and stop, in order.

    A counter of time is in ns, one of bytes in bytes. `metrics` are counted besides those of `sections`.
    """
    ncu = shutil.which("ncu")
    if ncu is None:
        raise SystemExit("gpu.counters: Nsight Compute's ncu is not on the PATH")
    options = ["--csv", "--page", "raw", "--profile-from-start", "off", "--clock-control", "none"]
    options += [part for section in sections for part in ("--section", section)]
    options += ["--metrics", ",".join(metrics)] if metrics else []
    answer = subprocess.run([ncu, *options, *program], capture_output=True, text=True, check=False)
    table = [line for line in answer.stdout.splitlines() if line.startswith('"')]
    if answer.returncode != 0 or len(table) < 3:
        raise SystemExit(f"gpu.counters: ncu counted nothing: {(answer.stdout + answer.stderr)[-500:]}")
    return in_base_units(table)


def in_base_units(table: Sequence[str]) -> list[dict[str, Any]]:
    """The lines of ncu's raw page, whose first row holds the units, as one row per launch."""
    units, *launches = csv.DictReader(io.StringIO("\n".join(table)))
    return [
        {name: number_of(text) * UNITS[units[name]] if units[name] in UNITS else text for name, text in launch.items()}
        for launch in launches
    ]


UNITS = {
    "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9,
    "nsecond": 1.0, "usecond": 1e3, "msecond": 1e6, "second": 1e9,
    "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9,
}  # fmt: skip
"""ncu's units of time and of bytes, in ns and bytes."""


NOTHING = ("", "n/a", "no data")
"""What ncu writes for a counter that it has not: it can lose one of a short kernel's."""


def named(row: dict[str, Any], counters: dict[str, str] = COUNTERS, reasons: int | None = 6) -> dict[str, Any]:
    """A row of raw counters by the names in the file, with the main `reasons` for which warps wait; None is all."""
    found: dict[str, Any] = {"kernel": row["Kernel Name"].split("(")[0]}
    found.update({name: number_of(row[counter]) for name, counter in counters.items() if counter in row})
    waits = {
        name.removeprefix(STALLED).removesuffix("_per_issue_active.ratio"): number_of(value)
        for name, value in row.items()
        if name.startswith(STALLED) and name.endswith("_per_issue_active.ratio")
    }
    found["cycles_waited_for"] = dict(sorted(waits.items(), key=lambda one: -one[1])[:reasons])
    return found


def number_of(text: str | float) -> float:
    """A counter as ncu writes it; zero if it has none."""
    if isinstance(text, float):
        return text
    return float(text.replace(",", "")) if text not in NOTHING else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/gpu_counters.json"))
    parser.add_argument("--run", action="store_true", help="run the operators: what ncu starts")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.counters: torch sees no GPU")
    if arguments.run:
        run_all()
        return
    rows = [named(row) for row in counted([sys.executable, "-m", "benchmarks.gpu.counters", "--run"])]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    figures = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "kernels": rows}
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    for row in rows:
        print(*(f"{name} {value}" for name, value in row.items()), sep="; ")


if __name__ == "__main__":
    main()
