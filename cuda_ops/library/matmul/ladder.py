"""The ladder of the product of two float32 matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cuda_ops.library.ladder import FLOAT32, Ladder, Launch, Problem, Version
from cuda_ops.library.rows import flag
from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, ceil_div

TILE_ROWS_MAX = 256
"""Rows of the largest tile; offsets inside a tile of `a` must fit 32 bits."""
PAD = 4
"""Padding of the lines of a tile: AV_PRODUCT_PAD of av_product.cuh."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a block of versions 7 to 9: `rows` x `columns` elements, divided into tiles of its warps.

    * `depth`: elements of the depth in one step.
    * `stages`: steps that are in shared memory.
    * `blocks`: blocks that run at the same time on a processor; a thread has 65,536 / (blocks * threads) registers.
    """

    rows: int
    columns: int
    depth: int
    warp_rows: int
    warp_columns: int
    stages: int
    blocks: int

    @property
    def threads(self) -> int:
        return self.rows // self.warp_rows * (self.columns // self.warp_columns) * 32

    @property
    def shared_bytes(self) -> int:
        return self.stages * self.depth * (self.rows + PAD + self.columns) * FLOAT32.size_bytes

    @property
    def shared_bytes_of_layouts(self) -> int:
        """Shared memory of version 9, which may transpose both matrices."""
        return self.stages * self.depth * (self.rows + self.columns + 2 * PAD) * FLOAT32.size_bytes


LARGE, SMALL = Tile(128, 256, 16, 64, 64, 4, 1), Tile(64, 128, 16, 32, 64, 3, 3)
SHORT = Tile(128, 256, 8, 64, 64, 5, 1)
"""The large tile with shorter steps, so that the code of the loop has half as many bytes."""
BLOCKS_MIN = 96
"""Minimum number of large tiles for which they are faster than small ones (timed on an H100 with 132 processors)."""


def _arguments(problem: Problem, arrays: Sequence[Any]) -> list[Argument]:
    return [*map(Ptr, arrays), I32(problem.rows), I32(problem.columns), I32(problem.depth)]


def _blocks(problem: Problem, rows: int, columns: int) -> int:
    return problem.batch.count * ceil_div(problem.rows, rows) * ceil_div(problem.columns, columns)


def tiles(kernel: str, rows: int, columns: int, threads: int, has_lanes: bool = False) -> Launch:
    """Launch rule of versions 1 to 6: one block for each tile of the result."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        argument = str(problem.lanes) if has_lanes else problem.element.cuda
        launcher.launch(
            f"{kernel}<{argument}>", (_blocks(problem, rows, columns), 1, 1), threads, _arguments(problem, arrays)
        )

    return launch


def tile_for(problem: Problem) -> Tile:
    """The tile of a block."""
    return LARGE if _blocks(problem, LARGE.rows, LARGE.columns) >= BLOCKS_MIN else SMALL


def short_tile_for(problem: Problem) -> Tile:
    """The tile of a block of version 8."""
    return SHORT if tile_for(problem) == LARGE else SMALL


