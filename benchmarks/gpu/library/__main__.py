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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.effort import share
from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.compiling import compile_all, compile_peers, compiled_peer, compilers, pool_of
from benchmarks.gpu.library.other_libraries import PEER_OPERATORS, is_installed, peer_operator, time_cub
from benchmarks.gpu.library.shapes import (
    LYING,
    Case,
    Shape,
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


def machine() -> dict[str, Any]:
    """The GPU and the versions with which the figures are measured; `nvrtc` is the one that compiles."""
    from cuda.bindings import driver, nvrtc

    properties = torch.cuda.get_device_properties(0)
    names: tuple[str, ...] = (
        "torch",
        "triton",
        "cuda-core",
        "cuda-bindings",
        "nvidia-cuda-nvrtc",
        "cupy-cuda13x",
        "liger-kernel",
    )
    names += ("quack-kernels",) if is_installed("quack") else ()
    return {
        "gpu": properties.name,
        "gpu_uuid": str(properties.uuid),
        "processors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "driver": int(driver.cuDriverGetVersion()[1]),
        "nvrtc": ".".join(str(number) for number in nvrtc.nvrtcVersion()[1:]),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        **{name: _version_of(name) for name in names},
        "effort": share(),
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
    end: float
    """When nothing new is begun, by `time.perf_counter`."""
    figures: dict[str, Any]

    def has_time(self) -> bool:
        return time.perf_counter() < self.end

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

    def took(self, seconds: float) -> None:
        """Say how long it took, with what it took before, and how many cases were left out."""
        self.figures["took_s"] = round(self.figures.get("took_s", 0.0) + seconds, 1)
        self.save()
        left_out = len(self.figures.get("left_out", []))
        print(f"took {self.figures['took_s']} s, {left_out} cases left out; {self.path}", flush=True)


def sets_of(case: Case) -> int:
    """The number of buffer sets that rotate."""
    moved = case.ladder.moved_bytes(problem_of(case))
    return max(2, min(32, -(-ROTATED_BYTES // moved)))


def time_case(bench: Bench, case: Case, part: str) -> None:
    """Time our versions beside torch ("rows"), or the default one beside one more peer ("compiled", "liger", ...)."""
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
    if part in OTHER_LIBRARIES:
        contenders[part] = _on(sets, peer_operator(part, case.ladder.name), {})
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
        call = _direct(case, sets, kernels, shape, problem)
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


def _direct(case: Case, sets: list[Any], kernels: Any, shape: Shape, problem: Problem) -> Callable[..., Any]:
    ladder, more = case.ladder, {"partial": shape.partial_bytes}

    def call(i: int, fill: float | None = None) -> Any:
        inputs = arrays_of(sets[i])
        named = dict(zip(ladder.inputs, inputs, strict=False))
        named |= {name: inputs[0].new_empty(count(problem)) for name, count in ladder.results.items()}
        if fill is not None:
            for name in ladder.results:
                named[name].fill_(fill)
        named |= {
            name: torch.empty(max(size(problem), more.get(name, 0)) // 8, dtype=torch.float64, device="cuda")
            for name, size in ladder.scratch.items()
        }
        shape.launch(kernels, problem, [named.get(name) for name in ladder.arrays])
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


PARTS = ("cpu", "forward", "sustained", "cub", "compiled", "sweep")
"""What is measured by default: CPU times, all cases, some for seconds, CUB, torch.compile, other launch shapes."""
OTHER_LIBRARIES = ("liger", "quack")


@dataclass(frozen=True, slots=True)
class Kind:
    """Cases that are measured together."""

    cases: Callable[[], Iterator[Case]]
    parts: tuple[str, ...]
    file: str
    """Its record, where all kinds are measured."""


KINDS = {
    "half": Kind(half_product_cases, ("forward", "sustained", "sweep"), "ladders_half_products.json"),
    "products": Kind(product_cases, ("forward", "sweep"), "ladders_products.json"),
    "tensor": Kind(tensor_product_cases, ("forward", "sustained"), "ladders_tensor_products.json"),
    "fused": Kind(fused_product_cases, ("forward",), "ladders_fused_products.json"),
    "batch": Kind(batch_product_cases, ("forward",), "ladders_batch_products.json"),
    "sparse": Kind(sparse_product_cases, ("forward", "sustained", "sweep"), "ladders_sparse_products.json"),
    "forward": Kind(cases, ("cpu", "cub", "forward", "compiled", "sweep"), "ladders_forward.json"),
    "backward": Kind(backward_cases, ("forward", "compiled", "sweep"), "ladders_backward.json"),
    "liger": Kind(cases, ("liger",), "ladders_liger.json"),
    "quack": Kind(cases, ("quack",), "ladders_quack.json"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.library", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/ladders.json"))
    parser.add_argument("--seconds", type=float, default=140.0)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--backward", action="store_const", dest="kind", const="backward", help="the gradients")
    kind.add_argument("--products", action="store_const", dest="kind", const="products", help="float32 products")
    for name, what in (
        ("half", "the products of half-precision matrices"),
        ("tensor", "those of TF32, in parts, and of 8-bit matrices"),
        ("sparse", "those of 2:4 sparse matrices"),
        ("batch", "batches of products, with factors"),
        ("fused", "those with what follows them in one kernel"),
    ):
        kind.add_argument(f"--{name}-products", action="store_const", dest="kind", const=name, help=what)
    kind.add_argument(
        "--all", action="store_true", help="everything; then --out is a folder, and --seconds are shared out"
    )
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join((*PARTS, *OTHER_LIBRARIES))}")
    parser.add_argument("--operators", default="", help="only these, by name: softmax,rms_norm; not with --all")
    arguments = parser.parse_args()
    chosen = [case for case in KINDS[arguments.kind or "forward"].cases() if is_named(case.ladder, arguments.operators)]
    if not chosen or (arguments.all and arguments.operators):
        raise SystemExit(f"benchmarks.gpu.library: no case for --operators {arguments.operators}")
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.gpu.library: torch sees no GPU")
    torch.use_deterministic_algorithms(False)
    if arguments.all:
        measure_all(arguments.out, arguments.seconds)
        return
    begun = time.perf_counter()
    bench = Bench(arguments.out, begun + arguments.seconds, {"machine": machine()})
    bench.save()
    measure(bench, chosen, arguments.parts.split(","))
    bench.took(time.perf_counter() - begun)


def is_named(ladder: Ladder, names: str) -> bool:
    """Whether the operator is one of the names, which commas part; no names are all."""
    return not names or ladder.name in names.split(",")


STAGES = (("forward",), ("cpu", "cub", "compiled"), ("liger",), ("sweep",), ("sustained",), ("quack",))
"""What is measured of every kind before the next stage begins; the sweeps of products come first, being few."""


def measure_all(out: Path, seconds: float) -> None:
    """Measure every kind, stage after stage, as far as the time goes."""
    end = time.perf_counter() + seconds
    kinds = {name: kind for name, kind in KINDS.items() if name not in OTHER_LIBRARIES or is_installed(name)}
    benches = {name: Bench(out / kind.file, end, {"machine": machine()}) for name, kind in kinds.items()}
    chosen = {name: list(kind.cases()) for name, kind in kinds.items()}
    wanted = [case for name, kind in kinds.items() for case in chosen[name] if is_measured(case, kind.parts)]
    first = next(iter(benches.values()))
    with pool_of(compilers()) as pool:
        first.guard("compile", lambda: compile_all(wanted, pool, has_shapes=False))
        for stage in STAGES:
            here = {name: [part for part in kind.parts if part in stage] for name, kind in kinds.items()}
            if compiled := [peer for name in kinds for peer in peers_of(chosen[name], here[name])]:
                first.guard("compile peers", lambda: compile_peers(compiled))
            for name, parts in here.items():
                if parts:
                    begun = time.perf_counter()
                    measure_parts(benches[name], chosen[name], parts, pool)
                    benches[name].took(time.perf_counter() - begun)


SWEPT_AT_ONCE = 12
"""Cases whose launch shapes are compiled together."""


def measure(bench: Bench, chosen: list[Case], parts: Sequence[str]) -> None:
    """Measure the `parts` of the chosen cases, as far as the time goes."""
    needed = [case for case in chosen if is_measured(case, parts)]
    with pool_of(compilers()) as pool:
        bench.guard("compile", lambda: compile_all(needed, pool, has_shapes=False))
        if compiled := peers_of(chosen, parts):
            bench.guard("compile peers", lambda: compile_peers(compiled))
        measure_parts(bench, chosen, parts, pool)


def peers_of(chosen: list[Case], parts: Sequence[str]) -> list[tuple[str, Case]]:
    """Those peers that a call compiles, each with its case, as `compile_peers` takes them."""
    found = [("compiled", case) for case in chosen if "compiled" in parts]
    return found + [("quack", case) for case in chosen if "quack" in parts and case.ladder.name in PEER_OPERATORS]


def measure_parts(bench: Bench, chosen: list[Case], parts: Sequence[str], pool: ProcessPoolExecutor) -> None:
    """Measure the parts; the kernels have been compiled, but for those of other launch shapes."""
    if "copy" not in bench.figures:
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
    for part in ("compiled", *OTHER_LIBRARIES):
        for case in chosen if part in parts else []:
            if part == "compiled" or case.ladder.name in PEER_OPERATORS:
                bench.guard(f"{part} {case.title()}", lambda: time_case(bench, case, part))  # noqa: B023
    if "sweep" in parts:
        sweep(bench, chosen, pool)


def sweep(bench: Bench, chosen: list[Case], pool: ProcessPoolExecutor) -> None:
    """Other launch shapes of some cases, compiled some cases ahead, as far as the time goes."""
    swept = [case for case in chosen if case.is_swept]
    for first in range(0, len(swept), SWEPT_AT_ONCE):
        some = swept[first : first + SWEPT_AT_ONCE]
        bench.guard(f"compile shapes of {some[0].title()}", lambda: compile_all(some, pool))  # noqa: B023 - called here
        for case in some:
            bench.guard(f"shapes of {case.title()}", lambda: sweep_case(bench, case))  # noqa: B023


def is_measured(case: Case, parts: Sequence[str]) -> bool:
    """Whether any of the parts runs this case: then its kernels are compiled beforehand."""
    return (
        "forward" in parts
        or "compiled" in parts
        or ("sustained" in parts and case.is_sustained)
        or ("sweep" in parts and case.is_swept)
        or (any(part in parts for part in OTHER_LIBRARIES) and case.ladder.name in PEER_OPERATORS)
    )


if __name__ == "__main__":
    main()
