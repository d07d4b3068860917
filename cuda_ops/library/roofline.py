"""The roofline of measured operators: compares each with the limits of memory and arithmetic.

The arithmetic intensity I of a call is its number of operations for each byte that it must move. A memory rate of B
bytes per second allows I * B operations per second; the arithmetic units allow P. The roof is the smaller of the two
(Williams, Waterman and Patterson, 2009); they are equal at I = P / B. Products of half-precision matrices have their
own P, that of the tensor cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cuda_ops.errors import CudaOpsError
from cuda_ops.library.catalogue import LADDERS
from cuda_ops.library.ladder import ALL_ELEMENTS, PACK_BYTES, Batch, Problem

FLOAT32_LANES = 128
"""Float32 multiply-adds that one processor (SM) starts per clock on sm_86 and later (64 on sm_75 and sm_80)."""
HALF_LANES = 2048
"""Half-precision multiply-adds that the tensor cores of one processor start per clock on sm_90."""


@dataclass(frozen=True, slots=True)
class Roof:
    """The limits of one GPU."""

    gpu: str
    copy_tb_per_s: float
    """Rate of torch's copy of 1 GiB, bytes read plus bytes written."""
    memory_tb_per_s: float
    """The highest rate of any call, ours or torch's."""
    memory_by: str
    """The call with this rate."""
    float32_tflop_per_s: float
    """Rate of the multiply-adds of all processors at the highest recorded clock; two operations each."""
    half_tflop_per_s: float
    """Rate of the tensor cores in half precision, computed in the same way."""

    @property
    def ridge(self) -> float:
        """Operations per byte above which arithmetic is the limit."""
        return self.float32_tflop_per_s / self.memory_tb_per_s

    def tflop_per_s(self, operations_per_byte: float, tensor_products: float = 0) -> float:
        """The roof at this intensity, TFLOP/s; `tensor_products` is that of the ladder."""
        most = self.half_tflop_per_s / tensor_products if tensor_products else self.float32_tflop_per_s
        return min(operations_per_byte * self.memory_tb_per_s, most)


@dataclass(frozen=True, slots=True)
class Point:
    """The fastest version of one operator at one size."""

    operator: str
    element: str
    rows: int
    columns: int
    depth: int
    version: str
    operations_per_byte: float
    tb_per_s: float
    tensor_products: float = 0

    @property
    def tflop_per_s(self) -> float:
        return self.operations_per_byte * self.tb_per_s

    def share(self, roof: Roof) -> float:
        """The measured rate as a fraction of the roof."""
        return self.tflop_per_s / roof.tflop_per_s(self.operations_per_byte, self.tensor_products)


def rows_of(run: dict[str, Any]) -> list[dict[str, Any]]:
    """The times of a run, for the present launch shape of each version.

    If the shape of a version has changed since the run, its time is taken from the sweep of shapes in the same run
    (part "retimed", whose rows name their shapes).
    """
    names = ("operator", "element", "rows", "columns", "contender")
    again = {tuple(row[name] for name in names): row for row in run.get("retimed", [])}
    found = [row | again.pop(tuple(row[name] for name in names), {}) for row in run["rows"]]
    return [*found, *({"clock_mhz": None} | row for row in again.values())]


def roof_of(runs: Sequence[dict[str, Any]]) -> Roof:
    """The limits of the GPU of the benchmark's `runs`. Raises `CudaOpsError` if no row has a clock."""
    machine = runs[0]["machine"]
    rows = [row for run in runs for row in rows_of(run) if row["tb_per_s"] is not None]
    fastest = max(rows, key=lambda row: row["tb_per_s"])
    clocks_mhz = [row["clock_mhz"] for row in rows if row["clock_mhz"] is not None]
    if not clocks_mhz:
        raise CudaOpsError("roofline: no row has a clock; was NVML missing when the benchmark ran?")
    clock_tera = machine["processors"] * 2 * max(clocks_mhz) / 1e6
    return Roof(
        machine["gpu"],
        max(run["copy"]["tb_per_s"] for run in runs),
        fastest["tb_per_s"],
        f"{fastest['operator']}, {fastest['element']}, {fastest['contender']}",
        clock_tera * FLOAT32_LANES,
        clock_tera * HALF_LANES,
    )


