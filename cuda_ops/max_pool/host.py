"""Launches the kernel of repeated max pooling."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import I32, Launcher, Ptr

THREADS, EACH = 256, 8
PIXELS_MAX = 1024
"""Maximum number of pixels of a picture: a block keeps two pictures of `EACH` channels in shared memory."""


def run(
    launcher: Launcher,
    x: Any,
    pitch: int,
    out: Any,
    shape: tuple[int, int, int, int],
    size: int,
    rounds: int,
    early: bool = False,
) -> None:
    """Write `x` and `rounds` max pools to `out` (N, H, W, (rounds + 1) C), both float16; `size` is odd.

    `shape` is (N, C, H, W); the pixels of `x` are `pitch` elements apart; C and `pitch` are multiples of 8.
    """
    images, channels, height, width = shape
    numbers = [I32(value) for value in (height, width, channels, size // 2, rounds)]
    shared = 2 * 2 * EACH * height * width
    grid = (channels // EACH, images, 1)
    launcher.launch("max_pools", grid, THREADS, [Ptr(x), I32(pitch), Ptr(out), *numbers], shared, early=early)
