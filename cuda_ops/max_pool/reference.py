"""What the kernel must equal: the maximum of shifted pictures, again and again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def max_pools(x: NDArray[np.float16], size: int, rounds: int) -> NDArray[Any]:
    """`x` (N, C, H, W), and beside its channels the maxima of each round over `size` x `size` of the round before.

    What of a window lies outside the picture does not count.
    """
    radius, parts = size // 2, [x]
    for _ in range(rounds):
        border = ((0, 0), (0, 0), (radius, radius), (radius, radius))
        padded = np.pad(parts[-1], border, constant_values=-np.inf)
        rows = np.lib.stride_tricks.sliding_window_view(padded, size, axis=2)
        windows = np.lib.stride_tricks.sliding_window_view(rows, size, axis=3)
        parts.append(windows.max(axis=(-2, -1)))
    return np.concatenate(parts, axis=1)
