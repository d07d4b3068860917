"""The ladders of products of half-precision matrices whose rows are normalized in the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cuda_ops.library.ladder import Ladder, Problem, Version
from cuda_ops.library.matmul_half.tiles import ALIGNMENT_BYTES, BOX, BOX_BYTES, HALF, fits_engine, layout_of, maps_of
from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, TensorMap, ceil_div

STAGES = {256: 2, 128: 4, 64: 6}
"""Steps of the depth that are loaded ahead, for each number of columns of a warpgroup."""
BLOCKS = (1, 2, 4, 8)
"""Possible numbers of blocks in a cluster, which computes whole rows."""
COLUMNS_MAX = 2 * max(STAGES) * max(BLOCKS)
OUT_BOXES = 4


def _shape(problem: Problem) -> tuple[int, int]:
    """(columns of a warpgroup, blocks of a cluster): the smallest numbers with which a cluster holds whole rows."""
    for columns in sorted(STAGES):
        if 2 * columns >= problem.columns:
            return columns, 1
    return max(STAGES), next(blocks for blocks in BLOCKS if 2 * max(STAGES) * blocks >= problem.columns)


def _launch(kind: str, launcher: Launcher, problem: Problem, arrays: Sequence[Any], more: Sequence[Argument]) -> None:
    a, b, *parts, out = arrays
    columns, blocks = _shape(problem)
    stages = STAGES[columns]
    sizes = f"{columns}, {layout_of(problem)}, {stages}, {blocks}"
    kernel = f"matmul_rows_{kind}<{problem.element.cuda}, {sizes}>"
    shared_bytes = (stages * (1 + 2 * columns // BOX) + OUT_BOXES) * BOX_BYTES + ALIGNMENT_BYTES
    resident = launcher.resident_blocks(kernel, 384, shared_bytes, blocks)
    launcher.launch(
        kernel,
        (min(resident // blocks, ceil_div(problem.rows, BOX)) * blocks, 1, 1),
        384,
        [
            *maps_of(problem, a, b),
            *map(Ptr, parts),
            TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
            I32(problem.rows),
            I32(problem.columns),
            I32(problem.depth),
            *more,
        ],
        shared_bytes=shared_bytes,
        cluster=blocks,
    )


def _softmax(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    _launch("softmax", launcher, problem, arrays, ())


def _layer_norm(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    _launch("layer_norm", launcher, problem, arrays, (F32(problem.epsilon),))


def fits(problem: Problem) -> bool:
    """Whether a cluster can hold whole rows, and rows begin at multiples of 16 bytes."""
    return problem.columns <= COLUMNS_MAX and fits_engine(problem)


def _ladder(name: str, formula: str, arrays: tuple[str, ...], launch: Callable[..., None]) -> Ladder:
    return Ladder(
        name=name,
        folder="matmul_rows",
        formula=formula,
        arrays=arrays,
        moved_bytes=lambda problem: (
            (problem.rows * problem.depth + problem.depth * problem.columns + problem.count)
            * problem.element.size_bytes
        ),
        operations=lambda problem: 2 * problem.count * problem.depth,
        preferred=lambda problem: 1,
        is_product=True,
        tensor_products=1,
        versions=(
            Version(
                1,
                "rows",
                change="A cluster of up to 8 blocks computes 64 whole rows; its blocks exchange two numbers for each "
                "row through distributed shared memory, and normalize the sums in their registers.",
                why="The product is written once and not read again; it is normalized in float32.",
                limit="Each cluster brings all of the second matrix from the L2 cache for 64 rows, and writes its "
                "rows while its tensor cores wait.",
                launch=launch,
                fits=fits,
                architecture_min=90,
                elements=HALF,
                has_cpu_form=False,
                instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "SYNCS", "UTMASTG.2D"),
            ),
        ),
    )


MATMUL_SOFTMAX = _ladder(
    "matmul_softmax",
    "out = softmax(a b + bias) over each row, half precision",
    ("a", "b", "bias", "out"),
    _softmax,
)
MATMUL_LAYER_NORM = _ladder(
    "matmul_layer_norm",
    "out = LayerNorm(a b + bias) over each row, half precision",
    ("a", "b", "bias", "weight", "shift", "out"),
    _layer_norm,
)
