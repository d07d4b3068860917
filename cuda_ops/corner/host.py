"""Launches the corner score kernel."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

WINDOW_MAX = 7
THREADS = 288


def run(launcher: Launcher, image: Any, out: Any, window: int) -> None:
    """Write the corner score of `image` (H, W) uint8 to `out` (H, W) float32; `window` is 1 to 7 px."""
    height, width = (int(value) for value in image.shape)
    scale = 1.0 / (4.0 * window * 255.0) ** 2
    arguments: list[Argument] = [Ptr(image), Ptr(out), I32(width), I32(height), I32(window), F32(scale)]
    launcher.launch("corner_score", (ceil_div(width, 64), ceil_div(height, 16), 1), THREADS, arguments, early=True)
