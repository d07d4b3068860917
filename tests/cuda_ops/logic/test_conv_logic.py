"""The kernel that convolves, run on the CPU, against numpy in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cuda_ops.conv import host, reference
from cuda_ops.conv.host import TILES, Plan, Source, Tile, Window
from tests.cuda_ops.logic.cuda_shim import ShimLauncher


def part_of_wider(picture: NDArray[np.float16], before: int, after: int) -> tuple[NDArray[Any], int]:
    """The picture (N, H, W, C) among other channels: the array from its first channel on, and the pitch."""
    wide = np.full((*picture.shape[:3], before + picture.shape[3] + after), np.nan, np.float16)
    wide[..., before : before + picture.shape[3]] = picture
    return wide.reshape(-1)[before:], wide.shape[3]


def check(
    launcher: ShimLauncher,
    tile: Tile,
    window: Window,
    first: int,
    shares: int = 1,
    is_half: bool = False,
    has_residual: bool = False,
    is_silu: bool = True,
) -> None:
    """`first` channels come from the first input, the rest from the second."""
    generator = np.random.default_rng(window.depth + window.out_channels)
    shape = (window.images, window.height, window.width)
    x = generator.normal(0.0, 1.0, (*shape, window.channels)).astype(np.float16)
    if is_half:
        x[..., :first] = x[:, ::2, ::2, :first].repeat(2, 1).repeat(2, 2)
    inner = (window.size, window.size, window.channels)
    weights = generator.normal(0.0, window.depth**-0.5, (window.out_channels, *inner)).astype(np.float16)
    bias = generator.normal(0.0, 1.0, window.out_channels).astype(np.float16)
    outer = (window.images, window.out_height, window.out_width, window.out_channels)
    residual = generator.normal(0.0, 1.0, outer).astype(np.float16) if has_residual else None
    step = 2 if is_half else 1
    sources = [
        Source(*part_of_wider(np.ascontiguousarray(x[:, ::step, ::step, :first]), 8, 16), first, is_half),
        Source(*part_of_wider(np.ascontiguousarray(x[..., first:]), 16, 0), window.channels - first),
    ]
    out = np.full((*outer[:3], outer[3] + 24), np.nan, np.float16)
    plan = Plan(tile, shares)
    parts = np.full(max(plan.parts(window), 1), np.nan, np.float32)
    host.run(
        launcher, plan, window, (sources[0], sources[1]), weights, bias,
        (None, 0) if residual is None else part_of_wider(residual, 0, 8), (out.reshape(-1)[8:], out.shape[3]), parts,
        is_silu,
    )  # fmt: skip
    found = out[..., 8 : 8 + window.out_channels]
    expected = reference.conv(x, weights, bias, residual, window.stride, is_silu)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=2e-3, atol=2e-3)
    out[..., 8 : 8 + window.out_channels] = np.nan
    assert np.isnan(out).all(), "wrote beside its channels"


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: tile.name)
def test_every_tile(on_cpu: Callable[[str], ShimLauncher], tile: Tile) -> None:
    check(on_cpu("conv"), tile, Window(1, 7, 11, 24, 40, 3, 1), 24)
    check(on_cpu("conv"), tile, Window(2, 6, 10, 40, 12, 1, 1), 16, is_half=True, has_residual=True)


@pytest.mark.parametrize("tile", [TILES[3], TILES[6]], ids=lambda tile: tile.name)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("shares", [1, 2, 5])
def test_shared_sums(on_cpu: Callable[[str], ShimLauncher], tile: Tile, stride: int, shares: int) -> None:
    window = Window(1, 5, 9, 72, 34, 3, stride)
    check(on_cpu("conv"), tile, window, 48, shares, has_residual=stride == 1, is_silu=stride == 2)


def test_one_pixel_one_channel(on_cpu: Callable[[str], ShimLauncher]) -> None:
    check(on_cpu("conv"), TILES[4], Window(1, 1, 1, 8, 1, 3, 1), 8)
