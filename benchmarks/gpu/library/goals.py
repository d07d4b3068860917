"""The operator library's goals beside the figures measured on an H200: tables of docs/operators/README.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

from benchmarks.gpu.library.shapes import RAGGED_SIZES
from benchmarks.markdown_tables import rows
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import ALL_ELEMENTS, PACK_BYTES, Problem, line_of
from cuda_ops.library.records import variant_of
from cuda_ops.library.roofline import rows_of

CPU_GOAL = 14.0 / 10.5
"""CPU time of an eager call, as a multiple of torch.relu's."""
ARCHITECTURE = 90
"""Of H100 and H200."""

Figures = dict[str, Any]
Key = tuple[str, str, int]
"""Operator, element type and columns of a case."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A rate to reach on an H200 by some operators, for some element types and lengths of row."""

    operators: tuple[str, ...]
    elements: tuple[str, ...]
    lengths: str
    fits: Callable[[int], bool]
    tb_per_s: float
    peers: str = ""
    """Than which the operators may not be slower either: "all", "CUB" or none."""

    def keys(self, figures: Iterable[Key]) -> list[Key]:
        """The cases among these that the goal is for."""
        return [key for key in figures if key[0] in self.operators and key[1] in self.elements and self.fits(key[2])]

    def is_met(self, ours: Mapping[Key, float], peers: Mapping[Key, float], cub: Mapping[str, float]) -> bool:
        """Whether each case has the rate, and none is slower than a peer that counts; `cub` are times of a sum."""
        keys = self.keys(ours)
        is_fast = min(ours[key] for key in keys) >= self.tb_per_s
        if self.peers == "CUB" and cub:
            return is_fast and cub["ours"] <= cub["CUB"]
        return is_fast and not (self.peers == "all" and any(ours[key] < peers.get(key, 0.0) for key in keys))

    def wanted(self) -> str:
        """The rate and the peers in words."""
        beside = {"": "", "CUB": ", a sum not below CUB", "all": ", no peer faster"}[self.peers]
        return f"{self.tb_per_s:g} TB/s{beside}"


FLAT = "2^28"
LONG, SHORT = "rows of 4k to 131k", "rows of 1k"
ROWS = ("softmax", "layer_norm", "rms_norm")
GRADIENTS = ("softmax_backward", "log_softmax_backward", "layer_norm_backward", "rms_norm_backward")
BOTH = ("float32", "bfloat16")
GOALS = (
    Goal(("relu", "sigmoid"), BOTH, FLAT, lambda columns: True, 4.2),
    Goal(("add",), BOTH, FLAT, lambda columns: True, 4.3),
    Goal(("sum", "dot"), ("float32",), "2^30", lambda columns: True, 4.5, "CUB"),
    *(
        Goal((name,), (element,), LONG, lambda columns: 4096 <= columns <= 131072, 4.1, "all")
        for name in ROWS
        for element in BOTH
    ),
    *(Goal((name,), BOTH, SHORT, lambda columns: columns == 1024, 3.9, "all") for name in ROWS),
    *(
        Goal((name,), (element,), "rows of 1k to 131k", lambda columns: 1024 <= columns <= 131072, 3.5)
        for name in GRADIENTS
        for element in BOTH
    ),
)
PRODUCT_GOALS = {
    ("matmul", "float32", ""): {4096: 1.05, 8192: 1.05},
    ("matmul_half", "bfloat16", ""): {2048: 0.97, 4096: 0.97, 8192: 0.97},
    ("matmul_parts", "float32", ""): {4096: 1.95, 8192: 1.95},
    ("matmul_tf32", "float32", ""): {4096: 0.97, 8192: 0.97},
    ("matmul_fp8", "float8_e4m3fn", "b transposed"): {4096: 0.95, 8192: 0.95},
    ("matmul_int8", "int8", "b transposed"): {4096: 1.29, 8192: 1.48},
}
"""Speed of a product of square matrices, as a multiple of cuBLAS's, by operator, type, what is transposed, and size.

cuBLAS runs without TF32 but for `matmul_tf32`, and 8-bit floats with fast accumulation. The goals of `matmul_int8` are
1,100 TOP/s, as a multiple of cuBLAS's rates on an H200.
"""
LIBRARIES = {"liger": "Liger", "quack": "QuACK"}
"""Libraries of other makers, as they are called in records and on pages."""
FUSED_GOAL = 1.9
"""LayerNorm and softmax in one, as a multiple of the speed of the two by torch.compile."""


