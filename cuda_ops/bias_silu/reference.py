"""CPU reference of `bias_silu`: bias, SiLU and residual in float32, rounded to half once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def bias_silu(
    x: NDArray[np.float16], bias: NDArray[np.float16], residual: NDArray[np.float16] | None = None
) -> NDArray[Any]:
    """SiLU of `x` (N, C, H, W) plus `bias` (C,), then plus `residual`, float16."""
    total = x.astype(np.float32) + bias.astype(np.float32)[:, None, None]
    with np.errstate(over="ignore"):
        made = total / (np.float32(1.0) + np.exp(-total))
    return np.asarray(made if residual is None else made + residual.astype(np.float32), dtype=np.float16)
