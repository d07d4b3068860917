"""The ladder of the product of two half-precision matrices, on the tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from cuda_ops.library.ladder import BFLOAT16, FLOAT16, PACK_BYTES, Ladder, Launch, Problem, Version, line_of
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, TensorMap, ceil_div

HALF = (BFLOAT16, FLOAT16)
BOX = 64
"""Rows and columns of a box that the copy engine copies at once: AV_BOX of av_half_warpgroups.cuh."""
BOX_BYTES = BOX * BOX * 2
ALIGNMENT_BYTES = 1024
"""Alignment of boxes in shared memory."""
WMMA_TILE, MMA_TILE, WGMMA_TILE = 64, 128, 128
MMA_STAGES, MMA_DEPTH, MMA_PAD = 4, 32, 8
"""Stages, depth of a step, and padding of a line in v3_mma.cu."""
WGMMA_STAGES = 3
"""Stages of v4_wgmma.cu."""
ROWS = 128
"""Rows of a tile of versions 5 to 7."""
TILE_ROWS_MAX = 256
PAD_CHUNK = 2048
"""Elements of a line that a block of v9_padded.cu copies."""
SECTOR = 16
"""Elements in 32 bytes, the unit in which the L2 cache delivers data.

If lines do not begin at multiples of it, boxes take longer to load, and it is faster if blocks share them."""
PADDED_MIN = 1 << 28
"""Minimum number of multiply-adds for which copying both matrices is faster than not using the copy engine."""


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


def _blocks(problem: Problem, rows: int, columns: int) -> int:
    return problem.batch.count * ceil_div(problem.rows, rows) * ceil_div(problem.columns, columns)


def layout_of(problem: Problem) -> str:
    """The template arguments A_IS_WIDE, B_IS_WIDE."""
    return f"{flag(problem.a_is_transposed)}, {flag(not problem.b_is_transposed)}"


def _sizes(problem: Problem) -> list[Argument]:
    return [I32(problem.rows), I32(problem.columns), I32(problem.depth)]


def _threads(kernel: str, tile: int, rows: int, threads: int, has_lanes: bool, shared_bytes: int = 0) -> Launch:
    """Launch rule of versions 1 to 3: one block for each tile of `rows` x `tile`."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        lanes = f"{problem.lanes}, " if has_lanes else ""
        launcher.launch(
            f"{kernel}<{problem.element.cuda}, {lanes}{layout_of(problem)}>",
            (_blocks(problem, rows, tile), 1, 1),
            threads,
            [*map(Ptr, arrays[:4]), *_sizes(problem)],
            shared_bytes=shared_bytes,
        )

    return launch


def _mma_bytes() -> int:
    """Shared memory of v3_mma.cu: for each tile, that of the larger layout."""
    line = max(MMA_TILE * (MMA_DEPTH + MMA_PAD), MMA_DEPTH * (MMA_TILE + MMA_PAD))
    return MMA_STAGES * 2 * line * 2


def maps_of(problem: Problem, a: Any, b: Any) -> list[Argument]:
    """The copy engine's maps of both matrices, in their layout in memory."""
    of_a, of_b = _as_it_lies(problem)
    return [TensorMap(a, 2, *of_a, BOX, BOX), TensorMap(b, 2, *of_b, BOX, BOX)]


