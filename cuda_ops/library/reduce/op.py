"""Sum and dot product on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.reduce.ladder import DOT, PARTIALS_MAX, SUM
from cuda_ops.library.run import check_like, element_of, run
from cuda_ops.runtime.registry import register


def sum_of(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The sum of all elements of float32, float16 or bfloat16, without dimensions; equal bits in every run.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist.
    """
    element_of("sum", x)
    result: torch.Tensor = _sum(x, version or 0)
    return result


def dot(x: torch.Tensor, y: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """The sum of x * y over two vectors of float32, float16 or bfloat16; equal bits in every run.

    Raises `CudaOpsError` for other dtypes, other shapes, or a version that does not exist.
    """
    element_of("dot", x)
    if x.dim() != 1:
        raise CudaOpsError(f"dot: x has shape {tuple(x.shape)}, expected one dimension")
    check_like("dot", "y", y, x, x.shape)
    result: torch.Tensor = _dot(x, y, version or 0)
    return result


def _reduced(ladder: Ladder, version: int, x: torch.Tensor, y: torch.Tensor | None) -> torch.Tensor:
    if x.numel() == 0:
        return x.new_zeros(())
    out = x.new_empty(())
    partials = torch.empty(PARTIALS_MAX, dtype=torch.float64, device=x.device)
    run(ladder, version, (x, y, partials, out), 1, x.numel(), has_rows=False)
    return out


_sum = register(
    "library_sum(Tensor x, int version) -> Tensor",
    lambda x, version: _reduced(SUM, version, x.contiguous(), None),
    lambda x, version: reference.sum_of(x),
    lambda x, version: x.new_empty(()),
)
_dot = register(
    "library_dot(Tensor x, Tensor y, int version) -> Tensor",
    lambda x, y, version: _reduced(DOT, version, x.contiguous(), y.contiguous()),
    lambda x, y, version: reference.dot(x, y),
    lambda x, y, version: x.new_empty(()),
)
