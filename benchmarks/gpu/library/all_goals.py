"""Every goal of the operator library in one table: what is wanted, what was reached, its record, and why it was missed.

The goals and the records are for an H200. Products are held against cuBLAS, or against the rate itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import geometric_mean

from benchmarks.gpu.library.goals import (
    CPU_GOAL,
    FUSED_GOAL,
    GOALS,
    LIBRARIES,
    Figures,
    cub_times,
    default_version,
    fused_times,
    product_rates,
    ragged_times,
    rates_of,
)
from benchmarks.markdown_tables import rows

MEMORY_STRETCH = {4.2: 4.4, 4.3: 4.4, 4.5: 4.6, 4.1: 4.25, 3.9: 4.1, 3.5: 4.0}
"""By the goal, both in TB/s on an H200."""
FUSED_STRETCH = 2.0
COUNTERS = "[counters](operators/counters.json)"
CHOSEN = "[counters of chosen sizes](operators/README.md#counters-of-chosen-sizes)"
ROWS = "[counters of rows](operators/README.md#counters-of-rows)"
WHY = "[why](operators/README.md#why-version-6-misses-41-tbs)"
TEXT = "[what limits them](operators/README.md#what-limits-them)"
PRODUCTS_TEXT = "[products](operators/README.md#products-of-matrices)"
AHEAD = "[launch shapes](operators/ahead_tried.json)"
ALIGNED = "[times before and after](operators/rows_aligned.json)"
CHOSEN_SHAPES = "[times of both](operators/shapes_chosen.json)"
TRIED = "[tried](operators/products_tried.txt)"
CAUSES = {
    4.2: "Bfloat16 sigmoid, 3.74: the issue of instructions. It executes 26.6 for each element, torch.compile's kernel "
    "15.9: the schedulers issue in 78 % of the cycles, its in 53 %, and the memory is busy at 78 %, not at 88 % "
    f"({CHOSEN}). Four loads in flight (version 3, 3.88) change little. ReLU in bfloat16 and sigmoid in float32, 4.14 "
    "and 4.19, are above the rate in a second timing of the same run (4.24, 4.25).",
    4.1: "4.1 TB/s are 85 % of the memory's peak, nearly as much as ReLU of as many bytes reaches: no time is left for "
    "a reduction. The memory is busy at 80 % to 84 % in rows of 4k: warps wait for it in 30 % to 57 % of their cycles, "
    "ReLU's in 91 %. What version 6 lacks there is the hint that the L2 cache keeps longest what is loaded: kernels "
    "that have it reach 4.04 to 4.14 TB/s ([one change at a time](operators/README.md#one-change-at-a-time)). Rows of "
    "16k and 32k, 78 % to 83 %: clusters do not fill all processors (softmax, RMSNorm), warps "
    "of the one block of a processor wait for each other (float32 LayerNorm), or the schedulers issue in 65 % of the "
    "cycles (bfloat16). Rows of 128k, 78 % to 82 %: clusters again, and in samples taken earlier 19 % to 26 % were "
    f"waits for the cluster ({ROWS}, {WHY}). Mended: copies in clusters landed 16 bytes off, and the L2 cache "
    "delivered them twice; now once, and the 13 sizes with such copies take 0.90 to 1.00 of the time "
    f"({ALIGNED}). 18 of 36 sizes got other launch shapes, and take 0.97 of the time in the mean ({CHOSEN_SHAPES}). "
    "Tried for them: 699 launch shapes, the fastest at 3.68 to 4.08 TB/s; QuACK is faster than each in 10, by up to "
    f"5.8 % ({AHEAD}).",
    3.9: "Bfloat16, a warp for each row: 3.63 to 3.84, and 3.84 to 3.92 in a second timing of the same run; float32 "
    "LayerNorm 3.82, and 3.95. RMSNorm: the memory is busy at 79 %, half of the warps are resident, and the schedulers "
    f"issue in 50 % of the cycles ({CHOSEN}). LayerNorm: 80 %, half of the warps, 69 %.",
    3.5: "Norms: one block of 1,024 threads fills a processor, and rows of 128k keep the memory busy at 56 % to 62 % "
    f"({COUNTERS}, {TEXT}). Softmax, bfloat16 rows of 32k: warps wait longer for their cluster and block than for the "
    f"memory ({CHOSEN}).",
    "fused": "Bfloat16 rows of 1k: the schedulers issue in 79 % of the cycles. Longer rows: 36 % to 48 % of the warps "
    f"are resident, and the memory is busy at 28 % to 53 % ({CHOSEN}, {TEXT}).",
    "eager": "By timing each part alone on an H200's host, where a call takes 10.5 us: the launch by the driver takes "
    "4.1 us, the allocation 1.8, the questions whether torch's dispatcher must see the call 0.9, the rest Python "
    "([eager calls](operators/README.md#eager-calls)).",
    "matmul": "The issue of instructions: a scheduler issues in 86 % of its cycles, cuBLAS's in 90 % "
    f"({COUNTERS} of an H100, {PRODUCTS_TEXT}).",
    "ragged": "16 x 4096 x 4096: the memory is busy at 39 % of its peak, in cuBLAS's product, split over 128 blocks, "
    "at 61 %; the same kernel of 64 blocks keeps it busy at 58 % where its boxes are full (64 x 4096 x 4096). Others: "
    "too few tiles for all processors (96 blocks, cuBLAS 128), more bytes through the L2 cache (4096 x 128), or tiles "
    f"that compute more than the size needs (1032 x 2056; {CHOSEN}, {PRODUCTS_TEXT}, {TRIED}).",
    "matmul_fp8": "Sums are promoted to float32 every 512 of the depth, which cuBLASLt's fast accumulation does not "
    f"do; the tensor cores are busy at 77 %, its at 85 % ({CHOSEN}, {PRODUCTS_TEXT}, {TRIED}).",
    "matmul_softmax": "The tensor cores of a cluster wait while it exchanges and stores its rows: they are busy at "
    f"14 %, in cuBLAS's product alone at 31 %, and warps wait longest at barriers ({CHOSEN}, {PRODUCTS_TEXT}).",
}
"""Why a goal is missed, by what names it in the code."""


@dataclass(frozen=True, slots=True)
class Line:
    """One goal; `is_met` is None where nothing was measured."""

    name: str
    goal: str
    stretch: str
    reached: str
    record: str
    is_met: bool | None
    is_stretched: bool = False
    cause: str = ""
    missing: str = ""
    """What was not measured of it."""

    def cells(self) -> list[str]:
        result = "not measured" if self.is_met is None else "met" if self.is_met else "missed"
        if self.is_met and self.is_stretched:
            result = "met, and the stretch"
        if self.missing and self.is_met is not None:
            result += f"; not measured: {self.missing}"
        cause = self.cause if self.is_met is False else ""
        return [self.name, self.goal, self.stretch, self.reached, self.record, result, cause]


def table(runs: Mapping[str, Figures], figures: Figures) -> str:
    """All goals; `runs` are the records of an H200 by the file below operators/runs, `figures` all of them together."""
    names = ["goal", "on an H200", "stretch", "reached", "record", "result", "cause where missed"]
    lines = [*_memory_lines(runs, figures), _fused_line(runs, figures), *_eager_line(runs, figures)]
    return rows(names, [line.cells() for line in [*lines, *_product_lines(runs)]])


def _linked(runs: Mapping[str, Figures], operators: Sequence[str]) -> str:
    """Links to the records that have rows of these operators, and their GPUs."""
    parts = ("rows", "compiled", *LIBRARIES)
    names = [
        name
        for name, run in runs.items()
        if any(row["operator"] in operators for part in parts for row in run.get(part, []))
    ]
    gpus = dict.fromkeys(runs[name]["machine"]["gpu"] for name in names)
    return ", ".join([*(f"[{name}](operators/runs/{name})" for name in names), *gpus])


def _memory_lines(runs: Mapping[str, Figures], figures: Figures) -> list[Line]:
    ours, peers = rates_of(figures)
    cub = cub_times(figures)
    lines = []
    for wanted, group in groupby(GOALS, key=lambda goal: (goal.tb_per_s, goal.lengths)):
        goals = list(group)
        keys = [key for goal in goals for key in goal.keys(ours)]
        operators = list(dict.fromkeys(name for goal in goals for name in goal.operators))
        found = [ours[key] for key in keys]
        behind = [key for key in keys if ours[key] < peers[key]]
        slow = sum(rate < wanted[0] for rate in found)
        reached = (
            f"{min(found):.2f} to {max(found):.2f} TB/s; of {len(keys)} cases {slow} are slower, {len(behind)} slower "
            "than a peer" + _lead([ours[key] / peers[key] for key in behind])
        )
        if goals[0].peers == "CUB" and cub:
            reached += f"; a sum takes {cub['ours']:,.1f} us, by CUB {cub['CUB']:,.1f}"
        stretch = MEMORY_STRETCH[wanted[0]]
        is_met = all(goal.is_met(ours, peers, cub) for goal in goals)
        record = _linked(runs, operators)
        name = f"{', '.join(operators)}: {wanted[1]}"
        is_stretched = is_met and min(found) >= stretch
        cause = CAUSES.get(wanted[0], "")
        lines.append(Line(name, goals[0].wanted(), f"{stretch:g} TB/s", reached, record, is_met, is_stretched, cause))
    return lines


def _lead(ratios: Sequence[float]) -> str:
    """By how much the fastest peer is ahead of ours, if any is; `ratios` are our rates over the peers'."""
    return f" (by up to {100 - 100 * min(ratios):.1f} %)" if ratios else ""


