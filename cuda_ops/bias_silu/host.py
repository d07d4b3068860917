"""The launch of the kernel that adds a bias and applies SiLU."""

from __future__ import annotations

from typing import Any

from cuda_ops.runtime.launcher import I32, Launcher, Ptr, ceil_div

THREADS, EACH = 256, 8
COUNT_MAX = 2**31 - THREADS * EACH


def run(launcher: Launcher, x: Any, bias: Any, out: Any, count: int, channels: int, inner: int) -> None:
    """`out` from `count` elements of `x`, both dense float16; two channels of a pixel lie `inner` elements apart."""
    numbers = [I32(value) for value in (count, channels, inner)]
    grid = (ceil_div(count, THREADS * EACH), 1, 1)
    launcher.launch("bias_silu", grid, THREADS, [Ptr(x), Ptr(bias), Ptr(out), *numbers])
