"""LayerNorm and RMSNorm over the last dimension on torch tensors."""

from __future__ import annotations

import torch

from cuda_ops.errors import CudaOpsError
from cuda_ops.library import reference
from cuda_ops.library.ladder import Ladder
from cuda_ops.library.norm.ladder import LAYER_NORM, RMS_NORM
from cuda_ops.library.run import check_like, element_of, run
from cuda_ops.runtime.registry import register


def layer_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> torch.Tensor:
    """LayerNorm over the last dimension of float32, float16 or bfloat16; `weight` and `bias` have its length.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    _check("layer_norm", x, weight, bias)
    result: torch.Tensor = _layer_norm(x, weight, bias, epsilon, version or 0)
    return result


def rms_norm(
    x: torch.Tensor, weight: torch.Tensor | None = None, epsilon: float = 1e-5, version: int | None = None
) -> torch.Tensor:
    """RMSNorm over the last dimension of float32, float16 or bfloat16; `weight` has its length.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    _check("rms_norm", x, weight, None)
    result: torch.Tensor = _rms_norm(x, weight, epsilon, version or 0)
    return result


def _check(operator: str, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> None:
    element_of(operator, x)
    if x.dim() == 0:
        raise CudaOpsError(f"{operator}: x has no dimension, expected at least one")
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None:
            check_like(operator, name, part, x, x.shape[-1:])


def _normed(
    ladder: Ladder,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    epsilon: float,
    version: int,
) -> torch.Tensor:
    x = x.contiguous()
    weight, bias = (None if part is None else part.contiguous() for part in (weight, bias))
    out = torch.empty_like(x)
    if out.numel():
        columns = x.shape[-1]
        run(ladder, version, (x, weight, bias, out), out.numel() // columns, columns, epsilon)
    return out


_layer_norm = register(
    "library_layer_norm(Tensor x, Tensor? weight, Tensor? bias, float epsilon, int version) -> Tensor",
    lambda x, weight, bias, epsilon, version: _normed(LAYER_NORM, x, weight, bias, epsilon, version),
    lambda x, weight, bias, epsilon, version: reference.layer_norm(x, weight, bias, epsilon).contiguous(),
    lambda x, weight, bias, epsilon, version: torch.empty_like(x, memory_format=torch.contiguous_format),
)
_rms_norm = register(
    "library_rms_norm(Tensor x, Tensor? weight, float epsilon, int version) -> Tensor",
    lambda x, weight, epsilon, version: _normed(RMS_NORM, x, weight, None, epsilon, version),
    lambda x, weight, epsilon, version: reference.rms_norm(x, weight, epsilon).contiguous(),
    lambda x, weight, epsilon, version: torch.empty_like(x, memory_format=torch.contiguous_format),
)
