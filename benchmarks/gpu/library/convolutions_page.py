"""The table of the convolution's page, from what `convolutions` measured."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown_tables import rows
from cuda_ops.library.convolve.ladder import CONVOLVE
from cuda_ops.library.roofline import Roof
from cuda_ops.library.roofline_convolutions import NAMES, problem_of


def table(figures: dict[str, Any], roof: Roof) -> str:
    """One line for each convolution: operations per byte, the rates, and the share of what the roof allows."""
    found: dict[tuple[int, ...], dict[str, float]] = {}
    for row in figures["rows"]:
        if row["median_us"] is not None:
            found.setdefault(tuple(row[name] for name in NAMES), {})[row["contender"]] = row["median_us"]
    lines = []
    for key, times in found.items():
        pictures, channels, height, width, columns, taps = key
        problem = problem_of(dict(zip(NAMES, key, strict=True)))
        rates = {name: CONVOLVE.rate(problem, time) for name, time in times.items()}
        intensity = CONVOLVE.operations(problem) / CONVOLVE.moved_bytes(problem)
        share = rates["v2"] / roof.tflop_per_s(intensity, CONVOLVE.tensor_products)
        lines.append(
            [
                f"{taps} x {taps}",
                f"{pictures} x {height} x {width}",
                f"{channels} to {columns}",
                f"{intensity:.0f}",
                *(f"{rates[name]:.1f}" for name in ("v1", "v2", "cudnn", "cudnn and bias")),
                f"{times['cudnn'] / times['v2']:.2f}",
                f"{100 * share:.0f} %",
            ]
        )
    names = [
        "window",
        "pictures",
        "channels",
        "operations per byte",
        "v1: columns",
        "v2: implicit",
        "cuDNN",
        "cuDNN and bias",
    ]
    return rows([*names, "v2 / cuDNN", "v2 of the roof"], lines)