def _fused_line(runs: Mapping[str, Figures], figures: Figures) -> Line:
    times = [two / one for one, two in fused_times(figures).values()]
    missed = sum(one < FUSED_GOAL for one in times)
    reached = f"{min(times):.2f} to {max(times):.2f}; {missed} of {len(times)} cases miss it"
    record = _linked(runs, ["layer_norm_softmax"])
    return Line(
        "layer_norm_softmax, by the two by torch.compile",
        f"{FUSED_GOAL:g} times as fast",
        f"{FUSED_STRETCH:g}",
        reached,
        record,
        not missed,
        min(times) >= FUSED_STRETCH,
        CAUSES["fused"],
    )


def _eager_line(runs: Mapping[str, Figures], figures: Figures) -> list[Line]:
    torch_us = next((row["torch_us"] for row in figures["cpu_time"] if row["operator"] == "relu"), None)
    if torch_us is None:
        return []
    ratios = {row["operator"]: row["ours_us"] / torch_us for row in figures["cpu_time"] if "torch_us" in row}
    reached = f"relu {ratios['relu']:.2f}; all {min(ratios.values()):.2f} to {max(ratios.values()):.2f}"
    record = ", ".join(
        f"[{name}](operators/runs/{name}), {run['machine']['gpu']}" for name, run in runs.items() if run.get("cpu_time")
    )
    goal = f"{CPU_GOAL:.2f} times torch.relu's"
    is_met = max(ratios.values()) <= CPU_GOAL
    return [Line("CPU time of an eager call", goal, "", reached, record, is_met, cause=CAUSES["eager"])]


