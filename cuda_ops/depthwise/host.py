"""Launches the depthwise convolution."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import I32, Argument, Launcher, Ptr, ceil_div

THREADS, EACH = 128, 8
COUNT_MAX = 2**31 - THREADS


def run(
    launcher: Launcher,
    x: Any,
    pitch: int,
    weights: Any,
    bias: Any,
    out: Any,
    shape: tuple[int, int, int, int],
    early: bool = False,
) -> None:
    """Convolve `x`, with pixels `pitch` elements apart, by `weights` (C, 3, 3) and `bias` (C,) into `out` (N, H, W, C).

    All arrays are float16; `shape` is (N, C, H, W); C and `pitch` are multiples of 8. With `early`, weights and bias
    are read while the kernel before may still run, so that kernel must not write them.
    """
    images, channels, height, width = shape
    pixels = images * height * width
    arguments: list[Argument] = [Ptr(x), I32(pitch), Ptr(weights), Ptr(bias), Ptr(out)]
    arguments += [I32(value) for value in (pixels, height, width, channels)]
    grid = (ceil_div(pixels * channels // EACH, THREADS), 1, 1)
    launcher.launch("depthwise", grid, THREADS, arguments, early=early)
