"""Nsight Compute's counters of version 6 on rows: `python -m benchmarks.gpu.library.row_counters --out FILE`.

Softmax, LayerNorm and RMSNorm of rows of 4k to 131k, each beside the peer that is fastest at its size, and ReLU of as
many bytes, which shows what the memory gives to a kernel that waits for nothing else. It runs itself under ncu, which
must be installed, one group of operators after the other, and writes the file after each. Caches are flushed before
each kernel; clocks are not locked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.counters import COUNTERS, named
from benchmarks.gpu.library.chosen_counters import (
    METRICS,
    SECTIONS,
    Call,
    Launches,
    Planned,
    launches_of,
    our_call,
    run_all,
    with_all_names,
)
from benchmarks.gpu.library.compiling import compile_all, compile_peers, compiled_peer, compilers, pool_of
from benchmarks.gpu.library.counters import MORE
from benchmarks.gpu.library.other_libraries import is_installed, peer_operator
from benchmarks.gpu.library.shapes import ROW_BYTES, Case, inputs_for, problem_of
from cuda_ops.library import peers, records
from cuda_ops.library.activation.ladder import RELU
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Element, Ladder
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.softmax.ladder import SOFTMAX

MODULE = "benchmarks.gpu.library.row_counters"
COMPILED = "compiled"


@dataclass(frozen=True, slots=True)
class Counted:
    """A size to count, and its peers, the fastest one first (docs/operators/runs/h200)."""

    case: Case
    peers: tuple[str, ...] = ()

    def peer(self) -> str:
        """The first peer that is installed; none if there are none."""
        return next((peer for peer in self.peers if peer == COMPILED or is_installed(peer)), "")


def _rows(ladder: Ladder, element: Element, columns: int, *peers_of_it: str) -> Counted:
    return Counted(Case(ladder, element, ROW_BYTES // element.size_bytes // columns, columns), (*peers_of_it, COMPILED))


CASES = (
    _rows(SOFTMAX, BFLOAT16, 131072, "quack"),
    _rows(SOFTMAX, BFLOAT16, 4096, "liger"),
    _rows(SOFTMAX, BFLOAT16, 32768, "quack"),
    _rows(SOFTMAX, FLOAT32, 131072, "quack"),
    _rows(SOFTMAX, FLOAT32, 4096, "liger"),
    _rows(SOFTMAX, FLOAT32, 32768, "quack"),
    *(Counted(Case(RELU, element, 1, ROW_BYTES // element.size_bytes)) for element in (FLOAT32, BFLOAT16)),
    _rows(RMS_NORM, BFLOAT16, 131072, "quack"),
    _rows(RMS_NORM, FLOAT32, 4096),
    _rows(RMS_NORM, BFLOAT16, 4096, "liger"),
    _rows(RMS_NORM, FLOAT32, 131072, "quack"),
    _rows(RMS_NORM, BFLOAT16, 32768),
    _rows(RMS_NORM, FLOAT32, 32768),
    _rows(LAYER_NORM, BFLOAT16, 131072),
    _rows(LAYER_NORM, FLOAT32, 4096),
    _rows(LAYER_NORM, BFLOAT16, 16384),
    _rows(LAYER_NORM, FLOAT32, 131072, "quack"),
    _rows(LAYER_NORM, BFLOAT16, 4096, "liger"),
    _rows(LAYER_NORM, FLOAT32, 16384, "quack"),
)
GROUPS = ((SOFTMAX.name,), (RELU.name, RMS_NORM.name), (LAYER_NORM.name,))
"""Operators that are counted by one run of ncu."""
TABLES = ("MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables")
SECTOR = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_"
OF_ROWS = {
    "cycles": "sm__cycles_elapsed.max",
    "active_cycles": "sm__cycles_active.avg",
    "active_cycles_least": "sm__cycles_active.min",
    "active_cycles_most": "sm__cycles_active.max",
    "l2_sectors_read": "lts__t_sectors_op_read.sum",
    "l2_sectors_read_hit": "lts__t_sectors_op_read_lookup_hit.sum",
    "l2_sectors_written": "lts__t_sectors_op_write.sum",
    "sectors_per_load": f"{SECTOR}ld.ratio",
    "sectors_per_store": f"{SECTOR}st.ratio",
    "shared_bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
"""Counted besides: which processors are idle at the end, what is read twice, and how well requests fill sectors."""
OF_SECTIONS = {
    "waves": "launch__waves_per_multiprocessor",
    "warps_possible_percent": "sm__maximum_warps_per_active_cycle_pct",
    "registers_allow_blocks": "launch__occupancy_limit_registers",
    "shared_memory_allows_blocks": "launch__occupancy_limit_shared_mem",
    "cluster_blocks": "launch__cluster_size",
    "clusters_at_once": "launch__cluster_max_active",
    "shared_bytes_static": "launch__shared_mem_per_block_static",
    "l2_requests_of_loads": "lts__t_requests_srcunit_tex_op_read.sum",
    "l2_sectors_of_loads": "lts__t_sectors_srcunit_tex_op_read.sum",
}
"""What ncu's sections hold, where it knows them."""
ATTEMPTS = (
    ((*METRICS, *OF_ROWS.values()), (*SECTIONS, *TABLES)),
    ((*METRICS, *OF_ROWS.values()), SECTIONS),
    (METRICS, SECTIONS),
)
"""Metrics and sections, the most first: ncu counts nothing if it does not know one of them."""


