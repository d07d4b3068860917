"""CPU reference of the depthwise convolution, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def depthwise(x: NDArray[np.float16], weights: NDArray[np.float16], bias: NDArray[np.float16]) -> NDArray[Any]:
    """SiLU of the depthwise convolution of `x` (N, H, W, C) by `weights` (C, 3, 3) and `bias` (C,), float64."""
    height, width = x.shape[1:3]
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = np.zeros(x.shape) + bias.astype(np.float64)
    for dy in range(3):
        for dx in range(3):
            total += padded[:, dy : dy + height, dx : dx + width] * weights[:, dy, dx].astype(np.float64)
    return np.asarray(total / (1.0 + np.exp(-total)))
