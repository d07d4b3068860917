"""The ladder of the product of a 2:4 sparse matrix of half precision with a dense one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cuda_ops.library.ladder import PACK_BYTES, Ladder, Launch, Problem, Version
from cuda_ops.library.matmul_half.tiles import ALIGNMENT_BYTES, BOX, BOX_BYTES, HALF, PROCESSORS, fits_engine_sizes
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, TensorMap, ceil_div

GROUP = 4
"""Size of a group of neighbours in a row, of which at most two are nonzero."""
LINE_DEPTH = 16
"""The depth of the lines of values is rounded up to a multiple of it, so that they begin at multiples of 16 bytes."""
PATTERN_ROWS, PATTERN_DEPTH = 64, 128
"""Rows and depth of a block of the pattern: AV_PATTERN_ROWS and AV_PATTERN_DEPTH of av_sparse_pattern.cuh."""

MMA_TILE, MMA_STAGES, MMA_DEPTH, MMA_PAD = 128, 3, 64, 8
"""Side of a tile, stages, depth of a step, and padding of a line in v2_mma.cu."""


def line_length(depth: int) -> int:
    """Number of values in a row of the packed matrix."""
    return ceil_div(depth, LINE_DEPTH) * (LINE_DEPTH // 2)


def pattern_blocks(rows: int, depth: int) -> tuple[int, int]:
    """(number of blocks of the pattern along the depth, along the rows)."""
    return ceil_div(depth, PATTERN_DEPTH), ceil_div(rows, PATTERN_ROWS)


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a block of versions 3 and 4.

    * `groups`: warpgroups; each computes `tall` x 64 rows and `columns` columns.
    * `stages_a`, `stages_b`: steps that are loaded ahead: of 128 of the depth of `a`, of 64 of the depth of `b`.
    * `blocks`: blocks of a cluster, which share `b`.
    * `group`: consecutive tiles go down this number of rows of tiles.
    * `out_boxes`: boxes through which a warpgroup stores its results.
    """

    groups: int
    tall: int
    columns: int
    stages_a: int
    stages_b: int
    blocks: int
    group: int
    out_boxes: int = 2

    @property
    def rows(self) -> int:
        """Number of rows of a block's tile."""
        return self.groups * self.tall * BOX

    @property
    def threads(self) -> int:
        return 128 * (self.groups + 1)

    @property
    def shared_bytes(self) -> int:
        of_a = self.stages_a * self.groups * self.tall * BOX_BYTES
        of_b = self.stages_b * self.columns // BOX * BOX_BYTES
        return of_a + of_b + self.groups * self.out_boxes * BOX_BYTES + ALIGNMENT_BYTES

    def clusters(self, problem: Problem) -> int:
        """Number of clusters that the result needs."""
        return ceil_div(problem.rows, self.rows * self.blocks) * ceil_div(problem.columns, self.columns)


WIDE = Tile(2, 1, 256, 3, 4, 1, 8)
"""The tile of version 3."""
TALL = Tile(2, 2, 128, 3, 5, 2, 4, 1)
"""The tile of version 4."""


def _sizes(problem: Problem) -> list[Argument]:
    return [I32(problem.rows), I32(problem.columns), I32(problem.depth)]


def _layout(problem: Problem) -> str:
    """The template argument B_IS_WIDE."""
    return flag(not problem.b_is_transposed)


