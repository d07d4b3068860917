"""The ladders of the products of two matrices of 8-bit numbers, on the tensor cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cuda_ops.library.ladder import BFLOAT16, FLOAT8, INT8, Element, Ladder, Launch, Problem, Version
from cuda_ops.library.matmul_half.tiles import BOX, ROWS, TILES, Tile, fits_engine_sizes, time_of_tile
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, TensorMap, ceil_div

BOX_DEPTH = 128
"""Depth of a box of 8-bit elements: AV_BOX_DEPTH of av_half_warpgroups.cuh."""
PITCH = 16
"""The lines of both matrices must be a multiple of this number of bytes for the copy engine."""
STORED = 8
"""The rows of `out` must be a multiple of this number of elements for the copy engine to store them."""
NARROW_TILES = (Tile(192, 4, 8), Tile(128, 6, 8), Tile(64, 8, 8))
"""Tiles of versions 2 and 3; they are narrow because a thread needs registers for two sums of each element."""
SUMS = {FLOAT8: "float", INT8: "int"}
"""Type of the sums for each type of elements."""


def tile_for(problem: Problem, tiles: Sequence[Tile] = tuple(TILES)) -> Tile:
    """The fastest tile: that of a half-precision product with the same number of steps."""
    alike = replace(problem, element=BFLOAT16, depth=ceil_div(problem.depth, BOX_DEPTH) * BOX)
    return min(tiles, key=lambda tile: time_of_tile(alike, tile, ROWS))


def multiply(tiles: Sequence[Tile] = tuple(TILES)) -> Launch:
    """Launch rule of all versions; the problem's depth is a multiple of `PITCH`."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, *scales, out = arrays
        tile = tile_for(problem, tiles)
        by_engine = problem.lanes >= STORED
        types = f"{problem.element.cuda}, {SUMS[problem.element]}"
        sizes = f"{types}, {tile.columns}, {tile.stages}, {tile.group}"
        kernel = "matmul_quantized_" + (f"engine<{sizes}>" if by_engine else f"anywhere<{sizes}, {_pairs(problem)}>")
        shared_bytes = tile.shared_bytes(by_engine)
        blocks = ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
        to: Argument = TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX) if by_engine else Ptr(out)
        pitch = ceil_div(problem.depth, PITCH) * PITCH
        launcher.launch(
            kernel,
            (min(launcher.resident_blocks(kernel, 384, shared_bytes), blocks), 1, 1),
            384,
            [
                TensorMap(a, 1, problem.rows, pitch, BOX, BOX_DEPTH),
                TensorMap(b, 1, problem.columns, pitch, BOX, BOX_DEPTH),
                *map(Ptr, scales),
                to,
                I32(problem.rows),
                I32(problem.columns),
                I32(problem.depth),
            ],
            shared_bytes=shared_bytes,
        )

    return launch


def _pairs(problem: Problem) -> str:
    return flag(problem.lanes > 1)


ARRAYS = ("a", "b", "scale_a", "scale_b", "scales_of_rows", "scales_of_columns", "out")


def _moved_bytes(problem: Problem) -> int:
    return problem.rows * problem.depth + problem.depth * problem.columns + BFLOAT16.size_bytes * problem.count


def _operations(problem: Problem) -> int:
    return 2 * problem.count * problem.depth


def _whole(element: Element, change: str, limit: str, instruction: str) -> Version:
    return Version(
        1,
        "whole",
        change=change,
        why="Twice the products of half precision in the same time, and half the bytes.",
        limit=limit,
        launch=multiply(),
        fits=fits_engine_sizes,
        architecture_min=90,
        elements=(element,),
        has_cpu_form=False,
        instructions=(instruction, "UTMALDG.2D", "STSM.16.M88.4", "UTMASTG.2D"),
    )


MATMUL_FP8 = Ladder(
    name="matmul_fp8",
    folder="matmul_quantized",
    formula="out = scales (a b), matrices of e4m3, in bfloat16",
    arrays=ARRAYS,
    moved_bytes=_moved_bytes,
    operations=_operations,
    preferred=lambda problem: 3,
    is_product=True,
    tensor_products=0.5,
    versions=(
        _whole(
            FLOAT8,
            "Elements of 8 bits, in matrices whose depth lies side by side; sums stay in the tensor cores.",
            "Accuracy: the tensor cores keep 14 bits of these sums, so errors grow with the depth.",
            "QGMMA.64x256x32.F32.E4M3.E4M3",
        ),
        Version(
            2,
            "promoted",
            change="Sums begin anew every 128 of the depth, and are added up in float32.",
            why="Errors are those of 128 products, at any depth.",
            limit="Registers: two sums for each element, so tiles are narrower; and 128 additions of each thread for "
            "every step, while its products wait.",
            launch=multiply(NARROW_TILES),
            fits=fits_engine_sizes,
            architecture_min=90,
            elements=(FLOAT8,),
            has_cpu_form=False,
            instructions=("QGMMA.64x128x32.F32.E4M3.E4M3", "UTMALDG.2D", "FADD", "UTMASTG.2D"),
        ),
        Version(
            3,
            "runs",
            change="Sums are added up in float32 every 512 of the depth.",
            why="A quarter of the additions, and the tensor cores wait for them a quarter as often.",
            limit="The power of the card.",
            launch=multiply(NARROW_TILES),
            fits=fits_engine_sizes,
            architecture_min=90,
            elements=(FLOAT8,),
            has_cpu_form=False,
            instructions=("QGMMA.64x128x32.F32.E4M3.E4M3", "UTMALDG.2D", "FADD", "UTMASTG.2D"),
        ),
    ),
)
MATMUL_INT8 = Ladder(
    name="matmul_int8",
    folder="matmul_quantized",
    formula="out = scales (a b), matrices of int8, in bfloat16",
    arrays=ARRAYS,
    moved_bytes=_moved_bytes,
    operations=_operations,
    preferred=lambda problem: 1,
    is_product=True,
    tensor_products=0.5,
    versions=(
        _whole(
            INT8,
            "Integers of 8 bits, in matrices whose depth lies side by side; sums of 32 bits are exact.",
            "The arithmetic of the tensor cores.",
            "IGMMA.64x256x32.S8.S8",
        ),
    ),
)
