"""Softmax over the last dimension on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.run import element_of, run
from cuda_ops.library.softmax.ladder import SOFTMAX
from cuda_ops.runtime.registry import register


def softmax(x: torch.Tensor, version: int | None = None) -> torch.Tensor:
    """Softmax over the last dimension of float32, float16 or bfloat16, by one version of the ladder or the fastest.

    Raises `CudaOpsError` for other dtypes, or a version that does not exist or cannot take rows of this length.
    """
    element_of("softmax", x)
    if x.dim() == 0:
        raise CudaOpsError("softmax: x has no dimension, expected at least one")
    result: torch.Tensor = _softmax(x, version or 0)
    return result


def _gpu(x: torch.Tensor, version: int) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    if out.numel():
        columns = x.shape[-1]
        run(SOFTMAX, version, (x, out), out.numel() // columns, columns)
    return out


_softmax = register(
    "library_softmax(Tensor x, int version) -> Tensor",
    _gpu,
    lambda x, version: reference.softmax(x).contiguous(),
    lambda x, version: torch.empty_like(x, memory_format=torch.contiguous_format),
)
