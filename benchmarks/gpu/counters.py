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
from collections.abc import Callable
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


def counted() -> list[dict[str, Any]]:
    """One row per launch, in order."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise SystemExit("gpu.counters: Nsight Compute's ncu is not on the PATH")
    sections = [part for section in SECTIONS for part in ("--section", section)]
    options = ["--csv", "--page", "raw", "--profile-from-start", "off", "--clock-control", "none", *sections]
    own = [sys.executable, "-m", "benchmarks.gpu.counters", "--run"]
    answer = subprocess.run([ncu, *options, *own], capture_output=True, text=True, check=False)
    table = [line for line in answer.stdout.splitlines() if line.startswith('"')]
    if answer.returncode != 0 or len(table) < 3:
        raise SystemExit(f"gpu.counters: ncu counted nothing: {(answer.stdout + answer.stderr)[-500:]}")
    return [_row(row) for row in list(csv.DictReader(io.StringIO("\n".join(table))))[1:]]  # the first row holds units


def _row(row: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"kernel": row["Kernel Name"].split("(")[0]}
    found.update({name: _number(row[counter]) for name, counter in COUNTERS.items() if counter in row})
    waits = {
        name.removeprefix(STALLED).removesuffix("_per_issue_active.ratio"): _number(value)
        for name, value in row.items()
        if name.startswith(STALLED) and name.endswith("_per_issue_active.ratio")
    }
    found["cycles_waited_for"] = dict(sorted(waits.items(), key=lambda one: -one[1])[:6])
    return found


def _number(text: str) -> float:
    return float(text.replace(",", "")) if text not in ("", "n/a") else 0.0


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
    rows = counted()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    figures = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "kernels": rows}
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n")
    for row in rows:
        print(*(f"{name} {value}" for name, value in row.items()), sep="; ")


if __name__ == "__main__":
    main()
