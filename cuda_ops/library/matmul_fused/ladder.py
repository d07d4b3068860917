"""The ladders of products of half-precision matrices with an activation and a residual in the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cuda_ops.library.ladder import Ladder, Problem, Version
from cuda_ops.library.matmul_half.tiles import BOX, HALF, ROWS, fits_engine, layout_of, maps_of, tile_for
from cuda_ops.runtime.launcher import I32, Launcher, Ptr, TensorMap, ceil_div

RESIDUAL, RELU, SILU = range(3)
"""Values of the template argument ACTIVATION of v1_engine.cu."""


def _launch(activation: int, launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    a, b, bias, residual, out = arrays
    tile = tile_for(problem)
    sizes = f"{tile.columns}, {layout_of(problem)}, {tile.stages}, {tile.group}, {activation}"
    kernel = f"matmul_fused_engine<{problem.element.cuda}, {sizes}>"
    shared_bytes = tile.shared_bytes(by_engine=True)
    blocks = ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), blocks), 1, 1),
        384,
        [
            *maps_of(problem, a, b),
            Ptr(bias),
            Ptr(residual),
            TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
            I32(problem.rows),
            I32(problem.columns),
            I32(problem.depth),
        ],
        shared_bytes=shared_bytes,
    )


def _moved_bytes(problem: Problem) -> int:
    elements = problem.rows * problem.depth + problem.depth * problem.columns + problem.count
    return elements * problem.element.size_bytes


def _operations(problem: Problem) -> int:
    return 2 * problem.count * problem.depth


def _preferred(problem: Problem) -> int:
    return 1


def _ladder(name: str, formula: str, launch: Callable[..., None]) -> Ladder:
    return Ladder(
        name=name,
        folder="matmul_fused",
        formula=formula,
        arrays=("a", "b", "bias", "residual", "out"),
        moved_bytes=_moved_bytes,
        operations=_operations,
        preferred=_preferred,
        is_product=True,
        tensor_products=1,
        versions=(
            Version(
                1,
                "engine",
                change="matmul_half's persistent kernel; bias, activation and residual are applied to the sums.",
                why="The product is not written and read again, and rounded once.",
                limit="The tensor cores; and residuals, which are loaded in pairs while sums are stored.",
                launch=launch,
                fits=fits_engine,
                architecture_min=90,
                elements=HALF,
                has_cpu_form=False,
                instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "STSM.16.M88.4", "UTMASTG.2D"),
            ),
        ),
    )


MATMUL_RESIDUAL = _ladder("matmul_residual", "out = a b + bias + residual, half precision", partial(_launch, RESIDUAL))
MATMUL_RELU = _ladder("matmul_relu", "out = max(a b + bias, 0) + residual, half precision", partial(_launch, RELU))
MATMUL_SILU = _ladder(
    "matmul_silu", "out = x / (1 + e^-x) + residual, x = a b + bias, half precision", partial(_launch, SILU)
)
