"""Launches the attention kernel."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

THREADS, PLACES = 256, 8
KEY, VALUE = 32, 64
HEAD = 2 * KEY + VALUE
PLACES_MAX = 896
"""Maximum number of pixels of a feature map: a block keeps the scores of all of them in shared memory."""


def run(
    launcher: Launcher,
    qkv: Any,
    pitch: int,
    weights: Any,
    bias: Any,
    out: Any,
    shape: tuple[int, int, int, int],
    early: bool = False,
) -> None:
    """Attention with the convolution of its values: writes `out` (N, H, W, 64 heads) float16.

    * `qkv` (N, H, W, 128 heads): its pixels are `pitch` elements apart, a multiple of 8.
    * `weights` (64 heads, 3, 3), `bias` (64 heads,): of the convolution.
    * `shape`: (N, heads, H, W).

    All arrays are float16.
    """
    images, heads, height, width = shape
    grid = (ceil_div(height * width, PLACES), heads, images)
    arguments: list[Argument] = [Ptr(qkv), I32(pitch), Ptr(weights), Ptr(bias), Ptr(out)]
    arguments += [I32(height), I32(width), F32(KEY**-0.5)]
    launcher.launch("attend", grid, THREADS, arguments, shared_bytes=4 * PLACES * height * width, early=early)
