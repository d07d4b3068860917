"""Benchmark of the operator library: `python -m benchmarks.gpu.library --out FILE.json`.

Times every version of every ladder beside torch and torch.compile (`rotating` describes the method), other launch
shapes of the fastest versions, and the CPU time of eager calls. An error of one contender is written into its row. The
file is written after each case; cases that do not fit into `--seconds` are written down as left out.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.compiling import compile_all, compile_peers, compiled_peer
from benchmarks.gpu.library.other_libraries import LIGER_OPERATORS, liger_operator, time_cub
from benchmarks.gpu.library.shapes import (
    LYING,
    Case,
    arrays_of,
    backward_cases,
    batch_product_cases,
    cases,
    fused_product_cases,
    half_product_cases,
    inputs_for,
    problem_of,
    product_cases,
    shapes_of,
    sparse_product_cases,
    tensor_product_cases,
)
from cuda_ops.library import peers, records
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import BFLOAT16, FLOAT16, FLOAT32, Ladder, Problem
from cuda_ops.library.matmul_sparse.ladder import MATMUL_SPARSE
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.run import prepare
from cuda_ops.runtime.gpu import launcher

ROTATED_BYTES = 512 << 20
"""The inputs and results of all sets together have at least this many bytes: ten times the L2 cache."""
COMPILERS_MAX = 24
PEER_COMPILERS = 8
"""Processes that compile torch's operators at once; each holds the arrays of a case."""


