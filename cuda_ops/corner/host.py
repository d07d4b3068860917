"""Launch of the corner score."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import F32, I32, Argument, Launcher, Ptr, ceil_div

WINDOW_MAX = 7
THREADS = 288


def run(launcher: Launcher, image: Any, out: Any, window: int) -> None:
    """`image` (H, W) uint8 -> `out` (H, W) float32; `window` 1 to 7 px a side."""
    height, width = (int(value) for value in image.shape)
    scale = 1.0 / (4.0 * window * 255.0) ** 2
    arguments: list[Argument] = [Ptr(image), Ptr(out), I32(width), I32(height), I32(window), F32(scale)]
    launcher.launch("corner_score", (ceil_div(width, 64), ceil_div(height, 16), 1), THREADS, arguments, early=True)
