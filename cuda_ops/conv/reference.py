"""CPU reference of the convolution, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def conv(
    x: NDArray[np.float16],
    weights: NDArray[np.float16],
    bias: NDArray[np.float16],
    residual: NDArray[np.float16] | None,
    stride: int,
    is_silu: bool,
) -> NDArray[Any]:
    """Convolution of `x` (N, H, W, C) by `weights` (K, size, size, C), `bias` (K,): (N, H', W', K) float64.

    `residual` has the shape of the result.
    """
    images, height, width, _ = x.shape
    size = weights.shape[1]
    border = size // 2
    padded = np.pad(x.astype(np.float64), ((0, 0), (border, border), (border, border), (0, 0)))
    tall, wide = (height - 1) // stride + 1, (width - 1) // stride + 1
    total = np.zeros((images, tall, wide, weights.shape[0])) + bias.astype(np.float64)
    for dy in range(size):
        for dx in range(size):
            part = padded[:, dy : dy + height : stride, dx : dx + width : stride][:, :tall, :wide]
            total += part @ weights[:, dy, dx].astype(np.float64).T
    if is_silu:
        total = total / (1.0 + np.exp(-total))
    return total if residual is None else total + residual.astype(np.float64)