def points_of(runs: Sequence[dict[str, Any]]) -> list[Point]:
    """The fastest version at each size, in the order of the catalogue, types and columns."""
    fastest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in (row for run in runs for row in rows_of(run)):
        if not row["contender"].startswith("v") or row["tb_per_s"] is None:
            continue
        key = row["operator"], row["element"], row["rows"], row["columns"], row.get("depth", 0), _batch(row)
        if key not in fastest or row["tb_per_s"] > fastest[key]["tb_per_s"]:
            fastest[key] = row
    return in_order(map(_point, fastest.values()))


def in_order(points: Iterable[Point]) -> list[Point]:
    """The points in the order of the catalogue, types and columns; convolutions, which are not in it, come last."""
    order = {ladder.name: number for number, ladder in enumerate(LADDERS)}
    return sorted(points, key=lambda point: (order.get(point.operator, len(order)), point.element, point.columns))


def _batch(row: dict[str, Any]) -> Batch:
    return Batch(row.get("pairs", 1), 1.0, float(row.get("has_sum", False)))


def _point(row: dict[str, Any]) -> Point:
    ladder = next(ladder for ladder in LADDERS if ladder.name == row["operator"])
    element = next(element for element in ALL_ELEMENTS if element.name == row["element"])
    lanes, depth = PACK_BYTES // element.size_bytes, row.get("depth", 0)
    problem = Problem(element, row["rows"], row["columns"], lanes, 90, depth=depth, batch=_batch(row))
    intensity = ladder.operations(problem) / ladder.moved_bytes(problem)
    size = problem.rows, problem.columns, depth
    rate = row["tb_per_s"]
    return Point(ladder.name, element.name, *size, row["contender"], intensity, rate, ladder.tensor_products)


def lines(points: Sequence[Point], roof: Roof) -> list[list[str]]:
    """One line for each operator and type, with its slowest and its fastest size."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        groups.setdefault((point.operator, point.element), []).append(point)
    found = []
    for (operator, element), group in groups.items():
        ends = sorted(group, key=lambda point: point.tflop_per_s)
        slowest, fastest = ends[0], ends[-1]
        found.append(
            [
                operator,
                element,
                f"{slowest.operations_per_byte:.2f}",
                f"{slowest.tb_per_s:.2f} ({_size(slowest)}, {slowest.version})",
                f"{fastest.tb_per_s:.2f} ({_size(fastest)}, {fastest.version})",
                f"{fastest.tflop_per_s:.2f}",
                " to ".join(dict.fromkeys(f"{100 * point.share(roof):.0f} %" for point in (slowest, fastest))),
            ]
        )
    return found


NAMES = (
    "operator",
    "type",
    "operations per byte",
    "slowest size, TB/s",
    "fastest size, TB/s",
    "its TFLOP/s",
    "share of the roof",
)
"""The columns of `lines`."""


def _size(point: Point) -> str:
    return f"{point.rows} x {point.columns}" + (f" x {point.depth}" if point.depth else "")


def summary(roof: Roof) -> str:
    """The limits in one sentence."""
    return (
        f"{roof.gpu}: memory {roof.memory_tb_per_s:.2f} TB/s (the fastest call, {roof.memory_by}; torch's copy "
        f"{roof.copy_tb_per_s:.2f}), float32 {roof.float32_tflop_per_s:.1f} TFLOP/s by its processors and clock, "
        f"tensor cores {roof.half_tflop_per_s:.0f} in half precision; arithmetic is the limit from {roof.ridge:.1f} "
        "operations per byte on"
    )
