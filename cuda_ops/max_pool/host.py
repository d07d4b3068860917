"""The launch of the kernel that takes maxima over windows."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import I32, Launcher, Ptr, ceil_div

THREADS, EACH = 128, 8
COUNT_MAX = 2**31 - THREADS


def run(launcher: Launcher, x: Any, out: Any, shape: tuple[int, int, int, int], size: int) -> None:
    """`out` from `x`, both float16 laid out as (N, H, W, C); `shape` is (N, C, H, W), `size` odd."""
    images, channels, height, width = shape
    numbers = [I32(value) for value in (images, height, width, channels, size // 2)]
    count = images * height * width * ceil_div(channels, EACH)
    launcher.launch("max_pool", (ceil_div(count, THREADS), 1, 1), THREADS, [Ptr(x), Ptr(out), *numbers])
