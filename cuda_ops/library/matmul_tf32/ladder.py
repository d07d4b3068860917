"""The ladder of the product of float32 matrices on the tensor cores, which read 10 bits of each mantissa (TF32)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuda_ops.library.ladder import BFLOAT16, FLOAT32, Ladder, Launch, Problem, Version
from cuda_ops.library.matmul_half.tiles import (
    ALIGNMENT_BYTES,
    BOX,
    PROCESSORS,
    ROWS,
    TILES,
    Tile,
    fits_engine_sizes,
    time_of_tile,
)
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, TensorMap, ceil_div

BOX_DEPTH = 32
"""Depth of a box of float32: AV_BOX_DEPTH of av_half_warpgroups.cuh."""
PITCH = 4
"""The lines of both matrices must be a multiple of this number of elements for the copy engine."""
TILE_COLUMNS = 128
"""Columns of a tile of v2_registers.cu."""


@dataclass(frozen=True, slots=True)
class TallTile:
    """The tile of a block of version 2: `rows` x `TILE_COLUMNS` elements, with `stages` steps loaded ahead."""

    rows: int
    stages: int
    group: int

    @property
    def shared_bytes(self) -> int:
        return self.stages * (self.rows + TILE_COLUMNS) * BOX_DEPTH * FLOAT32.size_bytes + ALIGNMENT_BYTES


TALL_TILES = {TallTile(256, 4, 4): 1.0, TallTile(128, 6, 8): 0.53, TallTile(64, 8, 16): 0.3}
"""The estimated time of one step of each tile on a processor, relative to a step of the largest tile."""
STEPS_OF_END = 2
"""Time in which a block stores its sums, in steps of the largest tile."""


def _pitch(length: int) -> int:
    return ceil_div(length, PITCH) * PITCH


def _sizes(problem: Problem) -> list[Argument]:
    return [I32(problem.rows), I32(problem.columns), I32(problem.depth)]


def tile_for(problem: Problem) -> Tile:
    """The fastest tile of version 1: that of a half-precision product with the same number of steps."""
    alike = replace(problem, element=BFLOAT16, depth=ceil_div(problem.depth, BOX_DEPTH) * BOX)
    return min(TILES, key=lambda tile: time_of_tile(alike, tile, ROWS))


def tall_tile_for(problem: Problem) -> TallTile:
    """The tile of version 2 with the shortest time."""

    def time_of(tile: TallTile) -> float:
        rounds = ceil_div(_tall_blocks(problem, tile), PROCESSORS)
        return rounds * (ceil_div(problem.depth, BOX_DEPTH) * TALL_TILES[tile] + STEPS_OF_END)

    return min(TALL_TILES, key=time_of)


def _tall_blocks(problem: Problem, tile: TallTile) -> int:
    return ceil_div(problem.rows, tile.rows) * ceil_div(problem.columns, TILE_COLUMNS)


def _deep(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    a, b, out = arrays
    tile = tile_for(problem)
    kernel = f"matmul_tf32_deep<{tile.columns}, {tile.stages}, {tile.group}, {flag(problem.lanes > 1)}>"
    shared_bytes = tile.shared_bytes(by_engine=False)
    blocks = ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
    pitch = _pitch(problem.depth)
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), blocks), 1, 1),
        384,
        [
            TensorMap(a, 4, problem.rows, pitch, BOX, BOX_DEPTH),
            TensorMap(b, 4, problem.columns, pitch, BOX, BOX_DEPTH),
            Ptr(out),
            *_sizes(problem),
        ],
        shared_bytes=shared_bytes,
    )


def registers(rule: Callable[[Problem], TallTile] = tall_tile_for) -> Launch:
    """Launch rule of version 2."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, out = arrays
        tile = rule(problem)
        kernel = f"matmul_tf32_registers<{tile.rows}, {tile.stages}, {tile.group}, {flag(problem.lanes > 1)}>"
        resident = launcher.resident_blocks(kernel, 384, tile.shared_bytes)
        launcher.launch(
            kernel,
            (min(resident, _tall_blocks(problem, tile)), 1, 1),
            384,
            [
                TensorMap(a, 4, problem.rows, _pitch(problem.depth), BOX, BOX_DEPTH),
                TensorMap(b, 4, problem.depth, _pitch(problem.columns), BOX_DEPTH, BOX_DEPTH),
                Ptr(out),
                *_sizes(problem),
            ],
            shared_bytes=tile.shared_bytes,
        )

    return launch


MATMUL_TF32 = Ladder(
    name="matmul_tf32",
    folder="matmul_tf32",
    formula="out = a b, matrices of float32, read as TF32",
    arrays=("a", "b", "out"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth + problem.depth * problem.columns + problem.count) * problem.element.size_bytes
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=lambda problem: 1 if problem.b_is_transposed else 2,
    is_product=True,
    tensor_products=2,
    versions=(
        Version(
            1,
            "deep",
            change="The half-precision ladder's persistent kernel, on elements of 4 bytes. Where `b` does not lie "
            "with its depth side by side, it is copied first.",
            why="Half as many products in the same time as in half precision, and eight times those of float32.",
            limit="The copy: tensor cores read no other layout of 4 bytes from shared memory.",
            launch=_deep,
            fits=fits_engine_sizes,
            architecture_min=90,
            elements=(FLOAT32,),
            has_cpu_form=False,
            instructions=("HGMMA.64x256x8.F32.TF32", "UTMALDG.2D", "STG.E.64"),
        ),
        Version(
            2,
            "registers",
            change="`b` is read as it lies: as the first factor of the transposed product, from registers, into which "
            "it goes from shared memory while the products before run.",
            why="No copy. Each number of `b` is rounded to TF32, where tensor cores cut off what they read from shared "
            "memory.",
            limit="The tensor cores, and the card's power.",
            launch=registers(),
            fits=fits_engine_sizes,
            architecture_min=90,
            elements=(FLOAT32,),
            has_cpu_form=False,
            instructions=("HGMMA.64x256x8.F32.TF32", "UTMALDG.2D", "LDS.64", "STG.E.64"),
        ),
    ),
)
