"""ReLU and sigmoid on torch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.activation.ladder import RELU, SIGMOID
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.run import element_of, run
from cuda_ops.runtime.registry import register


def relu(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """max(x, 0) for float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    element_of("relu", x)
    result: torch.Tensor = _relu(x, version or 0)
    return result


def sigmoid(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """1 / (1 + e^-x) for float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    element_of("sigmoid", x)
    result: torch.Tensor = _sigmoid(x, version or 0)
    return result


def _registered(ladder: Ladder, on_cpu: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    def gpu(x: torch.Tensor, version: int) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        if out.numel():
            run(ladder, version, (x, out), 1, out.numel(), has_rows=False)
        return out

    return register(
        f"library_{ladder.name}(Tensor x, int version) -> Tensor",
        gpu,
        lambda x, version: on_cpu(x).contiguous(),
        lambda x, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    )


_relu = _registered(RELU, reference.relu)
_sigmoid = _registered(SIGMOID, reference.sigmoid)