def default_version(row: dict[str, Any]) -> str:
    """The contender of a row's case that runs if no version is named: "v2"."""
    element = next(element for element in ALL_ELEMENTS if element.name == row["element"])
    ladder = next(ladder for ladder in LADDERS if ladder.name == row["operator"])
    lanes, depth, transposed = PACK_BYTES // element.size_bytes, row.get("depth", 0), row.get("transposed", "")
    lies = "a" in transposed, "b" in transposed
    while depth and line_of(row["rows"], row["columns"], depth, lies) % lanes:
        lanes //= 2
    problem = Problem(element, row["rows"], row["columns"], lanes, ARCHITECTURE, 0.0, depth, *lies)
    return f"v{ladder.choose(problem).number}"


def goals_table(figures: Figures) -> str:
    """One line for each goal that was timed: what the default versions reach, and what the best peer does."""
    ours, peers = rates_of(figures)
    lines = []
    for goal in GOALS:
        keys = goal.keys(ours)
        if not keys:
            continue
        found = [ours[key] for key in keys]
        behind = [key for key in keys if ours[key] < peers[key]]
        lines.append(
            [
                f"{', '.join(goal.operators)}; {', '.join(goal.elements)}; {goal.lengths}",
                goal.wanted(),
                _span([f"{rate:.2f}" for rate in (min(found), max(found))]),
                f"{sum(rate < goal.tb_per_s for rate in found)} of {len(keys)}",
                f"{len(behind)} of {len(keys)}"
                + (f", by up to {100 - 100 * min(ours[key] / peers[key] for key in behind):.1f} %" if behind else ""),
                "met" if goal.is_met(ours, peers, cub_times(figures)) else "missed",
            ]
        )
    names = ["operators", "goal", "reached, TB/s", "cases below the rate", "cases slower than a peer", "result"]
    return rows(names, lines)


def cub_times(figures: Figures) -> dict[str, float]:
    """Times in us of a sum of 2^30 float32 by CUB, by ours and by torch; empty if CUB was not timed."""
    return {row["contender"]: row["median_us"] for row in figures.get("cub", []) if row["median_us"] is not None}


def fused_table(figures: Figures) -> str:
    """LayerNorm and softmax in one, beside the two by torch.compile: times, by type and columns."""
    lines = []
    for (element, columns), (one_us, two_us) in sorted(fused_times(figures).items()):
        times = two_us / one_us
        result = "met" if times >= FUSED_GOAL else "missed"
        lines.append([element, str(columns), f"{one_us:.0f}", f"{two_us:.0f}", f"{times:.2f}", result])
    names = ["type", "columns", "in one, us", "the two by torch.compile, us", "times as fast", f"goal: {FUSED_GOAL}"]
    return rows(names, lines)


def fused_times(figures: Figures) -> dict[tuple[str, int], tuple[float, float]]:
    """Times in us of LayerNorm and softmax in one, and of the two by torch.compile, by type and columns."""
    ours: dict[tuple[str, int], float] = {}
    apart: dict[tuple[str, int], dict[str, float]] = {}
    for row in (*figures["rows"], *figures["compiled"]):
        size = row["element"], row["columns"]
        if row["median_us"] is None:
            continue
        if row["operator"] == "layer_norm_softmax" and row["contender"] == default_version(row):
            ours.setdefault(size, row["median_us"])
        if row["operator"] in ("layer_norm", "softmax") and row["contender"] == "torch.compile":
            apart.setdefault(size, {})[row["operator"]] = row["median_us"]
    found = {size: (time_us, apart.get(size, {})) for size, time_us in ours.items()}
    return {size: (time_us, sum(two.values())) for size, (time_us, two) in found.items() if len(two) == 2}


def product_rates(runs: Sequence[Figures]) -> dict[tuple[Any, ...], dict[str, float]]:
    """TFLOP/s of the default version ("ours") and of cuBLAS, by operator, type, size and what else a case has."""
    found: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in (row for run in runs for row in rows_of(run) if row.get("tflop_per_s") is not None):
        name = {"torch": "cublas", default_version(row): "ours"}.get(row["contender"])
        if name is not None:
            size = row["rows"], row["columns"], row["depth"]
            key = row["operator"], row["element"], size, variant_of(row)
            found.setdefault(key, {})[name] = row["tflop_per_s"]
    return found