def _product_lines(runs: Mapping[str, Figures]) -> list[Line]:
    rates = product_rates(list(runs.values()))

    def of(operator: str, element: str, sizes: Sequence[int], variant: str = "") -> list[dict[str, float]]:
        keys = [(operator, element, (size,) * 3, variant) for size in sizes]
        return [rates[key] for key in keys if {"ours", "cublas"} <= rates.get(key, {}).keys()]

    def record(operator: str) -> str:
        return _linked(runs, [operator])

    def beside_cublas(name: str, operator: str, found: list[dict[str, float]], goal: float, stretch: float) -> Line:
        times = [one["ours"] / one["cublas"] for one in found]
        reached = ", ".join(
            f"{ratio:.3f} ({one['ours']:.1f} of {one['cublas']:.1f} TFLOP/s)"
            for ratio, one in zip(times, found, strict=True)
        )
        wanted, more = (f"{100 * share:.0f} % of cuBLAS" for share in (goal, stretch))
        if not times:
            return Line(name, wanted, more, "", "", None)
        is_met, is_stretched = min(times) >= goal, min(times) >= stretch
        return Line(name, wanted, more, reached, record(operator), is_met, is_stretched, CAUSES.get(operator, ""))

    def by_rate(name: str, operator: str, found: list[dict[str, float]], goal: float, stretch: float) -> Line:
        unit = "TOP/s" if operator == "matmul_int8" else "TFLOP/s"
        wanted, more = (f"{rate:,.0f} {unit}" for rate in (goal, stretch))
        if not found:
            return Line(name, wanted, more, "", "", None)
        reached = ", ".join(f"{one['ours']:,.1f}" for one in found) + f" {unit}"
        least = min(one["ours"] for one in found)
        return Line(name, wanted, more, reached, record(operator), least >= goal, least >= stretch)

    square = (4096, 8192)
    sgemm = beside_cublas("float32, 4096 and 8192", "matmul", of("matmul", "float32", square), 1.05, 1.05)
    parts = of("matmul_parts", "float32", square)
    int8 = of("matmul_int8", "int8", square, "b transposed")
    fp8 = of("matmul_fp8", "float8_e4m3fn", square, "b transposed")
    return [
        replace(sgemm, stretch="57 TFLOP/s", is_stretched=False),
        by_rate(f"float32 by tensor cores, 4096 and 8192; errors: {PRODUCTS_TEXT}", "matmul_parts", parts, 100, 120),
        beside_cublas("TF32, 4096 and 8192", "matmul_tf32", of("matmul_tf32", "float32", square), 0.97, 1.0),
        beside_cublas(
            "bfloat16, 2048, 4096 and 8192", "matmul_half", of("matmul_half", "bfloat16", (2048, *square)), 0.97, 1.02
        ),
        _sustained_line(runs),
        _ragged_line(runs, record("matmul_half")),
        beside_cublas("8-bit floats, 4096 and 8192", "matmul_fp8", fp8, 0.95, 1.0),
        by_rate("8-bit integers, 4096 and 8192", "matmul_int8", int8, 1100, 1350),
        *_sparse_line(runs),
        *_softmax_line(runs, record("matmul_softmax")),
    ]


