"""Launches the kernel that adds a bias and applies SiLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuda_ops.runtime.launcher import I32, Launcher, Ptr, ceil_div

THREADS, EACH = 256, 8
COUNT_MAX = 2**31 - THREADS * EACH


def run(launcher: Launcher, x: Any, bias: Any, residual: Any, out: Any, channels: int, inner: int, pitch: int) -> None:
    """Write SiLU(`x` + `bias`) + `residual` to `out`; `x` and `out` are dense float16.

    `inner` is the distance of two channels of a pixel, in elements. `residual` may be None; it needs `inner` = 1.
    `pitch` is the distance of its pixels, in elements; if this is a multiple of 8, it must begin at a multiple of 16
    bytes.
    """
    count = int(np.prod(x.shape))
    numbers = [I32(value) for value in (count, channels, inner, pitch)]
    grid = (ceil_div(count, THREADS * EACH), 1, 1)
    launcher.launch("bias_silu", grid, THREADS, [Ptr(x), Ptr(bias), Ptr(residual), Ptr(out), *numbers], early=True)
