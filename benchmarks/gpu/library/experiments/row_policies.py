"""What makes a row operator fast at rows of 4k: `python -m benchmarks.gpu.library.experiments.row_policies`.

Kernels that differ in one thing (row_policies.cu) are timed as the library's benchmark does it (`rotating`), beside the
default version, other launch shapes of version 6, torch.compile's kernel, and ReLU of as many bytes: how many threads a
processor holds, whether a row stays in registers, and how it is loaded and stored. Each has to give the result in
float64 but for rounding before it is timed. The contenders take turns in another order in each repetition.

With `--counters FILE` nothing is timed: Nsight Compute counts some kernels, with the fastest ones in `--out`.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu.effort import repeats
from benchmarks.gpu.library import rotating
from benchmarks.gpu.library.__main__ import machine, sets_of
from benchmarks.gpu.library.chosen_counters import Call, Planned, base, launches_of, run_all, with_all_names
from benchmarks.gpu.library.compiling import compile_peers, compiled_peer, compilers, pool_of
from benchmarks.gpu.library.row_counters.__main__ import ATTEMPTS, named_rows
from benchmarks.gpu.library.shapes import ROW_BYTES, Case, inputs_for, problem_of
from cuda_ops.library import peers, recorder, records
from cuda_ops.library.activation.op import relu
from cuda_ops.library.ahead import Ahead
from cuda_ops.library.ladder import BFLOAT16, FLOAT32, PACK_BYTES, Element, Ladder, Launch, Problem
from cuda_ops.library.norm import ladder as norm
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.operators import OPERATORS
from cuda_ops.library.softmax import ladder as softmax
from cuda_ops.library.softmax.ladder import SOFTMAX
from cuda_ops.runtime.compiler import KernelSource, compile_instance
from cuda_ops.runtime.gpu import architecture_of, launcher
from cuda_ops.runtime.launcher import F32, Argument, Launcher, Ptr

MODULE = "benchmarks.gpu.library.experiments.row_policies"
SOURCE = "../benchmarks/gpu/library/experiments/row_policies"
COLUMNS = 4096
CASES = tuple(
    Case(ladder, element, ROW_BYTES // element.size_bytes // COLUMNS, COLUMNS)
    for ladder in (RMS_NORM, LAYER_NORM, SOFTMAX)
    for element in (FLOAT32, BFLOAT16)
)
REPEATS = repeats(5)
"""How often all contenders of a case are captured and timed, each time in another order."""
RESIDENT = (1024, 1536, 2048)
"""Threads that a processor holds at once; an H200's holds 2,048 at most."""
SHARED_BYTES = 222 << 10
"""Shared memory of a processor that blocks share out where it limits their number."""
ERROR_MAX = {FLOAT32: 1e-5, BFLOAT16: 3e-3}
"""Of a result against float64, relative to the largest magnitude in it; bfloat16 rounds to 2^-9."""
COUNTED_S = 40.0
"""After which no further kernel is counted."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A kernel of row_policies.cu, whose names of policies these are.

    * `threads`: of a block, which has one row; `resident`: threads for which the compiler limits the registers.
    * `again`: how a norm loads its row for the result; empty: the row stays in registers.
    * `weights`: when a norm loads its weights.
    * `held`: threads that a processor holds at once because of the shared memory that each block asks for; 0: no limit.
    """

    threads: int
    resident: int
    load: str = "ONCE"
    again: str = ""
    store: str = "STORE_PLAIN"
    weights: str = "EACH"
    held: int = 0

    def title(self) -> str:
        parts = [f"{self.threads} threads, {self.resident} resident", self.load, self.store, self.weights]
        parts += [f"again {self.again}"] if self.again else []
        return ", ".join(parts + ([f"held {self.held}"] if self.held else []))

    def launch(self, ladder: Ladder) -> Launch:
        """The launch rule."""

        def start(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
            vectors = problem.columns // problem.lanes // self.threads
            shape = (
                f"{problem.element.cuda}, {problem.lanes}, {vectors}, {self.threads}, {self.resident // self.threads}"
            )
            values: list[Argument] = [Ptr(array) for array in arrays]
            if ladder is SOFTMAX:
                kernel = f"softmax_policies<{shape}, {self.load}, {self.store}>"
            else:
                policies = f"{self.load}, {self.again or -1}, {self.store}, {self.weights}"
                kernel = f"norm_policies<{shape}, {policies}, {str(ladder is RMS_NORM).lower()}>"
                values.append(F32(problem.epsilon))
            shared_bytes = SHARED_BYTES * self.threads // self.held - 2048 if self.held else 0
            launcher.launch(kernel, (problem.rows, 1, 1), self.threads, values, shared_bytes=shared_bytes)

        return start


@dataclass(frozen=True, slots=True)
class Tried:
    """A kernel of ours to be timed: its source, its launch rule, and what distinguishes it."""

    title: str
    source: str
    launch: Launch
    factors: dict[str, Any]

    def recorded(self, case: Case, problem: Problem) -> recorder.Launch:
        """Its only launch."""
        version = replace(case.ladder.versions[-1], launch=self.launch)
        absent = ("bias",) if case.ladder is RMS_NORM else ()
        (one,) = recorder.record(case.ladder, version, problem, absent)
        return one


def shapes(element: Element) -> Iterator[tuple[int, int]]:
    """(threads of a block, threads resident) for rows in 1 to 8 packs a thread, without most that need local memory.

    Of one pack a thread needs fewer registers than the most threads leave it.
    """
    packs = COLUMNS * element.size_bytes // PACK_BYTES
    for threads in (1024, 512, 256, 128):
        if packs // threads in (1, 2, 4, 8):
            for resident in {1: RESIDENT[2:], 2: RESIDENT[1:], 4: RESIDENT, 8: RESIDENT[:1]}[packs // threads]:
                yield threads, resident


def policies(ladder: Ladder, element: Element) -> Iterator[Policy]:
    """All shapes; then one thing changed of two of them, and some pairs."""
    for threads, resident in shapes(element):
        yield Policy(threads, resident)
    most, today = bases(element)
    is_norm = ladder is not SOFTMAX
    yield replace(most, held=2048)  # as many threads, and less room for the L1 cache
    for one in (most, today):
        for held in (1024, 1536):
            yield replace(one, held=held)
        for load in ("PLAIN", "NC", "ONCE_256B", "L1_FIRST", "L1_LAST", "L2_FIRST", "BOTH_FIRST", "BOTH_LAST"):
            yield replace(one, load=load)
        for store in ("STORE_CS", "STORE_L2_FIRST", "STORE_L2_LAST"):
            yield replace(one, store=store)
            yield replace(one, load="L2_FIRST", store=store)
        for weights in ("TOGETHER", "BEFORE") if is_norm else ():
            yield replace(one, weights=weights)
        for load, again in TWICE if is_norm else ():
            yield replace(one, load=load, again=again)
        if is_norm:
            yield replace(one, load="BOTH_LAST", again="BOTH_FIRST", store="STORE_CS")
            yield replace(one, load="BOTH_LAST", again="BOTH_FIRST", weights="TOGETHER")


TWICE = (
    ("PLAIN", "PLAIN"),
    ("NC", "NC"),
    ("L1_LAST", "L1_FIRST"),
    ("L2_FIRST", "L2_FIRST"),
    ("BOTH_LAST", "BOTH_FIRST"),
)
"""How a row is loaded first and for the result; triton's hints, as torch.compile's kernel has them, come last."""


def bases(element: Element) -> tuple[Policy, Policy]:
    """The policies of which one thing is changed: with all threads resident, and as version 6 is launched today."""
    return (Policy(512, 2048), Policy(256, 1024)) if element == FLOAT32 else (Policy(256, 2048), Policy(128, 1024))


def tried(case: Case) -> list[Tried]:
    """All kernels of ours for a case, but the default version."""
    ladder, element = case.ladder, case.element
    found = [Tried(one.title(), SOURCE, one.launch(ladder), asdict(one)) for one in policies(ladder, element)]
    rule: Any = softmax.loaded_ahead if ladder is SOFTMAX else norm.loaded_ahead
    lanes = PACK_BYTES // element.size_bytes
    for threads, resident in shapes(element):
        for stages in (0, 1):
            shape = Ahead(COLUMNS // lanes // threads, threads, stages=stages, at_once=resident // threads)
            title = f"version 6: {threads} threads, {resident} resident, {stages} stages"
            factors = {"threads": threads, "resident": resident, "stages": stages}
            launch = rule(ladder is RMS_NORM, partial(_same, shape))
            found.append(Tried(title, ladder.source(ladder.versions[-1]), launch, factors))
    return found


def _same(shape: Ahead, problem: Problem) -> Ahead:
    return shape


def compile_ours(cases: Sequence[Case], architecture: str) -> None:
    """Compile all kernels of the cases into the cache, in many processes."""
    wanted = set()
    for case in cases:
        problem = problem_of(case)
        wanted |= {(one.source, one.recorded(case, problem).kernel, architecture) for one in tried(case)}
    with pool_of(compilers()) as pool:
        list(pool.map(_compile, sorted(wanted), chunksize=4))
    print(f"compiled {len(wanted)} kernels", flush=True)


def _compile(what: tuple[str, str, str]) -> None:
    source, kernel, architecture = what
    compile_instance(KernelSource(source, fused_multiply_add=True), kernel, architecture)


def resources(one: Tried, launch: recorder.Launch) -> dict[str, int]:
    """What the kernel needs of a processor, by the driver."""
    from cuda.bindings import driver
    from cuda.core import ObjectCode

    cubin, name = compile_instance(KernelSource(one.source, fused_multiply_add=True), launch.kernel, architecture_of(0))
    code = ObjectCode.from_cubin(cubin, name=launch.kernel)
    kernel = driver.CUkernel(int(code.get_kernel(name).handle))

    def asked(what: Any) -> int:
        return int(driver.cuKernelGetAttribute(what, kernel, driver.CUdevice(0))[1])

    blocks = launcher(one.source, 0, True).resident_blocks(launch.kernel, launch.block, launch.shared_bytes)
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    return {
        "registers": asked(driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS),
        "local_bytes": asked(driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        "resident_warps": blocks // processors * launch.block // 32,
        "shared_bytes": launch.shared_bytes,
    }


def call_of(one: Tried, case: Case, problem: Problem, sets: list[Any]) -> Callable[..., torch.Tensor]:
    """Runs the kernel on one set of arguments, and returns its result, in memory that holds `fill` before."""
    kernels = launcher(one.source, 0, True)

    def call(i: int, fill: float | None = None) -> torch.Tensor:
        out = torch.empty_like(sets[i][0])
        if fill is not None:
            out.fill_(fill)
        given = dict(zip(case.ladder.inputs, sets[i], strict=False)) | {"out": out}
        one.launch(kernels, problem, [given.get(name) for name in case.ladder.arrays])
        return out

    return call


def error_of(call: Callable[..., torch.Tensor], exact: torch.Tensor) -> float:
    """The largest error of a result, relative to the largest magnitude; NaN where any element is NaN."""
    return float((call(0, float("nan")).double() - exact).abs().max() / exact.abs().max())


def time_case(case: Case) -> list[dict[str, Any]]:
    """One row for each contender."""
    problem = problem_of(case)
    sets = [inputs_for(case, seed) for seed in range(sets_of(case))]
    more = [[*inputs, *peers.more_for(case.ladder.name, inputs)] for inputs in sets]
    wide = [x.double() for x in sets[0]]
    exact = peers.TORCH[case.ladder.name](*wide, *peers.more_for(case.ladder.name, wide))
    del wide
    torch.compiler.reset()
    compiled, ours = compiled_peer(case.ladder), OPERATORS[case.ladder.name]
    contenders: dict[str, rotating.Call] = {
        "default": lambda i: ours(*sets[i]),
        "torch.compile": lambda i: compiled(*more[i]),
        "relu": lambda i: relu(sets[i][0]),
    }
    rows: dict[str, dict[str, Any]] = {name: {} for name in contenders}
    for one in tried(case):
        rows[one.title] = dict(one.factors)
        try:
            rows[one.title] |= resources(one, one.recorded(case, problem))
            call = call_of(one, case, problem, sets)
            error = rows[one.title]["relative_error"] = error_of(call, exact)
        except Exception as problem_met:  # noqa: BLE001 - one kernel must not cost the others
            rows[one.title]["error"] = rotating.reason(problem_met)
            continue
        if error <= ERROR_MAX[case.element]:
            contenders[one.title] = call
        else:
            rows[one.title]["error"] = "a wrong result"
    del exact
    moved = case.ladder.moved_bytes(problem)
    for name, times in repeated(contenders, len(sets)).items():
        rows[name] |= times
        if times["median_us"]:
            rows[name]["tb_per_s"] = round(moved / times["median_us"] / 1e6, 3)
    return [case.named() | {"contender": name} | row for name, row in rows.items()]


def repeated(contenders: dict[str, rotating.Call], sets: int) -> dict[str, dict[str, Any]]:
    """Of each contender the median of its repetitions' medians, the least and the greatest, us, and an error.

    `quartiles_apart_us` is the median of the distances between quartiles within a repetition.
    """
    found: dict[str, list[rotating.Times]] = {name: [] for name in contenders}
    names = list(contenders)
    for number in range(REPEATS):
        random.Random(number).shuffle(names)
        for name, times in rotating.in_turn({name: contenders[name] for name in names}, sets, is_eager=False).items():
            found[name].append(times)
        torch.cuda.empty_cache()
    return {name: _summary(times) for name, times in found.items()}


def _summary(times: Sequence[rotating.Times]) -> dict[str, Any]:
    timed = [
        (one.median_us, one.third_quartile_us - one.first_quartile_us)
        for one in times
        if one.median_us is not None and one.first_quartile_us is not None and one.third_quartile_us is not None
    ]
    errors = next((one.error for one in times if one.error), "")
    if not timed:
        return {"median_us": None, "error": errors}
    medians = [median for median, _ in timed]
    return {
        "median_us": statistics.median(medians),
        "least_us": min(medians),
        "greatest_us": max(medians),
        "quartiles_apart_us": statistics.median(apart for _, apart in timed),
        "error": errors,
    }


def time_all(out: Path, seconds: float, begun: float) -> None:
    """Time all cases for which there is time; write the file after each."""
    compile_ours(CASES, architecture_of(0))
    compile_peers([("compiled", case) for case in CASES])
    figures: dict[str, Any] = {"machine": machine(), "rows": []}
    for case in CASES:
        if time.perf_counter() - begun > seconds:
            figures.setdefault("left_out", []).append(case.title())
            continue
        try:
            rows = time_case(case)
        except Exception as error:  # noqa: BLE001 - one case must not cost the others
            print(f"{case.title()}: {rotating.reason(error)}", flush=True)
            figures.setdefault("errors", []).append(f"{case.title()}: {rotating.reason(error)}")
            continue
        figures["rows"] = with_all_names([*figures["rows"], *rows])
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(records.text(figures))
        torch.cuda.empty_cache()
        print(f"{case.title()} after {time.perf_counter() - begun:.0f} s", flush=True)
        shown = [row for row in rows if row.get("tb_per_s")]
        for row in sorted(shown, key=lambda row: -row["tb_per_s"]):
            text = f"{row['tb_per_s']:.3f} TB/s, {row['median_us']:.2f} us ({row['least_us']:.2f} to "
            text += f"{row['greatest_us']:.2f}), {row.get('registers', '-')} registers, "
            print(f"  {text}{row.get('resident_warps', '-')} warps: {row['contender']}", flush=True)


def calls(out: Path) -> Iterator[Call]:
    """What is counted of RMSNorm: the default version, six policies, the fastest one in `out`, torch.compile's."""
    timed = records.read(out)["rows"] if out.exists() else []
    for case in CASES[:2]:
        most, today = bases(case.element)
        twice = replace(most, load="BOTH_LAST", again="BOTH_FIRST")
        chosen = [today, most, replace(most, held=1024), replace(most, load="L2_FIRST"), twice]
        wanted = {one.title() for one in (*chosen, replace(most, store="STORE_CS"))}
        own = {one.title: one for one in tried(case)}
        rows = [row for row in timed if row["element"] == case.element.name and row["operator"] == case.ladder.name]
        fast = min((row for row in rows if row["contender"] in own and row["median_us"]), key=_time, default=None)
        wanted |= {fast["contender"]} if fast else set()
        problem, sets = problem_of(case), [inputs_for(case, 0)]
        named = case.named() | {"fewest_bytes": case.ladder.moved_bytes(problem)}
        ours, compiled = OPERATORS[case.ladder.name], compiled_peer(case.ladder)
        more = [*sets[0], *peers.more_for(case.ladder.name, sets[0])]
        default = recorder.record(case.ladder, case.ladder.choose(problem), problem)
        kernels = tuple(base(one.kernel) for one in default)
        yield Planned(named | {"contender": "default"}, kernels), lambda: ours(*sets[0])  # noqa: B023 - called here
        for title in sorted(wanted):
            kernel = base(own[title].recorded(case, problem).kernel)
            call = call_of(own[title], case, problem, sets)
            yield Planned(named | {"contender": title}, (kernel,)), partial(call, 0)
        yield Planned(named | {"contender": "torch.compile"}), lambda: compiled(*more)  # noqa: B023


def _time(row: dict[str, Any]) -> float:
    return float(row["median_us"])


def count_all(counters: Path, out: Path) -> None:
    """Count under ncu, and write what it counted."""
    compile_ours(CASES[:2], architecture_of(0))
    for metrics, sections in ATTEMPTS:
        try:
            found, left_out = launches_of(MODULE, ["--out", str(out)], metrics, sections)
        except (SystemExit, OSError) as error:  # ncu without a counter that it does not know, or no plan
            print(error, flush=True)
            continue
        figures: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "rows": with_all_names(named_rows(found))}
        counters.parent.mkdir(parents=True, exist_ok=True)
        counters.write_text(records.text(figures | ({"left_out": left_out} if left_out else {})))
        print(f"{len(figures['rows'])} launches; {counters}", flush=True)
        return


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/bench/row_policies.json"))
    parser.add_argument("--seconds", type=float, default=140.0, help="no further case is begun afterwards")
    parser.add_argument("--counters", type=Path, help="count instead, and write the counters to this file")
    parser.add_argument("--plan", type=Path, help="run the calls, and write them to this file: what ncu starts")
    arguments = parser.parse_args()
    begun = time.perf_counter()
    if not torch.cuda.is_available():
        raise SystemExit("library.experiments.row_policies: torch sees no GPU")
    if arguments.plan is not None:
        run_all(arguments.plan, COUNTED_S, calls(arguments.out))
    elif arguments.counters is not None:
        count_all(arguments.counters, arguments.out)
    else:
        time_all(arguments.out, arguments.seconds, begun)


if __name__ == "__main__":
    main()
