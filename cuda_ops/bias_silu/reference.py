"""What the kernel must equal: the sum and SiLU in float32, rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bias_silu(x: NDArray[np.float16], bias: NDArray[np.float16]) -> NDArray[Any]:
    """`x` (N, C, H, W), `bias` (C,) -> SiLU of their sum, float16."""
    total = x.astype(np.float32) + bias.astype(np.float32)[:, None, None]
    with np.errstate(over="ignore"):
        return np.asarray(total / (np.float32(1.0) + np.exp(-total)), dtype=np.float16)
