"""What the kernel must come near: the same sums in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def depthwise(x: NDArray[np.float16], weights: NDArray[np.float16], bias: NDArray[np.float16]) -> NDArray[Any]:
    """`x` (N, H, W, C), `weights` (C, 3, 3), `bias` (C,) -> SiLU of the sums, float64."""
    height, width = x.shape[1:3]
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = np.zeros(x.shape) + bias.astype(np.float64)
    for dy in range(3):
        for dx in range(3):
            total += padded[:, dy : dy + height, dx : dx + width] * weights[:, dy, dx].astype(np.float64)
    return np.asarray(total / (1.0 + np.exp(-total)))