def warps(name: str, rule: Callable[[Problem], Tile] = tile_for) -> Launch:
    """Launch rule of versions 7 and 8; `name` is the version's."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        tile = rule(problem)
        sizes = f"{tile.rows}, {tile.columns}, {tile.depth}, {tile.warp_rows}, {tile.warp_columns}"
        launcher.launch(
            f"matmul_{name}<{problem.lanes}, {sizes}, {tile.stages}, {tile.blocks}>",
            (_blocks(problem, tile.rows, tile.columns), 1, 1),
            tile.threads,
            _arguments(problem, arrays),
            shared_bytes=tile.shared_bytes,
        )

    return launch


def layouts(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    """Launch rule of version 9."""
    tile = short_tile_for(problem)
    sizes = f"{tile.rows}, {tile.columns}, {tile.depth}, {tile.warp_rows}, {tile.warp_columns}"
    lies = f"{flag(problem.a_is_transposed)}, {flag(not problem.b_is_transposed)}"
    launcher.launch(
        f"matmul_layouts<{problem.lanes}, {sizes}, {tile.stages}, {tile.blocks}, {lies}>",
        (_blocks(problem, tile.rows, tile.columns), 1, 1),
        tile.threads,
        _arguments(problem, arrays),
        shared_bytes=tile.shared_bytes_of_layouts,
    )


def _is_transposed(problem: Problem) -> bool:
    return problem.a_is_transposed or problem.b_is_transposed


def _fits(problem: Problem) -> bool:
    """Whether sizes, number of blocks and offsets in a tile fit 32 bits, and no matrix is transposed."""
    return fits_layouts(problem) and not _is_transposed(problem)


def fits_layouts(problem: Problem) -> bool:
    """Whether sizes, number of blocks and offsets in a tile fit 32 bits; matrices may be transposed."""
    sizes = problem.rows, problem.columns, problem.depth * TILE_ROWS_MAX, _blocks(problem, 8, 32)
    return max(sizes) < 2**31


MATMUL = Ladder(
    name="matmul",
    folder="matmul",
    formula="out = a b, matrices",
    arrays=("a", "b", "out"),
    moved_bytes=lambda problem: (
        (problem.rows * problem.depth + problem.depth * problem.columns + problem.count) * problem.element.size_bytes
    ),
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=lambda problem: 9 if _is_transposed(problem) else 8 if problem.architecture >= 80 else 5,
    is_product=True,
    versions=(
        Version(
            1,
            "naive",
            change="One thread per element of the result: a row of `a` times a column of `b`.",
            why="It is the simplest kernel that uses the whole GPU: the threads of a warp read 32 neighbours of "
            "`b`, one line of 128 bytes, and all the same number of `a`.",
            limit="Two loads for each multiply-add: the caches deliver far fewer numbers than the processors can "
            "multiply.",
            launch=tiles("matmul_naive", 8, 32, 256),
            fits=_fits,
            elements=(FLOAT32,),
        ),
        Version(
            2,
            "tile",
            change="A block computes a tile of 32 x 32, and copies the factors of a step of 32 to shared memory first.",
            why="Each number that a thread loads from device memory or its caches serves 32 multiply-adds, not one.",
            limit="Five loads from shared memory for four multiply-adds: one of `b` each, and a pack of `a` for four. "
            "Their queue is full (mio_throttle); the device memory is busy at 15 % only.",
            launch=tiles("matmul_tile", 32, 32, 1024),
            fits=_fits,
            elements=(FLOAT32,),
            instructions=("LDS.128", "FFMA", "BAR.SYNC"),
        ),
        Version(
            3,
            "column",
            change="A thread computes eight elements of a column, with their sums in registers. The tile is 64 x 64.",
            why="A number of `b` that a thread reads from shared memory serves eight multiply-adds.",
            limit="A number of `a` serves only one. They come in packs of four, so that there are three loads for "
            "eight multiply-adds.",
            launch=tiles("matmul_column", 64, 64, 512),
            fits=_fits,
            elements=(FLOAT32,),
        ),
        Version(
            4,
            "square",
            change="A thread computes a square of 8 x 8 elements. The tile is 128 x 128.",
            why="16 numbers from shared memory, four packs, serve 64 multiply-adds.",
            limit="A thread takes 190 registers: a pack of `a` is four steps of the depth, all of which it holds. "
            "So a single block fills a processor with 8 of 64 warps, and all of them wait while a tile is loaded, "
            "number by number. Threads read packs of `b` that begin 32 bytes apart: they use half of the banks, and "
            "two collide in each.",
            launch=tiles("matmul_square", 128, 128, 256),
            fits=_fits,
            elements=(FLOAT32,),
        ),
        Version(
            5,
            "vector",
            change="The tile of `a` lies transposed in shared memory: a pack is four rows of one step. A thread's "
            "square is four of 4 x 4, 64 apart, so that threads read packs that lie side by side. Device memory is "
            "read in packs, and those of the next step are loaded into registers while products are computed.",
            why="127 registers: two blocks share a processor, and one multiplies while the other waits. No banks "
            "collide. The memory works during the products.",
            limit="Two barriers per step; a step's packs pass through registers.",
            launch=tiles("matmul_vector", 128, 128, 256, has_lanes=True),
            fits=_fits,
            elements=(FLOAT32,),
            instructions=("LDG.E.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
        Version(
            6,
            "async",
            change="Numbers go to shared memory past the registers (cp.async), into two buffers in turn.",
            why="One barrier per step, and one buffer is filled while the other is read. At 4096 nothing is gained: "
            "two blocks per processor hid the second barrier already. At odd sizes packs are single numbers, and to "
            "hold those of the next step version 5 takes more than 128 registers: one block per processor, where "
            "this one has two.",
            limit="A step has only the time of one step to arrive, and the factors of a product are loaded just before "
            "it.",
            launch=tiles("matmul_async", 128, 128, 256, has_lanes=True),
            fits=_fits,
            architecture_min=80,
            elements=(FLOAT32,),
            instructions=("LDGSTS.E.BYPASS.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
        Version(
            7,
            "warps",
            change="A thread computes 16 x 8 elements; the threads of a warp are 4 x 8 (before: 2 x 16), so that a "
            "warp computes 64 x 64. Four steps have room in shared memory: three are on their way while one is "
            "computed. The next factors come from shared memory while products are computed. Blocks with successive "
            "numbers go down 8 tiles, then to the next column.",
            why="Six packs serve 128 multiply-adds of a thread, and 32 different packs 4,096 of a warp (before: 36 "
            "for 2,048). A load has three steps of time to arrive. Blocks that run at once ask for fewer different "
            "rows and columns, whose numbers then are in the L2 cache.",
            limit="A step of 16 takes some 170 instructions besides its 2,048 multiply-adds. In the machine code one "
            "multiply-add in six reads three registers at once.",
            launch=warps("warps"),
            fits=_fits,
            architecture_min=80,
            elements=(FLOAT32,),
            instructions=("LDGSTS.E.BYPASS.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
        Version(
            8,
            "order",
            change="A thread goes through its products in serpentines: down one column of its tile, up the next. Large "
            "tiles are computed in steps of 8.",
            why="A multiply-add reads three registers, and their two banks deliver two per clock. The third one comes "
            "from the operand cache if the instruction before used it too: in serpentines one factor always did. "
            "Short steps have half as many bytes of instructions, for which version 7 waits 0.11 cycles each.",
            limit="The issue of instructions: a scheduler issues in 86 % of its cycles, cuBLAS's in 90 % (H100, 4096). "
            "Between two instructions a warp waits 0.22 cycles for dispatch, as when registers collide; cuBLAS's 0.10. "
            "The L2 cache and the device memory are busy at 13 % and 5 %.",
            launch=warps("order", short_tile_for),
            fits=_fits,
            architecture_min=80,
            elements=(FLOAT32,),
            instructions=("LDGSTS.E.BYPASS.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
        Version(
            9,
            "layouts",
            change="Transposed matrices are read as they lie in memory.",
            why="No copy before the product. A linear layer's weight is transposed, and so are its gradients' factors.",
            limit="The issue of instructions, as before. A matrix whose depth lies side by side (`a`, or `b` "
            "transposed) is still copied number by number. The times below are of matrices that are not transposed, "
            "so they have none of this version; [products](README.md#products-of-matrices) compares it with copies.",
            launch=layouts,
            fits=fits_layouts,
            architecture_min=80,
            elements=(FLOAT32,),
            instructions=("LDGSTS.E.BYPASS.128", "LDS.128", "FFMA", "STG.E.128"),
        ),
    ),
)
