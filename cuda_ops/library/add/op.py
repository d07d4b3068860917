"""Vector addition on torch tensors."""

from __future__ import annotations

from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.run import check_element, check_like, is_direct, run
from cuda_ops.runtime.registry import register


def add(x: torch.Tensor, y: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """x + y for float32, float16 or bfloat16 of one shape, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    check_element("add", x)
    check_like("add", "y", y, x, x.shape)
    if is_direct(x, y):
        return _gpu(x, y, version or 0)
    result: torch.Tensor = _add(x, y, version or 0)
    return result


def _gpu(x: torch.Tensor, y: torch.Tensor, version: int) -> torch.Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    count = out.numel()
    if count:
        run(ADD, version, x, (x.data_ptr(), y.data_ptr(), out.data_ptr()), 1, count)
    return out


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
    return gradient, gradient, None


_add = register(
    "library_add(Tensor x, Tensor y, int version) -> Tensor",
    _gpu,
    lambda x, y, version: reference.add(x, y).contiguous(),
    lambda x, y, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    _backward,
)