def products_table(runs: Sequence[Figures]) -> str:
    """The products of matrices, the default version beside cuBLAS: TFLOP/s."""
    lines = []
    for (operator, element, size, variant), rates in product_rates(runs).items():
        if len(rates) < 2:
            continue  # the default version is a later one than those that were timed
        times = rates["ours"] / rates["cublas"]
        goals = PRODUCT_GOALS.get((operator, element, variant), {})
        goal = goals.get(size[0]) if len(set(size)) == 1 else None
        result = ("", "") if goal is None else (f"{goal:g}", "met" if times >= goal else "missed")
        cells = [f"{rates['ours']:.1f}", f"{rates['cublas']:.1f}", f"{times:.3f}"]
        title = " x ".join(map(str, size)) + (f", {variant}" if variant else "")
        lines.append([f"[{operator}]({operator}.md)", element, title, *cells, *result])
    return rows(
        [
            "operator",
            "type",
            "rows x columns x depth",
            "ours, TFLOP/s",
            "cuBLAS, TFLOP/s",
            "ours / cuBLAS",
            "goal",
            "result",
        ],
        lines,
    )


def ragged_sentence(runs: Sequence[Figures]) -> str:
    """How the rectangular and odd products of bfloat16 compare with cuBLAS; empty before they are timed."""
    times = ragged_times(runs)
    if not times:
        return ""
    worst, best = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
    return (
        f"The {len(times)} rectangular and odd products of bfloat16 run at {geometric_mean(times.values()):.3f} times "
        f"cuBLAS's speed in the geometric mean (goal: 1): {times[worst]:.2f} at {_named(worst)} (goal: 0.85) to "
        f"{times[best]:.2f} at {_named(best)}."
    )


def ragged_times(runs: Sequence[Figures]) -> dict[tuple[int, int, int], float]:
    """cuBLAS's time over ours, by the size of a rectangular or odd product of bfloat16."""
    found: dict[tuple[int, int, int], dict[str, float]] = {}
    for row in (row for run in runs for row in rows_of(run)):
        size = row["rows"], row["columns"], row.get("depth", 0)
        name = {"torch": "cublas", default_version(row): "ours"}.get(row["contender"])
        if row["operator"] == "matmul_half" and size in RAGGED_SIZES and name is not None:
            found.setdefault(size, {})[name] = row["median_us"]
    return {size: one["cublas"] / one["ours"] for size, one in found.items() if len(one) == 2}


def _named(size: tuple[int, ...]) -> str:
    return " x ".join(map(str, size))


def rates_of(figures: Figures) -> tuple[dict[Key, float], dict[Key, float]]:
    """TB/s of the default version and of the fastest peer, by case."""
    ours: dict[Key, float] = {}
    peers: dict[Key, float] = {}
    for row in (*figures["rows"], *figures["compiled"]):
        key = row["operator"], row["element"], row["columns"]
        if row["tb_per_s"] is None:
            continue
        if row["contender"] in ("torch", "torch.compile", *LIBRARIES):
            peers[key] = max(row["tb_per_s"], peers.get(key, 0.0))
        elif row["contender"] == default_version(row):
            ours.setdefault(key, row["tb_per_s"])
    return ours, peers


def _span(texts: list[str]) -> str:
    return texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}"


def library_table(found: Sequence[Figures], library: str) -> str:
    """Our version beside the operator of "liger" or "quack", the name of a record's part: one line for each size."""
    times: dict[tuple[str, str, int, int], dict[str, float]] = {}
    versions: dict[tuple[str, str, int, int], str] = {}
    for row in found:
        case, is_ours = (row["operator"], row["element"], row["rows"], row["columns"]), row["contender"].startswith("v")
        if is_ours:
            versions[case] = row["contender"]
        if row["median_us"] is not None:
            times.setdefault(case, {})["ours" if is_ours else row["contender"]] = row["median_us"]
    lines = [
        [
            *(operator, element, _named((count, columns)), versions.get((operator, element, count, columns), "")),
            *(f"{one[name]:.0f}" if name in one else "" for name in ("ours", library, "torch")),
            f"{one[library] / one['ours']:.2f}" if {library, "ours"} <= one.keys() else "",
        ]
        for (operator, element, count, columns), one in times.items()
    ]
    title = LIBRARIES[library]
    times_of = ["ours, us", f"{title}, us", "torch, us", f"{title} / ours"]
    return rows(["operator", "type", "size", "version", *times_of], lines)


def cpu_table(figures: Figures) -> str:
    """CPU time of an eager call on 1,024 elements, beside torch's."""
    relu = next(row["torch_us"] for row in figures["cpu_time"] if row["operator"] == "relu")
    lines = [
        [row["operator"], f"{row['ours_us']:.1f}", f"{row['torch_us']:.1f}", f"{row['ours_us'] / relu:.1f}"]
        for row in figures["cpu_time"]
        if "torch_us" in row
    ]
    return rows(["operator", "ours, us", "torch, us", f"ours / torch.relu (goal: {CPU_GOAL:.2f})"], lines)
