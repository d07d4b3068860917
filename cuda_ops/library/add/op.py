"""Vector addition on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.library import reference
from cuda_ops.library.add.ladder import ADD
from cuda_ops.library.run import check_like, element_of, run
from cuda_ops.runtime.registry import register


def add(x: torch.Tensor, y: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """x + y for float32, float16 or bfloat16 of one shape, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    element_of("add", x)
    check_like("add", "y", y, x, x.shape)
    result: torch.Tensor = _add(x, y, version or 0)
    return result


def _gpu(x: torch.Tensor, y: torch.Tensor, version: int) -> torch.Tensor:
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        run(ADD, version, (x, y, out), 1, out.numel(), has_rows=False)
    return out


_add = register(
    "library_add(Tensor x, Tensor y, int version) -> Tensor",
    _gpu,
    lambda x, y, version: reference.add(x, y).contiguous(),
    lambda x, y, version: torch.empty_like(x, memory_format=torch.contiguous_format),
)
