"""Which tiles share the depth of a product, and which other shapes of tiles are used: versions 8 and 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from cuda_ops.library.ladder import Launch, Problem, line_of
from cuda_ops.library.matmul_half.tiles import (
    ALIGNMENT_BYTES,
    BOX,
    BOX_BYTES,
    PROCESSORS,
    ROWS,
    STEPS_OF_END,
    TILES,
    as_it_lies,
    blocks_of,
    fits_engine,
    layout_of,
    maps_of,
    memory_steps,
    sizes_of,
    tile_for,
    time_of_tile,
    transposed_of,
)
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Launcher, Ptr, TensorMap, ceil_div

SECTOR = 16
"""Elements in 32 bytes, the unit in which the L2 cache delivers data.

If lines do not begin at multiples of it, boxes take longer to load, and it is faster if blocks share them."""


@dataclass(frozen=True, slots=True)
class Split:
    """A tile of `ROWS` x `columns` of version 8; each of the `blocks` blocks of a cluster takes a part of the depth."""

    columns: int
    stages: int
    blocks: int

    @property
    def shared_bytes(self) -> int:
        sums = ROWS * (self.columns + 8) * 4
        return self.stages * (ROWS + self.columns) // BOX * BOX_BYTES + sums + ALIGNMENT_BYTES


SPLITS = tuple(Split(columns, stages, blocks) for columns, stages in ((128, 4), (64, 6)) for blocks in (2, 4))
BLOCKS_OF_CLUSTERS = {2: 128, 4: 112}
"""Number of blocks that run at the same time in clusters of 2 and 4; some groups of processors (GPC) have idle ones."""
STEPS_OF_SPLIT = 6
"""Time in which the blocks of a cluster add up and store their sums, in steps."""


def _time_of_split(problem: Problem, split: Split) -> float:
    rounds = ceil_div(blocks_of(problem, ROWS, split.columns) * split.blocks, BLOCKS_OF_CLUSTERS[split.blocks])
    steps = ceil_div(ceil_div(problem.depth, BOX), split.blocks)
    cost = next(cost for tile, cost in TILES.items() if tile.columns == split.columns)
    return max(rounds * (steps * cost + STEPS_OF_SPLIT), memory_steps(problem) + STEPS_OF_SPLIT)


def split_for(problem: Problem) -> Split:
    """The tile and the number of blocks with the shortest time."""
    return min(SPLITS, key=lambda split: _time_of_split(problem, split))


def split(rule: Callable[[Problem], Split] = split_for) -> Launch:
    """Launch rule of version 8."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, *_ = arrays
        one = rule(problem)
        sizes = f"{one.columns}, {layout_of(problem)}, {one.stages}, {one.blocks}"
        launcher.launch(
            f"matmul_half_split<{problem.element.cuda}, {sizes}>",
            (blocks_of(problem, ROWS, one.columns) * one.blocks, 1, 1),
            384,
            [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *sizes_of(problem)],
            shared_bytes=one.shared_bytes,
            cluster=one.blocks,
        )

    return launch


