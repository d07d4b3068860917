"""Convolutions on the roofline: the library's operator `convolve`, and the layers of the detectors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cuda_ops.conv.host import Window as Layer
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.ladder import BFLOAT16, FLOAT16, PACK_BYTES, Problem, Window
from cuda_ops.library.roofline import Point, Roof

NAMES = ("pictures", "channels", "height", "width", "columns", "taps")
"""Sizes in a row of `python -m benchmarks.gpu.library.convolutions`; a window has `taps` x `taps` taps."""


def problem_of(row: dict[str, Any]) -> Problem:
    """The convolution of a row as a product of matrices."""
    pictures, channels, height, width, columns, taps = (row[name] for name in NAMES)
    window = Window(pictures, height, width, channels, taps, taps)
    rows, depth = pictures * height * width, channels * taps * taps
    lanes = PACK_BYTES // BFLOAT16.size_bytes
    return Problem(BFLOAT16, rows, columns, lanes, 90, depth=depth, b_is_transposed=True, window=window)


def convolution_points(record: dict[str, Any]) -> list[Point]:
    """The fastest version of `convolve` at each size of `python -m benchmarks.gpu.library.convolutions`."""
    fastest: dict[tuple[int, ...], dict[str, Any]] = {}
    for row in record["rows"]:
        key = tuple(row[name] for name in NAMES)
        if row["contender"].startswith("v") and row["median_us"] is not None:
            fastest[key] = min(fastest.get(key, row), row, key=lambda one: float(one["median_us"]))
    made = []
    for row in fastest.values():
        problem = problem_of(row)
        moved, work = CONVOLVE.moved_bytes(problem), CONVOLVE.operations(problem)
        sizes = problem.rows, problem.columns, problem.depth
        rate = moved / row["median_us"] / 1e6
        made.append(
            Point("convolve", BFLOAT16.name, *sizes, row["contender"], work / moved, rate, CONVOLVE.tensor_products)
        )
    return made


def layer_points(record: dict[str, Any]) -> list[Point]:
    """The detectors' convolutions with their fastest plans, timed by `python -m benchmarks.gpu.convolutions`.

    They are float16, with bias and SiLU. All calls use the same arrays, which may be in the L2 cache.
    """
    made = []
    for row in record["rows"]:
        layer = Layer(*row["window"])
        result = layer.pixels * layer.out_channels
        read = layer.images * layer.height * layer.width * layer.channels + layer.depth * layer.out_channels
        moved, work = (read + result + layer.out_channels) * FLOAT16.size_bytes, 2 * result * layer.depth
        name = f"{layer.size} x {layer.size}" + (f", stride {layer.stride}" if layer.stride > 1 else "")
        rate = moved / row["plans_us"][row["best"]] / 1e6
        sizes = layer.pixels, layer.out_channels, layer.depth
        made.append(Point(name, FLOAT16.name, *sizes, row["best"], work / moved, rate, 1))
    return sorted(made, key=lambda point: (point.operator, point.columns, point.rows))


def roof_with_copy(roof: Roof, bench: dict[str, Any]) -> Roof:
    """`roof` with another GPU's rate of memory, measured by a copy in `python -m benchmarks.gpu`.

    The other GPU must have the same number of processors and the same highest clock, like H100 and H200.
    """
    copy_tb_per_s = bench["copy_bytes_per_s"] / 1e12
    return replace(
        roof,
        gpu=bench["machine"]["gpu"],
        copy_tb_per_s=copy_tb_per_s,
        memory_tb_per_s=copy_tb_per_s,
        memory_by="copy",
    )
