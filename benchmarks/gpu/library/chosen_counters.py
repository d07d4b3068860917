"""Nsight Compute's counters of chosen sizes: `python -m benchmarks.gpu.library.chosen_counters --out FILE`.

`counters` counts every version at one size. This counts convolutions, whose bytes and operations the page of the
roofline derives, and sizes at which an operator misses its goal; a product and a convolution beside torch's kernels.
It runs itself under ncu, which must be installed, with caches flushed before each kernel and clocks as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from benchmarks.gpu.counters import COUNTERS, counted, named, number_of
from benchmarks.gpu.library.compiling import compiled_peer
from benchmarks.gpu.library.counters import MORE
from benchmarks.gpu.library.shapes import Case, inputs_for, problem_of
from cuda_ops.library import peers, records
from cuda_ops.library.activation.ladder import SIGMOID
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.convolve.op import convolve
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Version
from cuda_ops.library.matmul_half.ladder import MATMUL_HALF
from cuda_ops.library.matmul_quantized.ladder import MATMUL_FP8
from cuda_ops.library.matmul_rows.ladder import MATMUL_LAYER_NORM, MATMUL_SOFTMAX
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.norm_softmax.ladder import LAYER_NORM_SOFTMAX
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.recorder import record
from cuda_ops.library.reduce.ladder import DOT, SUM
from cuda_ops.library.roofline_convolutions import NAMES
from cuda_ops.library.roofline_convolutions import problem_of as product_of
from cuda_ops.library.softmax_backward.ladder import LOG_SOFTMAX_BACKWARD, SOFTMAX_BACKWARD

CONVOLUTIONS = (
    *((16, 64, 160, 160, 64, taps) for taps in (1, 3, 5)),
    (16, 512, 20, 20, 512, 3),
    (16, 256, 40, 40, 256, 3),
)
"""Pictures, channels, height, width, channels of the result, and taps in a row."""
FP8 = MATMUL_FP8.elements[0]
PRODUCTS = (
    Case(MATMUL_HALF, BFLOAT16, 16, 4096, depth=4096),
    Case(MATMUL_HALF, BFLOAT16, 64, 4096, depth=4096),
    Case(MATMUL_SOFTMAX, BFLOAT16, 4096, 4096, depth=128),
    Case(MATMUL_LAYER_NORM, BFLOAT16, 4096, 4096, depth=1024),
    Case(MATMUL_HALF, BFLOAT16, 512, 512, depth=16384),
    Case(MATMUL_HALF, BFLOAT16, 4096, 128, depth=4096),
    Case(MATMUL_HALF, BFLOAT16, 3072, 768, depth=3072),
    Case(MATMUL_HALF, BFLOAT16, 1536, 1536, depth=1536),
    Case(MATMUL_HALF, BFLOAT16, 1032, 2056, depth=4104),
    Case(MATMUL_FP8, FP8, 4096, 4096, depth=4096, transposed="b"),
    Case(MATMUL_SPARSE, BFLOAT16, 8192, 8192, depth=8192),
)
FLAT = (Case(SIGMOID, BFLOAT16, 1, 1 << 28),)
"""Counted in both versions with packs, beside torch and torch.compile."""
ROWS = (
    Case(SUM, FLOAT32, 1, 1 << 30),
    Case(DOT, FLOAT32, 1, 1 << 30),
    Case(LAYER_NORM_SOFTMAX, BFLOAT16, 131072, 1024),
    Case(LAYER_NORM_SOFTMAX, FLOAT32, 4096, 16384),
    Case(LAYER_NORM_SOFTMAX, BFLOAT16, 8192, 16384),
    Case(LAYER_NORM_SOFTMAX, FLOAT32, 512, 131072),
    Case(LAYER_NORM_SOFTMAX, BFLOAT16, 1024, 131072),
    Case(SOFTMAX_BACKWARD, BFLOAT16, 4096, 32768),
    Case(LOG_SOFTMAX_BACKWARD, BFLOAT16, 4096, 32768),
    Case(LAYER_NORM, BFLOAT16, 131072, 1024),
    Case(RMS_NORM, BFLOAT16, 131072, 1024),
)
SECTIONS = ("SpeedOfLight", "Occupancy", "WarpStateStats", "SchedulerStats", "LaunchStats", "ComputeWorkloadAnalysis")
TENSOR = "SpeedOfLight_HierarchicalTensorRooflineChart"
"""A section with the operations of the tensor cores; where ncu does not know it, they are not counted."""
TENSOR_BUSY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
OPERATIONS = re.compile(r"sm__ops_path_tensor_\w+\.sum")
METRICS = (*(name for name in COUNTERS.values() if not name.startswith("launch__")), *MORE.values())


@dataclass(frozen=True, slots=True)
class Planned:
    """A call that was counted: what it is, and the names of its kernels if they are ours."""

    named: dict[str, Any]
    kernels: tuple[str, ...] = ()


Call = tuple[Planned, Callable[[], Any]]


def calls(operators: Sequence[str] = ()) -> Iterator[Call]:
    """What is counted, in order, of the operators named or of all: torch's calls follow ours at the same size."""
    for case in (case for case in FLAT if not operators or case.ladder.name in operators):
        inputs = inputs_for(case, 0)
        *_, vector, tile = case.ladder.versions
        yield our_call(case, inputs, vector)
        yield _torchs(case, inputs)
        yield our_call(case, inputs, tile)  # a kernel of ours ends torch's
        compiled = compiled_peer(case.ladder)
        yield Planned(case.named() | {"contender": "torch.compile"}), lambda: compiled(*inputs)  # noqa: B023
    for sizes in CONVOLUTIONS if not operators or CONVOLVE.name in operators else ():
        yield from convolution_calls(dict(zip(NAMES, sizes, strict=True)))
    for case in (case for case in (*PRODUCTS, *ROWS) if not operators or case.ladder.name in operators):
        inputs = inputs_for(case, 0)
        yield our_call(case, inputs, case.ladder.choose(problem_of(case)))
        if case.ladder.is_product:
            yield _torchs(case, inputs)