def chosen(operators: str, columns: str) -> list[Counted]:
    """The sizes of the operators and the lengths of row that are named; no names are all."""
    names, lengths = [name for name in operators.split(",") if name], [int(one) for one in columns.split(",") if one]
    return [
        one
        for one in CASES
        if (not names or one.case.ladder.name in names) and (not lengths or one.case.columns in lengths)
    ]


def calls(wanted: Sequence[Counted]) -> Iterator[Call]:
    """Version 6 at each size, then the peer there; of a flat operator the default version."""
    for one in wanted:
        case, inputs = one.case, inputs_for(one.case, 0)
        problem = problem_of(case)
        ahead = next((version for version in case.ladder.versions if version.name == "ahead"), None)
        yield our_call(case, inputs, ahead or case.ladder.choose(problem))
        if not (peer := one.peer()):
            continue
        more = [*inputs, *peers.more_for(case.ladder.name, inputs)] if peer == COMPILED else inputs
        operator = compiled_peer(case.ladder) if peer == COMPILED else peer_operator(peer, case.ladder.name)
        title = "torch.compile" if peer == COMPILED else peer
        planned = Planned(case.named() | {"contender": title, "fewest_bytes": case.ladder.moved_bytes(problem)})
        yield planned, lambda: operator(*more)  # noqa: B023 - called before the next size


def compile_ahead(wanted: Sequence[Counted]) -> None:
    """Compile our kernels and the peers, in many processes: under ncu they would be compiled one after the other."""
    with pool_of(compilers()) as pool:
        compile_all([one.case for one in wanted], pool, has_shapes=False)
    compile_peers([(one.peer(), one.case) for one in wanted if one.peer() in (COMPILED, "quack", "liger")])


def named_rows(found: Launches) -> list[dict[str, Any]]:
    """One row per launch by the names in the file, with all reasons for which warps wait."""
    return [one.named | named(row, COUNTERS | MORE | OF_ROWS | OF_SECTIONS, reasons=None) for one, row in found]


def count_all(wanted: Sequence[Counted], options: argparse.Namespace, end: float) -> None:
    """Count one group of operators after the other until `end` (`time.perf_counter`); write the file after each."""
    figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": []}
    raw: list[dict[str, Any]] = []
    attempts = list(ATTEMPTS)
    asked = {one.case.ladder.name for one in wanted}
    for name in [",".join(here) for group in GROUPS if (here := [name for name in group if name in asked])]:
        while (left_s := end - time.perf_counter()) > 0.0:
            ask = ["--seconds", f"{left_s:.0f}", "--operators", name, "--columns", options.columns]
            try:
                found, left_out = launches_of(MODULE, ask, *attempts[0])
            except (SystemExit, OSError) as error:  # ncu without a counter that it does not know, or no plan
                print(f"{name}: {error}", flush=True)
                if len(attempts) == 1:
                    figures.setdefault("errors", []).append(f"{name}: {error}")
                    break
                attempts.pop(0)
                continue
            figures["rows"] = with_all_names([*figures["rows"], *named_rows(found)])
            raw += [one.named | row for one, row in found]
            if left_out:
                figures.setdefault("left_out", []).extend(left_out)
            break
        else:
            figures.setdefault("left_out", []).append(name)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(records.text(figures))
        if options.raw is not None:
            options.raw.write_text(records.text({"rows": with_all_names(raw)}))
        print(f"{name}: {len(figures['rows'])} launches; {options.out}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/row_counters.json"))
    parser.add_argument("--raw", type=Path, help="write everything that ncu counted to this file, too")
    parser.add_argument("--seconds", type=float, default=120.0, help="no further size is begun afterwards")
    parser.add_argument("--operators", default="", help="only these, by name: softmax,rms_norm")
    parser.add_argument("--columns", default="", help="only rows of these lengths: 4096,131072")
    parser.add_argument("--plan", type=Path, help="run the calls, and write them to this file: what ncu starts")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    wanted = chosen(arguments.operators, arguments.columns)
    if not wanted:
        raise SystemExit("library.row_counters: no such operator, or no such length of row")
    if not torch.cuda.is_available():
        raise SystemExit("library.row_counters: torch sees no GPU")
    if arguments.plan is not None:
        run_all(arguments.plan, arguments.seconds, calls(wanted))
        return
    compile_ahead(wanted)
    print(f"compiled after {time.perf_counter() - begun:.0f} s", flush=True)
    count_all(wanted, arguments, begun + arguments.seconds)


if __name__ == "__main__":
    main()