def _naive(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    launcher.launch(
        f"matmul_sparse_naive<{problem.element.cuda}, {_layout(problem)}>",
        (ceil_div(problem.rows, 8) * ceil_div(problem.columns, 32), 1, 1),
        256,
        [*map(Ptr, arrays), *_sizes(problem)],
    )


def _mma_bytes() -> int:
    """Shared memory of v2_mma.cu, with the larger layout of `b`'s tile."""
    of_b = max(MMA_TILE * (MMA_DEPTH + MMA_PAD), MMA_DEPTH * (MMA_TILE + MMA_PAD))
    return MMA_STAGES * (MMA_TILE * (MMA_DEPTH // 2 + MMA_PAD) + of_b) * 2


def _mma(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    launcher.launch(
        f"matmul_sparse_mma<{problem.element.cuda}, {problem.lanes}, {_layout(problem)}>",
        (ceil_div(problem.rows, MMA_TILE) * ceil_div(problem.columns, MMA_TILE), 1, 1),
        256,
        [*map(Ptr, arrays), *_sizes(problem)],
        shared_bytes=_mma_bytes(),
    )


def _start(launcher: Launcher, problem: Problem, arrays: Sequence[Any], tile: Tile, kernel: str) -> None:
    """Launch version 3 or 4 with as many blocks as run at the same time."""
    a, pattern, b, bias, out = arrays
    lies = (problem.columns, problem.depth) if problem.b_is_transposed else (problem.depth, problem.columns)
    resident = launcher.resident_blocks(kernel, tile.threads, tile.shared_bytes, tile.blocks)
    launcher.launch(
        kernel,
        (min(resident // tile.blocks, tile.clusters(problem)) * tile.blocks, 1, 1),
        tile.threads,
        [
            TensorMap(a, 2, problem.rows, line_length(problem.depth), BOX, BOX),
            Ptr(pattern),
            TensorMap(b, 2, *lies, BOX, BOX),
            Ptr(bias),
            TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
            *_sizes(problem),
        ],
        shared_bytes=tile.shared_bytes,
        cluster=tile.blocks,
    )


def _persistent(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    sizes = f"{WIDE.columns}, {_layout(problem)}, {WIDE.stages_a}, {WIDE.stages_b}, {WIDE.group}"
    kernel = f"matmul_sparse_persistent<{problem.element.cuda}, {sizes}>"
    _start(launcher, problem, arrays, WIDE, kernel)


def tall(rule: Callable[[Problem], Tile] = lambda problem: TALL) -> Launch:
    """Launch rule of version 4."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        tile = rule(problem)
        shape = f"{tile.groups}, {tile.tall}, {tile.columns}, {_layout(problem)}"
        order = f"{tile.stages_a}, {tile.stages_b}, {tile.blocks}, {tile.group}, {tile.out_boxes}"
        _start(launcher, problem, arrays, tile, f"matmul_sparse_tall<{problem.element.cuda}, {shape}, {order}>")

    return launch


def _fits(problem: Problem) -> bool:
    """Whether each size and the numbers of blocks fit 32 bits, and `a` is not transposed."""
    steps, down = pattern_blocks(problem.rows, problem.depth)
    blocks = max(ceil_div(problem.rows, 8) * ceil_div(problem.columns, 32), steps * down)
    return not problem.a_is_transposed and max(problem.rows, problem.columns, problem.depth, blocks) < 2**31


def _fits_engine(problem: Problem) -> bool:
    """Whether the copy engine can load the lines of `b`: they must begin at multiples of 16 bytes."""
    is_aligned = problem.lanes * problem.element.size_bytes == PACK_BYTES
    return is_aligned and _fits(problem) and fits_engine_sizes(problem)


def _preferred(problem: Problem) -> int:
    if _fits_engine(problem):  # if each block has at most one tile, sharing `b` between blocks gains nothing
        return 4 if TALL.clusters(problem) * TALL.blocks > PROCESSORS else 3
    return 2 if problem.architecture >= 80 else 1


MATMUL_SPARSE = Ladder(
    name="matmul_sparse",
    folder="matmul_sparse",
    formula="out = a b + bias, a 2:4 sparse, matrices of half precision",
    arrays=("a", "pattern", "b", "bias", "out"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth // 2 + problem.depth * problem.columns + problem.count)
        * problem.element.size_bytes
        + problem.rows * problem.depth // 8
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=_preferred,
    is_product=True,
    tensor_products=0.5,
    versions=(
        Version(
            1,
            "naive",
            change="One thread per element of the result, without tensor cores, on packed values and their pattern.",
            why="It runs on any GPU and at any size, and is the simplest kernel that says what the pattern means.",
            limit="A multiply-add for two loads, one of which waits for the pattern.",
            launch=_naive,
            fits=_fits,
            elements=HALF,
        ),
        Version(
            2,
            "mma",
            change="Sparse products of 16 x 32 x 8 (mma.sp), with tiles and copies as in version 3 of matmul_half. "
            "Each lane loads the pattern's word that its register holds.",
            why="A sparse product does twice the depth of a dense one in the same time, from sm_80 on and at any size.",
            limit="All factors pass through registers, `b` with twice as many bytes for each product as in a dense "
            "one.",
            launch=_mma,
            fits=_fits,
            architecture_min=80,
            elements=HALF,
            instructions=("HMMA.SP.16832.F32.BF16", "LDSM", "LDGSTS.E.BYPASS.128"),
        ),
        Version(
            3,
            "persistent",
            change="Warpgroups multiply 64 x 256 by sparse products (wgmma.sp), which read 32 of the depth at once. "
            "Roles, the copy engine and tiles as in version 6 of matmul_half; the pattern lies as their registers "
            "take it.",
            why="No factor passes through registers; the pattern is loaded into them a step ahead.",
            limit="By count, bytes: for 128 of the depth, 80 KiB come from the L2 cache, 64 of them of `b`; and shared "
            "memory gives 144 and takes 80, but moves 128 in the least time of these products.",
            launch=_persistent,
            fits=_fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=(
                "HGMMA.SP.64x256x32.F32.BF16",
                "UTMALDG.2D",
                "LDG.E.64.CONSTANT",
                "STSM.16.M88.4",
                "UTMASTG.2D",
            ),
        ),
        Version(
            4,
            "tall",
            change="Tiles of 256 x 128: each warpgroup multiplies two times 64 rows. Two blocks share the boxes of "
            "`b`.",
            why="A tile has as many bytes of `a` as of `b`: 64 KiB for 128 of the depth, not 80; and 48 of them are "
            "asked of the L2 cache.",
            limit="Shared memory, by count: it gives 160 KiB for 128 of the depth, since products of 64 x 128 read `a` "
            "twice as often, and takes 64.",
            launch=tall(),
            fits=_fits_engine,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.SP.64x128x32.F32.BF16", "UTMALDG.2D.MULTICAST", "LDG.E.64.CONSTANT", "UTMASTG.2D"),
        ),
    ),
)
