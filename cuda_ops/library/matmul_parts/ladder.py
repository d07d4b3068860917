"""The ladder of the product of float32 matrices on the tensor cores: each number is split into parts of bfloat16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Ladder, Launch, Problem, Version
from cuda_ops.library.matmul_half.tiles import BOX, ROWS, Tile, fits_engine_sizes, tile_for
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, I64, Argument, Launcher, Ptr, TensorMap, ceil_div

PARTS, PAIRS = 3, 6
"""Number of parts of a number, and of pairs of parts that are multiplied."""
HALF_TILE = Tile(128, 6, 8)
"""Tile of version 2; it is narrow because a thread needs registers for two sums of each element."""
RUN = 2048
"""Length of depth after which version 3 starts new sums in the tensor cores."""
CHUNK = 2048
"""Elements that a block of the first kernel splits."""


def _depth_of(problem: Problem) -> int:
    """The depth of a part, rounded up to whole boxes."""
    return ceil_div(problem.depth, BOX) * BOX


def _columns_of(problem: Problem) -> int:
    """The columns of a part of `b`, rounded up so that rows begin at multiples of 16 bytes."""
    return ceil_div(problem.columns, 8) * 8


def _launch(tile: Tile, launcher: Launcher, problem: Problem, arrays: Sequence[Any], more: str = "") -> None:
    """Split both matrices into parts, then multiply; `more` is appended to the kernel's template arguments."""
    a, b, out, parts_a, parts_b = arrays
    depth, columns = _depth_of(problem), _columns_of(problem)
    write = f"matmul_parts_write<{problem.lanes}>"
    of_a: list[Argument] = [
        Ptr(a),
        Ptr(parts_a),
        I32(problem.rows),
        I32(problem.depth),
        I32(depth),
        I64(PARTS * depth),
        I64(depth),
    ]
    launcher.launch(write, (problem.rows * ceil_div(depth, CHUNK), 1, 1), 256, of_a)
    of_b: list[Argument] = [Ptr(b), Ptr(parts_b), I32(problem.depth), I32(problem.columns), I32(columns), I64(columns)]
    launcher.launch(write, (depth * ceil_div(columns, CHUNK), 1, 1), 256, [*of_b, I64(depth * columns)])
    kernel = f"matmul_parts_multiply<{tile.columns}, {tile.stages}, {tile.group}, {flag(problem.lanes > 1)}{more}>"
    shared_bytes = tile.shared_bytes(by_engine=False)
    blocks = ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), blocks), 1, 1),
        384,
        [
            TensorMap(parts_a, BFLOAT16.size_bytes, problem.rows, PARTS * depth, BOX, BOX),
            TensorMap(parts_b, BFLOAT16.size_bytes, PARTS * depth, columns, BOX, BOX),
            Ptr(out),
            I32(problem.rows),
            I32(problem.columns),
            I32(depth),
        ],
        shared_bytes=shared_bytes,
    )


def _three(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    _launch(tile_for(problem), launcher, problem, arrays)


def _fresh(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    _launch(HALF_TILE, launcher, problem, arrays)


def runs(run: int = RUN) -> Launch:
    """Launch rule of version 3."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        _launch(tile_for(problem), launcher, problem, arrays, f", {run}")

    return launch


def _fits(problem: Problem) -> bool:
    """Whether each size, the depth of all pairs, and the number of blocks that write parts fit 32 bits."""
    depth, columns = _depth_of(problem), _columns_of(problem)
    blocks = max(problem.rows * ceil_div(depth, CHUNK), depth * ceil_div(columns, CHUNK))
    return fits_engine_sizes(problem) and max(PAIRS * depth, blocks) < 2**31


MATMUL_PARTS = Ladder(
    name="matmul_parts",
    folder="matmul_parts",
    formula="out = a b, matrices, in parts of bfloat16",
    arrays=("a", "b", "out", "parts_a", "parts_b"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth + problem.depth * problem.columns + problem.count) * problem.element.size_bytes
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=lambda problem: 3,
    is_product=True,
    tensor_products=PAIRS,
    scratch={
        "parts_a": lambda problem: PARTS * problem.rows * _depth_of(problem) * BFLOAT16.size_bytes,
        "parts_b": lambda problem: PARTS * _depth_of(problem) * _columns_of(problem) * BFLOAT16.size_bytes,
    },
    versions=(
        Version(
            1,
            "three",
            change="Each float32 is the sum of three bfloat16; six of the nine products of such parts are added up.",
            why="Six products of half precision take half the time of one in float32 without tensor cores, and what "
            "they leave out is less than float32's rounding.",
            limit="Accuracy: the tensor cores cut their sums off after each product, so errors grow with the depth.",
            launch=_three,
            fits=_fits,
            architecture_min=90,
            elements=(FLOAT32,),
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "F2FP.BF16"),
        ),
        Version(
            2,
            "fresh",
            change="The tensor cores' sums begin anew every 512 of the depth, and are added up in float32.",
            why="Errors grow with 512 and not with the depth, in a tile half as broad.",
            limit="The arithmetic of the tensor cores: six multiply-adds for each.",
            launch=_fresh,
            fits=_fits,
            architecture_min=90,
            elements=(FLOAT32,),
            has_cpu_form=False,
            instructions=("HGMMA.64x128x16.F32.BF16", "UTMALDG.2D", "F2FP.BF16"),
        ),
        Version(
            3,
            "runs",
            change=f"The tensor cores' sums begin anew every {RUN} of the depth, and are added up in the result.",
            why="Errors no longer grow with the depth, and no registers are needed, so the tile is as broad as in "
            "version 1.",
            limit="The arithmetic of the tensor cores: six multiply-adds for each.",
            launch=runs(),
            fits=_fits,
            architecture_min=90,
            elements=(FLOAT32,),
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "F2FP.BF16", "LDG.E.64"),
        ),
    ),
)
