"""CPU reference of repeated max pooling, by sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def max_pools(x: NDArray[np.float16], size: int, rounds: int) -> NDArray[Any]:
    """Concatenation of `x` (N, C, H, W) and each round's maxima over `size` x `size` windows of the round before.

    The part of a window outside the picture is ignored.
    """
    radius, parts = size // 2, [x]
    for _ in range(rounds):
        border = ((0, 0), (0, 0), (radius, radius), (radius, radius))
        padded = np.pad(parts[-1], border, constant_values=-np.inf)
        rows = np.lib.stride_tricks.sliding_window_view(padded, size, axis=2)
        windows = np.lib.stride_tricks.sliding_window_view(rows, size, axis=3)
        parts.append(windows.max(axis=(-2, -1)))
    return np.concatenate(parts, axis=1)