def _wgmma(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    a, b, bias, out, *_ = arrays
    launcher.launch(
        f"matmul_half_wgmma<{problem.element.cuda}, {layout_of(problem)}>",
        (_blocks(problem, WGMMA_TILE, WGMMA_TILE), 1, 1),
        256,
        [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *_sizes(problem)],
        shared_bytes=WGMMA_STAGES * 4 * BOX_BYTES + ALIGNMENT_BYTES,
    )


def _memory_steps(problem: Problem) -> float:
    """The time in which the matrices are read from memory, in steps."""
    moved = problem.rows * problem.depth + problem.depth * problem.columns + problem.count
    return problem.batch.count * moved * problem.element.size_bytes / BYTES_OF_STEP


def products_of_tile(problem: Problem, tile: Tile, rows: int) -> float:
    """The time of the products alone, in steps, for clusters of `rows` rows."""
    rounds = ceil_div(_blocks(problem, rows, tile.columns) * (rows // ROWS), PROCESSORS)
    return rounds * (ceil_div(problem.depth, BOX) * TILES[tile] + STEPS_OF_END)


def time_of_tile(problem: Problem, tile: Tile, rows: int) -> float:
    """The longer of the times of the products and of reading the matrices, in steps."""
    return max(products_of_tile(problem, tile, rows), _memory_steps(problem) + STEPS_OF_END)


def tile_for(problem: Problem, rows: int = ROWS) -> Tile:
    """The tile with the shortest time on `PROCESSORS` processors; `rows` are those of a cluster."""
    tiles = (tile for tile in TILES if tile.columns // BOX % (rows // ROWS) == 0)
    return min(tiles, key=lambda tile: time_of_tile(problem, tile, rows))


def _tile_of_pairs(problem: Problem) -> Tile:
    return tile_for(problem, 2 * ROWS)


def roles(rule: Callable[[Problem], Tile] = tile_for) -> Launch:
    """Launch rule of version 5."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, *_ = arrays
        tile = rule(problem)
        launcher.launch(
            f"matmul_half_roles<{problem.element.cuda}, {tile.columns}, {layout_of(problem)}, {tile.stages}>",
            (_blocks(problem, ROWS, tile.columns), 1, 1),
            384,
            [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *_sizes(problem)],
            shared_bytes=tile.shared_bytes(by_engine=False),
        )

    return launch


def persistent(name: str, blocks: int, rule: Callable[[Problem], Tile] = tile_for) -> Launch:
    """Launch rule of versions 6 and 7; `blocks` in a cluster are 1 and 2."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        a, b, bias, out, *_ = arrays
        tile = rule(problem)
        layout, shared_bytes = layout_of(problem), tile.shared_bytes(by_engine=True)
        kernel = f"matmul_half_{name}<{problem.element.cuda}, {tile.columns}, {layout}, {tile.stages}, {tile.group}>"
        resident = launcher.resident_blocks(kernel, 384, shared_bytes, blocks)
        launcher.launch(
            kernel,
            (min(resident // blocks * blocks, blocks * _blocks(problem, blocks * ROWS, tile.columns)), 1, 1),
            384,
            [
                *maps_of(problem, a, b),
                Ptr(bias),
                TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
                *_sizes(problem),
            ],
            shared_bytes=shared_bytes,
            cluster=blocks,
        )

    return launch


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
    rounds = ceil_div(_blocks(problem, ROWS, split.columns) * split.blocks, BLOCKS_OF_CLUSTERS[split.blocks])
    steps = ceil_div(ceil_div(problem.depth, BOX), split.blocks)
    cost = next(cost for tile, cost in TILES.items() if tile.columns == split.columns)
    return max(rounds * (steps * cost + STEPS_OF_SPLIT), _memory_steps(problem) + STEPS_OF_SPLIT)


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
            (_blocks(problem, ROWS, one.columns) * one.blocks, 1, 1),
            384,
            [*maps_of(problem, a, b), Ptr(bias), Ptr(out), *_sizes(problem)],
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
        return _blocks(problem, self.rows * self.blocks, self.columns) * self.blocks

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


def _is_shared(problem: Problem) -> bool:
    """Whether boxes load slowly, because lines do not begin at multiples of 32 bytes."""
    return line_of(problem.rows, problem.columns, problem.depth, _lies(problem)) % SECTOR != 0


@lru_cache(maxsize=4096)
def shape_for(problem: Problem) -> Shape:
    """The shape that was the fastest for such problems in the timed sizes."""
    if _is_shared(problem):
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


def _fills_with_pairs(problem: Problem) -> bool:
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
        of_a, of_b = _as_it_lies(problem)
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
                *_sizes(problem),
                I32(one.parts),
            ],
            shared_bytes=one.shared_bytes,
            cluster=one.blocks,
        )

    return launch


def _partial_bytes(problem: Problem) -> int:
    """Bytes of the partial sums of version 10."""
    if not fits_engine(problem):
        return 0
    one = shape_for(problem)
    return one.tiles(problem) * one.parts * one.rows * one.columns * 4 if one.parts > 1 else 0


def _as_it_lies(problem: Problem) -> tuple[tuple[int, int], tuple[int, int]]:
    """(number of lines in memory, their length) of `a` and of `b`."""
    of_a = (problem.depth, problem.rows) if problem.a_is_transposed else (problem.rows, problem.depth)
    of_b = (problem.columns, problem.depth) if problem.b_is_transposed else (problem.depth, problem.columns)
    return of_a, of_b


def _padded_length(length: int) -> int:
    """The length of a line after padding to a multiple of 128 bytes."""
    return ceil_div(length, BOX) * BOX


def _padded(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    *factors, bias, out, padded_a, padded_b, _ = arrays
    maps: list[Argument] = []
    for factor, padded, (lines, length) in zip(factors, (padded_a, padded_b), _as_it_lies(problem), strict=True):
        pitch = _padded_length(length)
        launcher.launch(
            f"matmul_half_pad<{problem.element.cuda}, {problem.lanes}>",
            (lines * ceil_div(pitch, PAD_CHUNK), 1, 1),
            256,
            [Ptr(factor), Ptr(padded), I32(lines), I32(length), I32(pitch)],
        )
        maps.append(TensorMap(padded, 2, lines, pitch, BOX, BOX))
    tile = tile_for(problem)
    shared_bytes = tile.shared_bytes(by_engine=False)
    sizes = f"{tile.columns}, {layout_of(problem)}, {tile.stages}, {tile.group}, {flag(problem.lanes > 1)}"
    kernel = f"matmul_half_padded<{problem.element.cuda}, {sizes}>"
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), _blocks(problem, ROWS, tile.columns)), 1, 1),
        384,
        [*maps, Ptr(bias), Ptr(out), *_sizes(problem)],
        shared_bytes=shared_bytes,
    )


def _scratch(number: int) -> Callable[[Problem], int]:
    """The bytes of the copy of `a` (0) or `b` (1) with padded lines."""

    def size(problem: Problem) -> int:
        lines, length = _as_it_lies(problem)[number]
        return lines * _padded_length(length) * problem.element.size_bytes

    return size


def _fits(problem: Problem) -> bool:
    """Whether each size and the number of blocks fit 32 bits."""
    return max(problem.rows, problem.columns, problem.depth + TILE_ROWS_MAX, _blocks(problem, 8, 32)) < 2**31


def fits_engine_sizes(problem: Problem) -> bool:
    """Whether wgmma and the copy engine support a problem of these sizes."""
    sizes = max(problem.rows, problem.columns, problem.depth) + TILE_ROWS_MAX
    return problem.architecture == 90 and sizes < 2**31 and _fits(problem)


def fits_engine(problem: Problem) -> bool:
    """Whether wgmma and the copy engine support the problem; rows must begin at multiples of 16 bytes."""
    return problem.lanes * problem.element.size_bytes == PACK_BYTES and fits_engine_sizes(problem)


def _lies(problem: Problem) -> tuple[bool, bool]:
    return problem.a_is_transposed, problem.b_is_transposed


def _fits_padded(problem: Problem) -> bool:
    """Whether version 9 can run: the number of blocks that copy lines must fit 32 bits too."""
    blocks = max(lines * ceil_div(_padded_length(length), PAD_CHUNK) for lines, length in _as_it_lies(problem))
    return fits_engine_sizes(problem) and blocks < 2**31


def _preferred(problem: Problem) -> int:
    if fits_engine(problem):
        shape = shape_for(problem)
        has_small_tiles = shape.rows == BOX or shape.parts > 1
        return 10 if _is_shared(problem) or has_small_tiles or _fills_with_pairs(problem) else 6
    if _fits_padded(problem) and problem.count * problem.depth >= PADDED_MIN:
        return 9
    return 3 if problem.architecture >= 80 else 1


MATMUL_HALF = Ladder(
    name="matmul_half",
    folder="matmul_half",
    formula="out = a b + bias, matrices of half precision",
    arrays=("a", "b", "bias", "out", "padded_a", "padded_b", "partial"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth + problem.depth * problem.columns + problem.count) * problem.element.size_bytes
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=_preferred,
    is_product=True,
    tensor_products=1,
    scratch={"padded_a": _scratch(0), "padded_b": _scratch(1), "partial": _partial_bytes},
    versions=(
        Version(
            1,
            "naive",
            change="One thread per element of the result, without tensor cores.",
            why="It runs on any GPU, and is the simplest kernel that gives the result.",
            limit="A multiply-add for two loads and two conversions.",
            launch=_threads("matmul_half_naive", 32, 8, 256, has_lanes=False),
            fits=_fits,
            elements=HALF,
        ),
        Version(
            2,
            "wmma",
            change="A warp multiplies matrices of 16 x 16 on the tensor cores (CUDA's WMMA), from shared memory.",
            why="One instruction of a warp does 2,048 multiply-adds instead of 32.",
            limit="The tensor cores wait while tiles are loaded. Which lane has which element is not known, so sums go "
            "through shared memory.",
            launch=_threads("matmul_half_wmma", WMMA_TILE, WMMA_TILE, 128, has_lanes=True),
            fits=_fits,
            architecture_min=80,
            elements=HALF,
            instructions=("HMMA.16816.F32.BF16", "LDSM"),
        ),
        Version(
            3,
            "mma",
            change="Products of 16 x 16 x 8 with known lanes (mma.sync), factors by ldmatrix, four steps of the depth "
            "on their way (cp.async), a tile of 128 x 128.",
            why="Nothing waits for a step; sums are stored from registers.",
            limit="The L2 cache, busy at 90 % of its peak (H100, 4096); and all factors pass through registers.",
            launch=_threads("matmul_half_mma", MMA_TILE, MMA_TILE, 256, has_lanes=True, shared_bytes=_mma_bytes()),
            fits=_fits,
            architecture_min=80,
            elements=HALF,
            instructions=("HMMA.16816.F32.BF16", "LDSM", "LDGSTS.E.BYPASS.128"),
        ),
        Version(
            4,
            "wgmma",
            change="Four warps multiply 64 x 128 from shared memory (wgmma), which the copy engine fills (TMA).",
            why="No factor and no address passes through registers.",
            limit="All warps wait for a stage's products before the next one is filled; the tensor cores wait too.",
            launch=_wgmma,
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x128x16.F32.BF16", "UTMALDG.2D", "SYNCS"),
        ),
        Version(
            5,
            "roles",
            change="Warpgroups have roles: one fills, two multiply 64 x 256 each, and take the registers of the first.",
            why="A stage's products begin while those before run, and each box of `b` serves twice as many.",
            limit="The tensor cores wait while sums are stored, and until the next block's first stage has come.",
            launch=roles(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "USETMAXREG"),
        ),
        Version(
            6,
            "persistent",
            change="As many blocks as run at once compute all tiles; sums go through shared memory to the copy engine.",
            why="The next tile's stages are filled while this one's sums are stored, in whole lines.",
            limit="Each block brings all of its factors from the L2 cache.",
            launch=persistent("persistent", 1),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
        Version(
            7,
            "cluster",
            change="Two blocks share the boxes of `b`: each brings half of them to both (multicast).",
            why="A third fewer boxes are asked for.",
            limit="The tensor cores, as before: the L2 cache was no limit where rows begin at multiples of 32 bytes, "
            "and its counters show no fewer bytes. Where rows begin elsewhere it gains a quarter, but boxes still come "
            "late.",
            launch=persistent("cluster", 2, _tile_of_pairs),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D.MULTICAST", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
        Version(
            8,
            "split",
            change="For few tiles: the blocks of a cluster share the depth of one tile, and add up their sums.",
            why="All processors work, where a block for each tile would leave most of them idle.",
            limit="Sums travel between the blocks of a cluster, and each block multiplies only a few steps.",
            launch=split(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x128x16.F32.BF16", "UTMALDG.2D", "UCGABAR_ARV", "LD.E.128"),
        ),
        Version(
            9,
            "padded",
            change="Both matrices are copied first, to rows that begin at multiples of 128 bytes.",
            why="The copy engine and the warpgroups can multiply matrices of any size, and the copies take less time "
            "than they save.",
            limit="The copies, and sums that are stored from registers.",
            launch=_padded,
            fits=_fits_padded,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "STG.E.128"),
        ),
        Version(
            10,
            "shapes",
            change="Tiles of 64, 128 or 192 rows and many widths. Blocks that share a tile's depth leave their sums in "
            "memory, and the last of them adds them up.",
            why="The last round of blocks is almost full: 4104 x 4104 is 484 tiles of 192 x 192 for 132 processors, of "
            "which 561 of 128 x 256 take five rounds, not four. 64 rows waste no half of a tile. Parts of a depth need "
            "no clusters, which do not fill the GPU.",
            limit="Few tiles: 72 of 128 x 256 (3072 x 768) leave half of the processors idle, and smaller ones read "
            "more from the L2 cache. Where lines begin at no multiple of 32 bytes, a line of a box takes 3 ns.",
            launch=shapes(),
            fits=fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x224x16.F32.BF16", "UTMALDG.2D.MULTICAST", "STSM.16.M88.4", "UTMASTG.2D"),
        ),
    ),
)
