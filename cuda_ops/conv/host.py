"""Tiles of the convolution kernel, and its launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, ceil_div

THREADS = 256
SIZE_MAX = 5
ELEMENTS_MAX = 2**30
TILES_SHARED_MAX = 64
"""Maximum number of tiles in a launch in which several blocks share the sum of a tile: each tile needs a counter."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The output tile of a block: `rows` pixels by `columns` channels.

    A step multiplies `depth` elements of each sum; shared memory holds the data of up to `stages` steps.
    """

    rows: int
    columns: int
    depth: int
    stages: int
    warps: int
    """Warps that compute the same part of the tile and split the sum of a step."""

    @property
    def name(self) -> str:
        return f"conv_{self.rows}x{self.columns}"

    @property
    def shared_bytes(self) -> int:
        copies = 2 * (self.rows + self.columns) * self.depth * self.stages
        return max(copies, 4 * self.warps * self.rows * (self.columns + 4))


TILES = (
    Tile(128, 64, 64, 4, 1),
    Tile(128, 32, 64, 4, 2),
    Tile(128, 16, 64, 4, 2),
    Tile(64, 64, 128, 3, 2),
    Tile(64, 32, 128, 4, 2),
    Tile(32, 64, 128, 4, 2),
    Tile(32, 32, 128, 4, 2),
)


@dataclass(frozen=True, slots=True)
class Window:
    """Sizes of a convolution: the input, the odd window `size` and its stride; padding is half a window."""

    images: int
    height: int
    width: int
    channels: int
    out_channels: int
    size: int
    stride: int

    @property
    def out_height(self) -> int:
        return (self.height - 1) // self.stride + 1

    @property
    def out_width(self) -> int:
        return (self.width - 1) // self.stride + 1

    @property
    def pixels(self) -> int:
        return self.images * self.out_height * self.out_width

    @property
    def depth(self) -> int:
        return self.size * self.size * self.channels


@dataclass(frozen=True, slots=True)
class Source:
    """An input picture: its array, the distance of its pixels in elements (`pitch`), and its channels.

    `is_half`: its height and width are half of those of the `Window`.
    """

    array: Any
    pitch: int
    channels: int
    is_half: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The tile of a launch, and the number of blocks (`shares`) that split the sum of one tile."""

    tile: Tile
    shares: int

    def grid(self, window: Window) -> tuple[int, int, int]:
        across = ceil_div(window.pixels, self.tile.rows)
        return across, ceil_div(window.out_channels, self.tile.columns), self.shares

    def parts(self, window: Window) -> int:
        """Number of float32 elements of scratch for the blocks' partial sums."""
        across, down, shares = self.grid(window)
        return across * down * shares * self.tile.rows * self.tile.columns if shares > 1 else 0


def run(
    launcher: Launcher,
    plan: Plan,
    window: Window,
    sources: tuple[Source, Source],
    weights: Any,
    bias: Any,
    residual: tuple[Any, int],
    out: tuple[Any, int],
    parts: Any,
    is_silu: bool,
    early: bool = False,
) -> None:
    """Convolve `sources` by `weights` (out channels, size, size, channels) into `out` (array, pitch), all float16.

    `residual` is (array or None, pitch). The pitches and channels of the inputs are multiples of 8, and each input
    begins at a multiple of 16 bytes. With `early`, the weights are read while the kernel before may still run, so that
    kernel must not write them.
    """
    first, second = sources
    arguments: list[Argument] = [
        Ptr(first.array), I32(first.pitch), I32(first.channels), I32(int(first.is_half)),
        Ptr(second.array), I32(second.pitch), I32(second.channels),
        Ptr(weights), Ptr(bias), Ptr(residual[0]), I32(residual[1]), Ptr(out[0]), I32(out[1]),
        I32(window.height), I32(window.width), I32(window.out_height), I32(window.out_width), I32(window.pixels),
        I32(window.out_channels), I32(window.size), I32(window.stride), I32(int(is_silu)),
        Ptr(parts), Ptr(launcher.control_words() if plan.shares > 1 else None),
    ]  # fmt: skip
    shared = plan.tile.shared_bytes
    launcher.launch(plan.tile.name, plan.grid(window), THREADS, arguments, shared_bytes=shared, early=early)
