"""Nsight Compute's counters of the operator library: `python -m benchmarks.gpu.library.counters --out FILE`.

It runs itself under ncu, which must be installed, one group of ladders after the other, and writes the file after each.
Every version runs once at one size of 128 MiB, with caches flushed before each kernel and clocks as they are; the
default versions run on rows of 131,072 elements besides. A launch is repeated for every group of counters.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.counters import COUNTERS, counted, named
from benchmarks.gpu.library.shapes import LYING, Case, inputs_for, problem_of
from cuda_ops.library import records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Ladder, Version
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.recorder import record

ARRAY_BYTES = 128 << 20
"""Of the operator's first array: more than the L2 cache holds."""
COLUMNS = (4096, 1024)
"""A version runs at the first of these that it can take; one that spreads rows over clusters at `CLUSTER_COLUMNS`."""
CLUSTER_COLUMNS = 32768
LONG_COLUMNS = 131072
PRODUCT = 4096
"""Rows, columns and depth of a product."""
SPREAD_OVER_CLUSTERS = ("cluster", "pipelined", "ahead")
MORE = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "dram_percent_of_peak": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l2_bytes": "lts__t_bytes.sum",
}
GROUPS = 5


def counted_cases(ladders: tuple[Ladder, ...]) -> Iterator[tuple[Version, Case]]:
    """What is counted of each ladder: every version, and the default one at long rows."""
    for ladder in ladders:
        for version in ladder.versions:
            case = _case_of(ladder, version)
            if case is not None:
                yield version, case
        for element in (FLOAT32, BFLOAT16):
            if not ladder.is_flat and not ladder.is_product:
                case = Case(ladder, element, ARRAY_BYTES // element.size_bytes // LONG_COLUMNS, LONG_COLUMNS)
                yield ladder.choose(problem_of(case)), case


def _case_of(ladder: Ladder, version: Version) -> Case | None:
    count = ARRAY_BYTES // FLOAT32.size_bytes
    if ladder.is_flat:
        return Case(ladder, FLOAT32, 1, count)
    if ladder.is_product:
        lies = LYING.get(ladder.name, "")
        return Case(ladder, version.elements[0], PRODUCT, PRODUCT, depth=PRODUCT, transposed=lies)
    sizes = (CLUSTER_COLUMNS,) if version.name in SPREAD_OVER_CLUSTERS else COLUMNS
    for columns in sizes:
        case = Case(ladder, FLOAT32, count // columns, columns)
        if version.can_run(problem_of(case)):
            return case
    return None


def run_group(ladders: tuple[Ladder, ...], plan: Path) -> None:
    """Run each case once between the profiler's start and stop, and write what was run, with the kernels launched."""
    planned = []
    for version, case in counted_cases(ladders):
        operator, inputs = OPERATORS[case.ladder.name], inputs_for(case, 0)
        for _ in range(2):
            operator(*inputs, version=version.number)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        operator(*inputs, version=version.number)
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        problem = problem_of(case)
        kernels = [_base(launch.kernel) for launch in record(case.ladder, version, problem)]
        named_case = case.named() | {"version": version.number, "fewest_bytes": case.ladder.moved_bytes(problem)}
        planned.append((named_case, kernels))
        plan.write_text(json.dumps(planned))


def count_group(number: int, names: str) -> list[dict[str, Any]]:
    """The counters of one group of the ladders named: one row per launch."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        own = [sys.executable, "-m", "benchmarks.gpu.library.counters", "--group", str(number), "--plan", str(plan)]
        own += ["--ladders", names]
        rows = [named(row, COUNTERS | MORE) for row in counted(own, tuple(MORE.values()))]
        return in_plan(json.loads(plan.read_text()), rows)


def in_plan(
    planned: Sequence[tuple[dict[str, Any], list[str]]], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of the kernels planned, each with its case; torch's kernels between them, as for a copy, are left out.

    Raises `RuntimeError` if a planned kernel is not among the rows, in the order of the plan.
    """
    found, rest = [], iter(rows)
    for case, kernels in planned:
        for kernel in kernels:
            row = next((row for row in rest if _base(row["kernel"]) == kernel), None)
            if row is None:
                raise RuntimeError(f"{kernel} of {case['operator']} was planned, and ncu did not count it")
            found.append(case | row)
    return found


def _base(kernel: str) -> str:
    return kernel.split("<")[0].removeprefix("void ")


def group_of(number: int, names: str) -> tuple[Ladder, ...]:
    """Every `GROUPS`-th ladder of those named; of all if there are no names."""
    wanted = names.split(",") if names else [ladder.name for ladder in LADDERS]
    return tuple(ladder for ladder in LADDERS if ladder.name in wanted)[number::GROUPS]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library.counters", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/ladder_counters.json"))
    parser.add_argument("--seconds", type=float, default=600.0, help="no group is begun afterwards")
    parser.add_argument("--ladders", default="", help="the names of ladders, instead of all: matmul,matmul_half")
    parser.add_argument("--group", type=int, help="run this group: what ncu starts")
    parser.add_argument("--plan", type=Path)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("library.counters: torch sees no GPU")
    if arguments.group is not None:
        run_group(group_of(arguments.group, arguments.ladders), arguments.plan)
        return
    begun = time.perf_counter()
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": []}
    for number in range(GROUPS):
        if not group_of(number, arguments.ladders):
            continue
        if time.perf_counter() - begun > arguments.seconds:
            figures.setdefault("left_out", []).extend(ladder.name for ladder in group_of(number, arguments.ladders))
            continue
        try:
            figures["rows"] += count_group(number, arguments.ladders)
        except (SystemExit, RuntimeError) as error:  # one group must not cost the others
            figures.setdefault("errors", []).append(f"group {number}: {error}")
            print(figures["errors"][-1], flush=True)
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(records.text(figures))
        print(f"group {number}: {len(figures['rows'])} rows, {time.perf_counter() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