def machine() -> dict[str, Any]:
    """The GPU and the versions with which the figures are measured."""
    from cuda.bindings import driver

    properties = torch.cuda.get_device_properties(0)
    names = ("torch", "triton", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc", "cupy-cuda13x", "liger-kernel")
    return {
        "gpu": properties.name,
        "gpu_uuid": str(properties.uuid),
        "processors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "driver": int(driver.cuDriverGetVersion()[1]),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        **{name: _version_of(name) for name in names},
    }


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@dataclass(slots=True)
class Bench:
    """Collects rows, and writes them to a file after each case."""

    path: Path
    seconds: float
    figures: dict[str, Any]
    begun: float

    def has_time(self) -> bool:
        return time.perf_counter() - self.begun < self.seconds

    def add(self, part: str, row: dict[str, Any]) -> None:
        self.figures.setdefault(part, []).append(row)

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(records.text(self.figures))

    def guard(self, title: str, work: Callable[[], None]) -> None:
        """Do `work` if there is time; an error becomes a row of `errors`."""
        if not self.has_time():
            self.add("left_out", {"case": title})
            return
        try:
            work()
        except Exception as error:  # noqa: BLE001 - one case must not cost the others
            self.add("errors", {"case": title, "error": rotating.reason(error)})
            print(f"{title}: {rotating.reason(error)}", flush=True)
        torch.cuda.empty_cache()
        self.save()


def sets_of(case: Case) -> int:
    """The number of buffer sets that rotate."""
    moved = case.ladder.moved_bytes(problem_of(case))
    return max(2, min(32, -(-ROTATED_BYTES // moved)))


def time_case(bench: Bench, case: Case, part: str) -> None:
    """Time our versions beside torch ("rows"), or the default one beside one more peer ("compiled", "liger")."""
    problem = problem_of(case)
    sets = [inputs_for(case, seed) for seed in range(sets_of(case))]
    ours = OPERATORS[case.ladder.name]
    contenders: dict[str, rotating.Call] = {}
    for version in case.ladder.versions:
        is_wanted = (part == "rows" and not case.is_brief) or version == case.ladder.choose(problem)
        if version.can_run(problem) and is_wanted and version.number not in case.left_out:
            contenders[f"v{version.number}"] = _on(sets, ours, {"version": version.number})
    more = _for_torch(case, sets)
    contenders["torch"] = _on(more, peers.TORCH[case.ladder.name], {})
    if case.ladder is MATMUL_SPARSE:
        contenders |= sparse_peers(case, more)
    if part == "liger":
        contenders["liger"] = _on(sets, liger_operator(case.ladder.name), {})
    if part == "compiled":
        torch.compiler.reset()
        contenders["torch.compile"] = _on(more, compiled_peer(case.ladder), {})
    times = rotating.in_turn(contenders, len(sets), is_eager=not case.ladder.is_product)
    for name, one in times.items():
        row = case.named() | {"contender": name} | _rates(case, one.median_us) | asdict(one)
        bench.add(part, row | {"sets": len(sets)} | rotating.clocks())
    summary = ", ".join(
        f"{name} {case.ladder.rate(problem, one.median_us):.2f}" if one.median_us else f"{name} {one.error}"
        for name, one in times.items()
    )
    print(f"{case.title()}: {case.ladder.unit} {summary}", flush=True)


def _for_torch(case: Case, sets: list[Any]) -> list[Any]:
    """The arguments of torch's operator."""
    return [[*inputs, *peers.more_for(case.ladder.name, inputs)] for inputs in sets]


def sparse_peers(case: Case, sets: list[Any]) -> dict[str, rotating.Call]:
    """Our product of the dense matrix, and cuSPARSELt's of the sparse one, in torch."""
    found = {"matmul_half": _on([[dense, b] for _, b, dense in sets], OPERATORS["matmul_half"], {})}
    try:
        made = [[torch.sparse.SparseSemiStructuredTensorCUSPARSELT.from_dense(dense), b] for _, b, dense in sets]
    except (AttributeError, RuntimeError, NotImplementedError, ValueError) as error:
        print(f"{case.title()}: cuSPARSELt: {rotating.reason(error)}", flush=True)
        return found
    return found | {"cuSPARSELt": _on(made, torch.mm, {})}


SUSTAINED_S = 2.0
"""For which a contender runs on end."""


def sustain_case(bench: Bench, case: Case) -> None:
    """The rates of the default version and of torch, each for seconds on end, twice in turn, with clocks and power."""
    sets = [inputs_for(case, seed) for seed in range(sets_of(case))]
    ours = OPERATORS[case.ladder.name]
    more = _for_torch(case, sets)
    contenders = {"ours": _on(sets, ours, {}), "torch": _on(more, peers.TORCH[case.ladder.name], {})}
    for name, time_us, clocks in rotating.on_end(contenders, len(sets), SUSTAINED_S):
        row = case.named() | {"contender": name} | _rates(case, time_us) | clocks
        bench.add("sustained", row)
        print(f"{case.title()} on end: {row}", flush=True)


def _rates(case: Case, median_us: float | None) -> dict[str, float | None]:
    """The bytes that the operator moves in a second, and what it computes if it is a product."""
    if median_us is None:
        return {"tb_per_s": None}
    problem = problem_of(case)
    moved = case.ladder.moved_bytes(problem)
    if case.ladder.is_product:
        rate = round(case.ladder.rate(problem, median_us), 2)
        return {"tb_per_s": round(moved / median_us / 1e6, 6), "tflop_per_s": rate}
    return {"tb_per_s": _per_s(moved, median_us)}


def _per_s(moved: int, median_us: float) -> float:
    return round(moved / median_us / 1e6, 3)


def _on(sets: list[Any], operator: Callable[..., Any], options: dict[str, Any]) -> rotating.Call:
    return lambda i: operator(*sets[i], **options)


def sweep_case(bench: Bench, case: Case) -> None:
    """Time other launch shapes of the fastest version, if they give the default version's results but for rounding."""
    problem = problem_of(case)
    sets = [inputs_for(case, seed) for seed in range(sets_of(case))]
    made = OPERATORS[case.ladder.name](*sets[0])
    wanted = made if isinstance(made, tuple) else (made,)
    contenders = {}
    for shape in shapes_of(case.ladder, problem):
        kernels = launcher(case.ladder.source(shape.version), 0, shape.version.fused_multiply_add)
        call = _direct(case, sets, kernels, shape.launch, problem)
        try:
            difference = _difference(case, call(0, float("nan")), wanted)
        except Exception as error:  # noqa: BLE001 - a shape that cannot run is written down as such
            bench.add(
                "sweep", case.named() | {"shape": shape.title, "median_us": None, "error": rotating.reason(error)}
            )
            continue
        if difference <= DIFFERENCE_MAX[case.element]:
            contenders[shape.title] = call
        else:
            text = f"differs from the default version by {difference:.3g}"
            bench.add("sweep", case.named() | {"shape": shape.title, "median_us": None, "error": text})
            print(f"{case.title()}, {shape.title}: {text}", flush=True)
    for title, one in rotating.in_turn(contenders, len(sets), is_eager=False).items():
        row = case.named() | {"shape": title} | _rates(case, one.median_us)
        bench.add("sweep", row | {"median_us": one.median_us, "error": one.error})


DIFFERENCE_MAX = {FLOAT32: 1e-5, FLOAT16: 1e-3, BFLOAT16: 8e-3}
"""Of the norm of a result, relative to it: another order of sums, and for half precision another rounding."""


def _difference(case: Case, named: dict[str, Any], wanted: Sequence[torch.Tensor]) -> float:
    """The norm of the difference of results, relative to the norm: the largest of all results; NaN where one is NaN.

    A sum of random numbers is nearly nothing beside its terms: of a single number only NaN counts.
    """
    off = []
    for name, exact in zip(case.ladder.results, wanted, strict=True):
        found, expected = named[name].reshape(-1).float(), exact.reshape(-1).float()
        difference = float((found - expected).norm() / expected.norm())
        off.append(0.0 if found.numel() == 1 and difference == difference else difference)
    return float("nan") if any(value != value for value in off) else max(off)


def _direct(case: Case, sets: list[Any], kernels: Any, launch: Any, problem: Problem) -> Callable[..., Any]:
    ladder = case.ladder

    def call(i: int, fill: float | None = None) -> Any:
        inputs = arrays_of(sets[i])
        named = dict(zip(ladder.inputs, inputs, strict=False))
        named |= {name: inputs[0].new_empty(count(problem)) for name, count in ladder.results.items()}
        if fill is not None:
            for name in ladder.results:
                named[name].fill_(fill)
        named |= {
            name: torch.empty(size(problem) // 8, dtype=torch.float64, device="cuda")
            for name, size in ladder.scratch.items()
        }
        launch(kernels, problem, [named.get(name) for name in ladder.arrays])
        return named

    return call


def time_copy(bench: Bench) -> None:
    """The rate at which torch copies 1 GB: read and write."""
    sources = [torch.randn(1 << 28, device="cuda") for _ in range(2)]
    targets = [torch.empty_like(source) for source in sources]
    one = rotating.in_turn({"copy": lambda i: targets[i].copy_(sources[i])}, 2, is_eager=False)["copy"]
    bench.figures["copy"] = asdict(one) | {"tb_per_s": _per_s(2 << 30, one.median_us or 0.0)}


def time_calls(bench: Bench) -> None:
    """CPU time of eager calls on tensors of 1,024 elements, ours and torch's, and of a launch by the driver alone."""
    for ladder in LADDERS:
        inputs = inputs_for(small_case(ladder), 0)
        more = [*inputs, *peers.more_for(ladder.name, inputs)]
        ours, peer = OPERATORS[ladder.name], peers.TORCH[ladder.name]
        row = {"operator": ladder.name, "ours_us": rotating.cpu_us(lambda: ours(*inputs))}  # noqa: B023 - called here
        row["torch_us"] = rotating.cpu_us(lambda: peer(*more))  # noqa: B023
        row["ours_again_us"] = rotating.cpu_us(lambda: ours(*inputs))  # noqa: B023
        bench.add("cpu_time", row)
        print(f"CPU time of {ladder.name}: {row}", flush=True)
    relu = next(ladder for ladder in LADDERS if ladder.name == "relu")
    x = torch.randn(1024, device="cuda")
    addresses = [x.data_ptr(), torch.empty_like(x).data_ptr()]
    start = prepare(relu, 0, torch.float32, 1, 1024, 0, 0, 0.0, ())
    bench.add("cpu_time", {"operator": "launch alone", "ours_us": rotating.cpu_us(lambda: start(*addresses))})
    bench.add("cpu_time", {"operator": "empty_like alone", "ours_us": rotating.cpu_us(lambda: torch.empty_like(x))})


def small_case(ladder: Ladder) -> Case:
    """1,024 elements, or a product of matrices of as many."""
    element = ladder.elements[0]
    if ladder.is_product:
        return Case(ladder, element, 32, 32, depth=32, transposed=LYING.get(ladder.name, ""))
    return Case(ladder, element, 1, 1024)


PARTS = ("cpu", "forward", "sustained", "sweep", "cub", "compiled")
"""What is measured by default: CPU times, all cases, some for seconds, other launch shapes, CUB, torch.compile."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/ladders.json"))
    parser.add_argument("--seconds", type=float, default=140.0)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--backward", action="store_true", help="the gradients instead of the operators")
    kind.add_argument(
        "--products", action="store_true", help="the products of float32 matrices instead of the operators"
    )
    kind.add_argument("--half-products", action="store_true", help="the products of half-precision matrices")
    kind.add_argument("--tensor-products", action="store_true", help="those of TF32, in parts, and of 8-bit matrices")
    kind.add_argument("--sparse-products", action="store_true", help="those of 2:4 sparse matrices")
    kind.add_argument("--batch-products", action="store_true", help="batches of products, with factors")
    kind.add_argument("--fused-products", action="store_true", help="those with what follows them in one kernel")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}, liger")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.gpu.library: torch sees no GPU")
    torch.use_deterministic_algorithms(False)
    bench = Bench(arguments.out, arguments.seconds, {"machine": machine()}, time.perf_counter())
    bench.save()
    measure(bench, list(_chosen(arguments)()), arguments.parts.split(","))
    bench.figures["took_s"] = round(time.perf_counter() - bench.begun, 1)
    bench.save()
    print(f"took {bench.figures['took_s']} s; {arguments.out}")


def _chosen(arguments: argparse.Namespace) -> Callable[[], Iterator[Case]]:
    if arguments.backward:
        return backward_cases
    if arguments.products:
        return product_cases
    if arguments.batch_products:
        return batch_product_cases
    if arguments.fused_products:
        return fused_product_cases
    if arguments.tensor_products:
        return tensor_product_cases
    if arguments.sparse_products:
        return sparse_product_cases
    return half_product_cases if arguments.half_products else cases


def measure(bench: Bench, chosen: list[Case], parts: list[str]) -> None:
    """Measure the `parts` of the chosen cases, as far as the time goes."""
    compilers = max(1, min(COMPILERS_MAX, (os.cpu_count() or 2) - 2))
    needed = [case for case in chosen if is_measured(case, parts)]
    bench.guard("compile", lambda: compile_all(needed, compilers, has_shapes="sweep" in parts))
    bench.guard("copy", lambda: time_copy(bench))
    if "cpu" in parts:
        bench.guard("CPU time", lambda: time_calls(bench))
    if "cub" in parts:
        bench.guard("CUB", lambda: time_cub(bench))
    for case in chosen if "forward" in parts else []:
        bench.guard(case.title(), lambda: time_case(bench, case, "rows"))  # noqa: B023 - called here
    for case in chosen if "sustained" in parts else []:
        if case.is_sustained:
            bench.guard(f"on end {case.title()}", lambda: sustain_case(bench, case))  # noqa: B023
    for case in chosen if "sweep" in parts else []:
        if case.is_swept:
            bench.guard(f"shapes of {case.title()}", lambda: sweep_case(bench, case))  # noqa: B023
    if "compiled" in parts:
        bench.guard("compile peers", lambda: compile_peers(chosen, PEER_COMPILERS))
    for case in chosen if "compiled" in parts else []:
        bench.guard(f"compiled {case.title()}", lambda: time_case(bench, case, "compiled"))  # noqa: B023
    for case in chosen if "liger" in parts else []:
        if case.ladder.name in LIGER_OPERATORS:
            bench.guard(f"liger {case.title()}", lambda: time_case(bench, case, "liger"))  # noqa: B023


def is_measured(case: Case, parts: list[str]) -> bool:
    """Whether any of the parts runs this case: then its kernels are compiled beforehand."""
    return (
        "forward" in parts
        or "compiled" in parts
        or ("sustained" in parts and case.is_sustained)
        or ("sweep" in parts and case.is_swept)
        or ("liger" in parts and case.ladder.name in LIGER_OPERATORS)
    )


if __name__ == "__main__":
    main()