def _torchs(case: Case, inputs: list[Any]) -> Call:
    more = [*inputs, *peers.more_for(case.ladder.name, inputs)]
    return Planned(case.named() | {"contender": "torch"}), lambda: peers.TORCH[case.ladder.name](*more)


def our_call(case: Case, inputs: list[Any], version: Version) -> Call:
    """A version of ours, with the bytes that it has to move."""
    problem = problem_of(case)
    kernels = tuple(base(launch.kernel) for launch in record(case.ladder, version, problem))
    row = case.named() | {"contender": f"v{version.number}", "fewest_bytes": case.ladder.moved_bytes(problem)}
    return Planned(row, kernels), lambda: OPERATORS[case.ladder.name](*inputs, version=version.number)


def convolution_calls(sizes: dict[str, int]) -> Iterator[Call]:
    """Our convolution without a matrix of windows, then cuDNN's; both without a bias."""
    x, weight = (
        torch.randn(shape, device="cuda").bfloat16().contiguous(memory_format=torch.channels_last)
        for shape in (
            (sizes["pictures"], sizes["channels"], sizes["height"], sizes["width"]),
            (sizes["columns"], sizes["channels"], sizes["taps"], sizes["taps"]),
        )
    )
    problem, version = product_of(sizes), CONVOLVE.versions[1]
    kernels = tuple(base(launch.kernel) for launch in record(CONVOLVE, version, problem))
    row = {"operator": CONVOLVE.name, "element": "bfloat16"} | sizes
    row |= {"fewest_bytes": CONVOLVE.moved_bytes(problem), "operations": CONVOLVE.operations(problem)}
    yield (
        Planned(row | {"contender": f"v{version.number}"}, kernels),
        lambda: convolve(x, weight, version=version.number),
    )
    yield (
        Planned(row | {"contender": "cudnn"}),
        lambda: functional.conv2d(x, weight, padding=sizes["taps"] // 2),
    )


def base(kernel: str) -> str:
    """The name of a kernel without its template's arguments."""
    return kernel.split("(")[0].removeprefix("void ").split("<")[0].strip()


def assigned(planned: Sequence[Planned], raw: Sequence[dict[str, Any]]) -> list[tuple[Planned, dict[str, Any]]]:
    """Each launch with the call that made it.

    A call of ours ends with its last kernel. How many launches torch's call makes is not known: it ends where the next
    kernel of ours begins. Raises `RuntimeError` if a kernel of ours is missing.
    """
    found, at = [], 0
    for number, one in enumerate(planned):
        until = at
        for kernel in one.kernels:
            while until < len(raw) and base(raw[until]["Kernel Name"]) != kernel:
                until += 1
            until += 1
        if not one.kernels:
            later = [kernel for after in planned[number + 1 :] for kernel in after.kernels[:1]][:1]
            while until < len(raw) and base(raw[until]["Kernel Name"]) not in later:
                until += 1
        if until > len(raw) or until == at:
            raise RuntimeError(f"{one.named}: no launch among {[base(row['Kernel Name']) for row in raw[at:]]}")
        found += [(one, row) for row in raw[at:until]]
        at = until
    return found


def run_all(plan: Path, seconds: float, made: Iterable[Call]) -> None:
    """Run each call once between the profiler's start and stop while there is time; write down what was run."""
    torch.backends.cudnn.benchmark = True
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # ncu would wait for the processes that compile
    begun = time.perf_counter()
    planned: list[Planned] = []
    left_out: list[str] = []

    def write() -> None:
        done = [(one.named, one.kernels) for one in planned]
        plan.write_text(json.dumps({"calls": done, "left_out": left_out}))

    for one, call in made:
        if time.perf_counter() - begun > seconds:
            left_out.append(f"{one.named}, and what comes after it")
            write()
            break
        try:
            for _ in range(2):
                call()
            torch.cuda.synchronize()
        except Exception as error:  # noqa: BLE001 - one call must not cost the others
            print(f"{one.named}: {error}", flush=True)
            continue
        torch.cuda.cudart().cudaProfilerStart()
        call()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        torch.cuda.empty_cache()  # ncu saves what the process holds before it repeats a launch
        planned.append(one)
        write()


Launches = list[tuple[Planned, dict[str, Any]]]
"""Each launch that was counted: the call that made it, and its raw counters."""


def launches_of(
    module: str, options: Sequence[str], metrics: Sequence[str], sections: Sequence[str]
) -> tuple[Launches, list[str]]:
    """What `module` launches under ncu when it gets `--plan` and the options; and what it had no time for."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        raw = counted([sys.executable, "-m", module, "--plan", str(plan), *options], metrics, sections)
        written = json.loads(plan.read_text())
        planned = [Planned(row, tuple(kernels)) for row, kernels in written["calls"]]
    try:
        found = assigned(planned, raw)
    except RuntimeError as error:  # what was counted is worth keeping
        print(error, flush=True)
        found = [(Planned({"contender": "not assigned"}), row) for row in raw]
    return found, written["left_out"]


def count_all(seconds: float, sections: Sequence[str], operators: str) -> dict[str, Any]:
    """One row per launch, and what was left out because the time was over."""
    options = ["--seconds", str(seconds), "--operators", operators]
    found, left_out = launches_of("benchmarks.gpu.library.chosen_counters", options, METRICS, sections)
    rows = with_all_names([one.named | named(row, COUNTERS | MORE) | tensor_counters(row) for one, row in found])
    return {"rows": rows} | ({"left_out": left_out} if left_out else {})


def tensor_counters(row: dict[str, Any]) -> dict[str, Any]:
    """How busy the tensor cores were, and how many operations they did; zero where ncu counted none.

    ncu counts an operation by its instruction and once more by its types. The greatest of these sums is taken.
    """
    sums = [number_of(value) for name, value in row.items() if OPERATIONS.fullmatch(name)]
    return {
        "tensor_percent_of_peak": number_of(row.get(TENSOR_BUSY, "")),
        "tensor_operations": int(max(sums, default=0.0)),
    }


def with_all_names(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row with the names of all rows, so that they make one table; None is what a row does not have."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library.chosen_counters", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/chosen_counters.json"))
    parser.add_argument("--seconds", type=float, default=300.0, help="no further size is begun afterwards")
    parser.add_argument("--operators", default="", help="the names of operators, instead of all: sigmoid,matmul_half")
    parser.add_argument("--plan", type=Path, help="run the calls, and write them to this file: what ncu starts")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("library.chosen_counters: torch sees no GPU")
    if arguments.plan is not None:
        names = [name for name in arguments.operators.split(",") if name]
        run_all(arguments.plan, arguments.seconds, calls(names))
        return
    try:
        counts = count_all(arguments.seconds, (*SECTIONS, TENSOR), arguments.operators)
    except SystemExit as error:
        print(f"without {TENSOR}: {error}", flush=True)
        counts = count_all(arguments.seconds, SECTIONS, arguments.operators)
    figures = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__} | counts
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(records.text(figures))
    print(f"{len(counts['rows'])} launches; {arguments.out}")


if __name__ == "__main__":
    main()
