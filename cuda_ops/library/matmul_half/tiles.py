"""Tiles of products by warpgroups: what the copy engine loads for them, how long they take, and which to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuda_ops.library.ladder import BFLOAT16, FLOAT16, PACK_BYTES, Problem
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, TensorMap, ceil_div

HALF = (BFLOAT16, FLOAT16)
BOX = 64
"""Rows and columns of a box that the copy engine copies at once: AV_BOX of av_half_warpgroups.cuh."""
BOX_BYTES = BOX * BOX * 2
ALIGNMENT_BYTES = 1024
"""Alignment of boxes in shared memory."""
ROWS = 128
"""Rows of a tile of versions 5 to 7."""
TILE_ROWS_MAX = 256


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a block of versions 5 to 7: `ROWS` x `columns` elements.

    * `stages`: steps of the depth that are loaded ahead.
    * `group`: consecutive tiles go down this number of rows of tiles (version 7: of pairs of rows).
    """

    columns: int
    stages: int
    group: int

    def shared_bytes(self, by_engine: bool) -> int:
        """Dynamic shared memory; with `by_engine`, the copy engine stores the sums, which need memory too."""
        boxes = self.stages * (ROWS + self.columns) // BOX + (4 if by_engine else 0)
        return boxes * BOX_BYTES + ALIGNMENT_BYTES


TILES = {Tile(256, 4, 8): 1.0, Tile(192, 4, 8): 0.79, Tile(128, 6, 8): 0.53, Tile(64, 8, 8): 0.43}
"""The time of one step of each tile on a processor, relative to a step of the largest tile (measured on an H100).

This step of the largest tile, 128 x 256, is the unit of time in this file."""
STEPS_OF_END = 2
"""Time in which a block stores its sums, in steps."""
BYTES_OF_STEP = 1_300_000
"""Bytes that are read from memory in the time of a step."""
PROCESSORS = 132
"""Number of processors of an H100, for which tiles are chosen."""


def blocks_of(problem: Problem, rows: int, columns: int) -> int:
    """The number of tiles of `rows` x `columns` of all results."""
    return problem.batch.count * ceil_div(problem.rows, rows) * ceil_div(problem.columns, columns)


def layout_of(problem: Problem) -> str:
    """The template arguments A_IS_WIDE, B_IS_WIDE."""
    return f"{flag(problem.a_is_transposed)}, {flag(not problem.b_is_transposed)}"


def sizes_of(problem: Problem) -> list[Argument]:
    """Rows, columns and depth as a kernel's arguments."""
    return [I32(problem.rows), I32(problem.columns), I32(problem.depth)]


def maps_of(problem: Problem, a: Any, b: Any) -> list[Argument]:
    """The copy engine's maps of both matrices, in their layout in memory."""
    of_a, of_b = as_it_lies(problem)
    return [TensorMap(a, 2, *of_a, BOX, BOX), TensorMap(b, 2, *of_b, BOX, BOX)]


def memory_steps(problem: Problem) -> float:
    """The time in which the matrices are read from memory, in steps."""
    moved = problem.rows * problem.depth + problem.depth * problem.columns + problem.count
    return problem.batch.count * moved * problem.element.size_bytes / BYTES_OF_STEP


def products_of_tile(problem: Problem, tile: Tile, rows: int) -> float:
    """The time of the products alone, in steps, for clusters of `rows` rows."""
    rounds = ceil_div(blocks_of(problem, rows, tile.columns) * (rows // ROWS), PROCESSORS)
    return rounds * (ceil_div(problem.depth, BOX) * TILES[tile] + STEPS_OF_END)


def time_of_tile(problem: Problem, tile: Tile, rows: int) -> float:
    """The longer of the times of the products and of reading the matrices, in steps."""
    return max(products_of_tile(problem, tile, rows), memory_steps(problem) + STEPS_OF_END)


def tile_for(problem: Problem, rows: int = ROWS) -> Tile:
    """The tile with the shortest time on `PROCESSORS` processors; `rows` are those of a cluster."""
    tiles = (tile for tile in TILES if tile.columns // BOX % (rows // ROWS) == 0)
    return min(tiles, key=lambda tile: time_of_tile(problem, tile, rows))


def as_it_lies(problem: Problem) -> tuple[tuple[int, int], tuple[int, int]]:
    """(number of lines in memory, their length) of `a` and of `b`."""
    of_a = (problem.depth, problem.rows) if problem.a_is_transposed else (problem.rows, problem.depth)
    of_b = (problem.columns, problem.depth) if problem.b_is_transposed else (problem.depth, problem.columns)
    return of_a, of_b


def fits_integers(problem: Problem) -> bool:
    """Whether each size and the number of blocks fit 32 bits."""
    return max(problem.rows, problem.columns, problem.depth + TILE_ROWS_MAX, blocks_of(problem, 8, 32)) < 2**31


def fits_engine_sizes(problem: Problem) -> bool:
    """Whether wgmma and the copy engine support a problem of these sizes."""
    sizes = max(problem.rows, problem.columns, problem.depth) + TILE_ROWS_MAX
    return problem.architecture == 90 and sizes < 2**31 and fits_integers(problem)


def fits_engine(problem: Problem) -> bool:
    """Whether wgmma and the copy engine support the problem; rows must begin at multiples of 16 bytes."""
    return problem.lanes * problem.element.size_bytes == PACK_BYTES and fits_engine_sizes(problem)


def transposed_of(problem: Problem) -> tuple[bool, bool]:
    """Whether `a`, and `b`, is in memory column by column."""
    return problem.a_is_transposed, problem.b_is_transposed