@dataclass(frozen=True, slots=True)
class Shape:
    """The tile of a block of version 10: `rows` x `columns` elements.

    The `blocks` blocks of a cluster compute tiles below each other; `parts` blocks share the depth of each tile.
    """

    rows: int
    columns: int
    blocks: int = 1
    parts: int = 1

    @property
    def out_boxes(self) -> int:
        """Number of boxes in shared memory for the results of a warpgroup."""
        return 1 if self.rows > 2 * BOX or self.columns < 2 * BOX else 2

    @property
    def stage_bytes(self) -> int:
        return (self.rows // BOX + ceil_div(self.columns, BOX)) * BOX_BYTES

    @property
    def stages(self) -> int:
        """Number of steps that fit into shared memory beside the results."""
        left = SHARED_MAX - ALIGNMENT_BYTES - self.rows // BOX * self.out_boxes * BOX_BYTES
        return min(STAGES_MAX, left // self.stage_bytes)

    @property
    def shared_bytes(self) -> int:
        results = self.rows // BOX * self.out_boxes * BOX_BYTES
        return self.stages * self.stage_bytes + results + ALIGNMENT_BYTES

    def tiles(self, problem: Problem) -> int:
        """Number of tiles of all blocks."""
        return blocks_of(problem, self.rows * self.blocks, self.columns) * self.blocks

    def kernel(self, problem: Problem) -> str:
        sizes = f"{self.rows // BOX}, {self.columns}, {layout_of(problem)}, {self.stages}, {self.blocks}"
        group = GROUP_ROWS // (self.rows * self.blocks)
        return f"matmul_half_shapes<{problem.element.cuda}, {sizes}, {group}, {self.out_boxes}, {flag(self.parts > 1)}>"


SHARED_MAX, STAGES_MAX = 226 << 10, 10
"""Maximum dynamic shared memory of a block, bytes, and maximum number of stages of a shape."""
GROUP_ROWS = 1024
"""Consecutive tiles go down this number of rows of the result."""
SHAPES = (
    *((64, columns) for columns in (64, 128)),
    *((128, columns) for columns in (64, 128, 160, 192, 208, 224, 256)),
    *((192, columns) for columns in (96, 128, 160, 192)),
)
"""Rows and columns of the tiles of version 10."""
PARTS = (1, 2, 3, 4, 6, 8)
PARTS_MAX, SHARING_BLOCKS = 4, 108
"""Most parts of a depth, and most blocks that share depths: with more, it takes longer to join the sums (H100)."""
FEW_ROWS, FEW_ROWS_DEPTH = 16, 4096
"""Rows, of which most of a box are none, and the depth from which on more blocks bring them faster (H200)."""
COUNTERS = 126
"""Control words, one for each tile whose depth is shared."""
LINES = 187
"""Number of lines of boxes that are loaded in the time of a step, if lines do not begin at multiples of 32 bytes."""
WIDE_PAIRS = Shape(128, 224, 2)
WIDE_PAIRS_STEP = 0.9
"""Time of a step of `WIDE_PAIRS`, in steps, for large products."""
WIDE_PAIRS_GAIN, WIDE_PAIRS_DEPTH = 0.95, 1024
"""`WIDE_PAIRS` is used if its time is below this fraction of version 6's, and the depth is at least this large."""


def time_of_shape(problem: Problem, shape: Shape) -> float:
    """The time of the product, in steps, if lines do not begin at multiples of 32 bytes."""
    size = shape.rows * shape.columns / (ROWS * 256)
    columns = shape.columns if problem.b_is_transposed else ceil_div(shape.columns, BOX) * BOX
    step = max(size, (shape.rows + columns / shape.blocks) / LINES)
    rounds = ceil_div(shape.tiles(problem) * shape.parts, PROCESSORS)
    steps = ceil_div(ceil_div(problem.depth, BOX), shape.parts)
    return rounds * steps * step


def shapes_for(problem: Problem, blocks: Sequence[int] = (1, 2)) -> list[Shape]:
    """The shapes with which version 10 can run the problem, with `blocks` in a cluster."""
    steps = ceil_div(problem.depth, BOX)
    made = [Shape(*size, block, parts) for size in SHAPES for block in blocks for parts in PARTS if parts <= steps]
    return [one for one in made if one.parts == 1 or _can_share(one, problem)]


def _can_share(shape: Shape, problem: Problem) -> bool:
    """Whether there is a counter for each tile, and all parts of all tiles can run at the same time."""
    tiles = shape.tiles(problem)
    return tiles <= COUNTERS and tiles * shape.parts <= PROCESSORS


def loads_slowly(problem: Problem) -> bool:
    """Whether boxes load slowly, because lines do not begin at multiples of 32 bytes."""
    return line_of(problem.rows, problem.columns, problem.depth, transposed_of(problem)) % SECTOR != 0


@lru_cache(maxsize=4096)
def shape_for(problem: Problem) -> Shape:
    """The shape that was the fastest for such problems in the timed sizes."""
    if loads_slowly(problem):
        found = [one for one in shapes_for(problem, (2,)) if one.parts == 1]
        return min(found, key=lambda shape: (time_of_shape(problem, shape), -shape.columns))
    wide = Shape(64, 128, parts=PARTS_MAX)
    if problem.rows <= FEW_ROWS and problem.depth >= FEW_ROWS_DEPTH and _can_share(wide, problem):
        return wide
    small = Shape(64, 64)
    if small.tiles(problem) <= PROCESSORS and min(problem.rows, problem.columns) <= 2 * BOX:
        return small
    return _shared_depth(problem) if _is_split(problem) else WIDE_PAIRS


def _shared_depth(problem: Problem) -> Shape:
    """The shape for few tiles with a shared depth: the smaller one, if several blocks can share its depth."""
    steps = ceil_div(problem.depth, BOX)
    for shape in (Shape(64, 128), Shape(128, 128)):
        parts = min(PARTS_MAX, SHARING_BLOCKS // shape.tiles(problem), steps)
        if parts > 1:
            break
    return replace(shape, parts=max(1, parts))


def _is_split(problem: Problem) -> bool:
    """Whether there are so few tiles that sharing their depth is faster."""
    return _time_of_split(problem, split_for(problem)) < time_of_tile(problem, tile_for(problem), ROWS)


def fills_with_pairs(problem: Problem) -> bool:
    """Whether tiles of 128 x 224 are faster than version 6, because they fill the last round of blocks better."""
    rounds = ceil_div(WIDE_PAIRS.tiles(problem), PROCESSORS)
    time = rounds * (ceil_div(problem.depth, BOX) * WIDE_PAIRS_STEP + STEPS_OF_END)
    return (
        problem.depth >= WIDE_PAIRS_DEPTH
        and rounds > 2
        and time < WIDE_PAIRS_GAIN * time_of_tile(problem, tile_for(problem), ROWS)
    )


def shapes(rule: Callable[[Problem], Shape] = shape_for) -> Launch:
    """Launch rule of version 10."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, _, _, partial = arrays
        one = rule(problem)
        of_a, of_b = as_it_lies(problem)
        lines_b = (one.columns if problem.b_is_transposed else BOX) // one.blocks
        kernel, threads = one.kernel(problem), 128 * (one.rows // BOX + 1)
        resident = launcher.resident_blocks(kernel, threads, one.shared_bytes, one.blocks)
        launcher.launch(
            kernel,
            (min(resident // one.blocks * one.blocks, one.tiles(problem) * one.parts), 1, 1),
            threads,
            [
                TensorMap(a, 2, *of_a, BOX, BOX),
                TensorMap(b, 2, *of_b, lines_b, BOX),
                Ptr(bias),
                TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
                Ptr(out),
                Ptr(partial if one.parts > 1 else None),
                Ptr(launcher.control_words() if one.parts > 1 else None),
                *sizes_of(problem),
                I32(one.parts),
            ],
            shared_bytes=one.shared_bytes,
            cluster=one.blocks,
        )

    return launch


def partial_bytes(problem: Problem) -> int:
    """Bytes of the partial sums of version 10."""
    if not fits_engine(problem):
        return 0
    one = shape_for(problem)
    return one.tiles(problem) * one.parts * one.rows * one.columns * 4 if one.parts > 1 else 0
