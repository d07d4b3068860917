"""The ladder of the convolution of half-precision pictures, as a product on the tiles of `matmul_half`.

It is not in the catalogue, whose operators take flat arrays, rows or matrices: it has tests and a benchmark of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cuda_ops.library.ladder import Ladder, Problem, Version, Window
from cuda_ops.library.matmul_half.tiles import BOX, HALF, ROWS, TILES, Tile, fits_engine, products_of_tile, time_of_tile
from cuda_ops.runtime.launcher import I32, Launcher, Ptr, TensorMap, ceil_div

PATCH_WIDE = 8
"""Width of a patch of 64 pixels."""
BLOCKS_MAX = 1 << 20
"""Maximum number of blocks of the kernel that writes windows."""


def _window(problem: Problem) -> Window:
    assert problem.window is not None
    return problem.window


def tile_of_columns(problem: Problem) -> Tile:
    """The fastest tile for the matrix of windows; of equally fast ones, the one with the fewest products."""
    return min(TILES, key=lambda tile: (time_of_tile(problem, tile, ROWS), products_of_tile(problem, tile, ROWS)))


def tile_of_patches(problem: Problem) -> Tile:
    """The fastest tile for pictures. Products are the limit, because no matrix of windows is read from memory."""
    one = _window(problem)
    steps = one.taps_high * one.taps_wide * ceil_div(one.channels, BOX)
    made = replace(problem, rows=patches(one) * BOX, depth=steps * BOX)
    return min(TILES, key=lambda tile: products_of_tile(made, tile, ROWS))


def _columns(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
    x, weight, bias, out, windows = arrays
    one, tile, name = _window(problem), tile_of_columns(problem), problem.element.cuda
    pictures = [I32(size) for size in (one.pictures, one.height, one.width, one.channels, one.taps_high, one.taps_wide)]
    packs = problem.rows * problem.depth // 8
    launcher.launch(
        f"convolve_windows<{name}>",
        (min(ceil_div(packs, 256), BLOCKS_MAX), 1, 1),
        256,
        [Ptr(x), Ptr(windows), *pictures],
    )
    kernel = f"convolve_product<{name}, {tile.columns}, {tile.stages}, {tile.group}>"
    shared_bytes = tile.shared_bytes(by_engine=True)
    tiles = ceil_div(problem.rows, ROWS) * ceil_div(problem.columns, tile.columns)
    launcher.launch(
        kernel,
        (min(launcher.resident_blocks(kernel, 384, shared_bytes), tiles), 1, 1),
        384,
        [
            TensorMap(windows, 2, problem.rows, problem.depth, BOX, BOX),
            TensorMap(weight, 2, problem.columns, problem.depth, BOX, BOX),
            Ptr(bias),
            TensorMap(out, 2, problem.rows, problem.columns, BOX, BOX),
            I32(problem.rows),
            I32(problem.columns),
            I32(problem.depth),
        ],
        shared_bytes=shared_bytes,
    )


def patches(window: Window) -> int:
    """Number of patches in all pictures."""
    return window.pictures * ceil_div(window.width, PATCH_WIDE) * ceil_div(window.height, BOX // PATCH_WIDE)


def implicit(rule: Callable[[Problem], Tile] = tile_of_patches) -> Callable[[Launcher, Problem, Sequence[Any]], None]:
    """Launch rule of version 2."""

    def launch(launcher: Launcher, problem: Problem, arrays: Sequence[Any]) -> None:
        x, weight, bias, out, _ = arrays
        one, tile = _window(problem), rule(problem)
        kernel = f"convolve_implicit<{problem.element.cuda}, {tile.columns}, {tile.stages}, {tile.group}, {PATCH_WIDE}>"
        shared_bytes = tile.shared_bytes(by_engine=True)
        tiles = ceil_div(patches(one) * BOX, ROWS) * ceil_div(problem.columns, tile.columns)
        of_pictures = ((one.height, BOX // PATCH_WIDE), (one.pictures, 1))
        sizes = one.pictures, one.height, one.width, one.channels, one.taps_high, one.taps_wide, problem.columns
        launcher.launch(
            kernel,
            (min(launcher.resident_blocks(kernel, 384, shared_bytes), tiles), 1, 1),
            384,
            [
                TensorMap(x, 2, one.width, one.channels, PATCH_WIDE, BOX, of_pictures),
                TensorMap(
                    weight, 2, one.taps_high * one.taps_wide, one.channels, 1, BOX, ((problem.columns, tile.columns),)
                ),
                Ptr(bias),
                TensorMap(out, 2, one.width, problem.columns, PATCH_WIDE, BOX, of_pictures),
                *map(I32, sizes),
            ],
            shared_bytes=shared_bytes,
        )

    return launch


def _fits(problem: Problem) -> bool:
    """Whether input and output channels are multiples of 8, and the number of pixels fits 32 bits."""
    window = problem.window
    return (
        window is not None
        and window.channels % 8 == 0
        and problem.columns % 8 == 0
        and patches(window) * BOX < 2**31
        and fits_engine(problem)
    )


def _moved_bytes(problem: Problem) -> int:
    window = _window(problem)
    pixels = window.pictures * window.height * window.width
    elements = pixels * window.channels + problem.depth * problem.columns + problem.count
    return elements * problem.element.size_bytes


CONVOLVE = Ladder(
    name="convolve",
    folder="convolve",
    formula="out = windows of x times weight + bias, half precision, rows of channels",
    arrays=("x", "weight", "bias", "out", "windows"),
    moved_bytes=_moved_bytes,
    operations=lambda problem: 2 * problem.count * problem.depth,
    preferred=lambda problem: 2,
    is_product=True,
    tensor_products=1,
    scratch={"windows": lambda problem: problem.rows * problem.depth * problem.element.size_bytes},
    versions=(
        Version(
            1,
            "columns",
            change="A first kernel writes the window of each pixel as a row of a matrix (im2col); the persistent "
            "kernel of matmul_half multiplies it.",
            why="A convolution is a product of matrices.",
            limit="The matrix has each pixel once for each tap: it is written and read again.",
            launch=_columns,
            fits=_fits,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.2D", "UTMASTG.2D"),
        ),
        Version(
            2,
            "implicit",
            change="The copy engine brings patches of 8 x 8 pixels, moved by each tap, from a map of four dimensions.",
            why="The matrix of windows exists in shared memory alone; zeros outside of the picture cost nothing.",
            limit="The tensor cores; patches that reach over the edge.",
            launch=implicit(),
            fits=_fits,
            architecture_min=90,
            elements=HALF,
            has_cpu_form=False,
            instructions=("HGMMA.64x256x16.F32.BF16", "UTMALDG.4D", "UTMALDG.3D", "UTMASTG.4D"),
        ),
    ),
)