def _sustained_line(runs: Mapping[str, Figures]) -> Line:
    """For two seconds on end, ours and torch in turn; each twice. One list of ratios for each record."""
    ratios: dict[int, list[float]] = {}
    reached, records = [], []
    for name, run in runs.items():
        found: dict[int, dict[str, list[float]]] = {}
        for row in run.get("sustained", []):
            if row["operator"] == "matmul_half":
                found.setdefault(row["rows"], {}).setdefault(row["contender"], []).append(row["tflop_per_s"])
        if not found:
            continue
        times = {size: geometric_mean(one["ours"]) / geometric_mean(one["torch"]) for size, one in found.items()}
        for size, ratio in times.items():
            ratios.setdefault(size, []).append(ratio)
        gpu = run["machine"]["gpu"]
        reached.append(", ".join(f"{ratio:.3f} at {size}" for size, ratio in sorted(times.items())) + f" ({gpu})")
        records.append(f"[{name}](operators/runs/{name}), {gpu}")
    is_met = min(map(min, ratios.values())) >= 0.97 if ratios else None
    missing = ", ".join(str(size) for size in (2048, 4096, 8192) if size not in ratios)
    title, goal = "bfloat16 for 2 s on end", "97 % of cuBLAS"
    return Line(title, goal, "102 %", "; ".join(reached), ", ".join(records), is_met, missing=missing)


def _ragged_line(runs: Mapping[str, Figures], record: str) -> Line:
    times = ragged_times(list(runs.values()))
    mean, worst = geometric_mean(times.values()), min(times, key=times.__getitem__)
    below = sum(ratio < 0.85 for ratio in times.values())
    reached = f"mean {mean:.3f}, worst {times[worst]:.2f} ({' x '.join(map(str, worst))}); {below} below 0.85"
    goal = "geometric mean 100 % of cuBLAS, worst 85 %"
    is_met = mean >= 1.0 and not below
    return Line(
        f"bfloat16, {len(times)} ragged products", goal, "110 %", reached, record, is_met, mean >= 1.1, CAUSES["ragged"]
    )


def _sparse_line(runs: Mapping[str, Figures]) -> list[Line]:
    """Beside our dense product in the same run."""
    record = _linked(runs, ["matmul_sparse"])
    rates: dict[str, float] = {}
    for row in (row for run in runs.values() for row in run["rows"]):
        is_wanted = row["operator"] == "matmul_sparse" and row["element"] == "bfloat16" and not row.get("transposed")
        if is_wanted and (row["rows"], row["columns"], row["depth"]) == (8192,) * 3:
            rates["ours" if row["contender"] == default_version(row) else row["contender"]] = row["tflop_per_s"]
    if not {"ours", "matmul_half"} <= rates.keys():
        return []
    times = rates["ours"] / rates["matmul_half"]
    reached = f"{times:.2f} ({rates['ours']:.1f} of {rates['matmul_half']:.1f} TFLOP/s)"
    name, goal = "2:4 sparse bfloat16, 8192", "1.25 times our dense product"
    return [Line(name, goal, "1.4", reached, record, times >= 1.25, times >= 1.4)]


def _softmax_line(runs: Mapping[str, Figures], record: str) -> list[Line]:
    size = 4096, 4096, 128
    times_us = [
        row["median_us"]
        for run in runs.values()
        for row in run["rows"]
        if row["operator"] == "matmul_softmax"
        and (row["rows"], row["columns"], row["depth"]) == size
        and row["contender"] == default_version(row)
    ]
    name = "product and softmax, 4096 x 4096 x 128"
    return [
        Line(name, "25 us", "16 us", f"{time:.1f} us", record, time <= 25, time <= 16, CAUSES["matmul_softmax"])
        for time in times_us
    ]
