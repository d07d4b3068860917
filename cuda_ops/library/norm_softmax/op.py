"""LayerNorm and softmax over the last dimension in one kernel, on torch tensors."""

from __future__ import annotations

from typing import Any

import torch

from cuda_ops.library import reference
from cuda_ops.library.norm.op import check_norm, layer_norm_backward, normed
from cuda_ops.library.norm_softmax.ladder import LAYER_NORM_SOFTMAX
from cuda_ops.library.run import is_direct
from cuda_ops.library.softmax.op import softmax_backward
from cuda_ops.runtime.registry import register


def layer_norm_softmax(
    x: torch.Tensor,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    epsilon: float = 1e-5,
    version: int | None = None,
) -> torch.Tensor:
    """Softmax of `layer_norm` over the last dimension; the result is rounded once.

    Raises `CudaOpsError` for other dtypes or shapes, or a version that does not exist or cannot take such rows.
    """
    check_norm("layer_norm_softmax", x, weight, bias)
    if is_direct(x, weight, bias):
        return normed(LAYER_NORM_SOFTMAX, x, weight, bias, epsilon, version or 0)
    result: torch.Tensor = _layer_norm_softmax(x, weight, bias, epsilon, version or 0)
    return result


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, weight, _, ctx.epsilon, _ = inputs
    ctx.save_for_backward(x, weight, output)


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    x, weight, out = ctx.saved_tensors
    parts = layer_norm_backward(softmax_backward(gradient, out), x, weight, ctx.epsilon)
    wanted = ctx.needs_input_grad[:3]
    return (*(part if is_wanted else None for part, is_wanted in zip(parts, wanted, strict=True)), None, None)


_layer_norm_softmax = register(
    "library_layer_norm_softmax(Tensor x, Tensor? weight, Tensor? bias, float epsilon, int version) -> Tensor",
    lambda x, weight, bias, epsilon, version: normed(LAYER_NORM_SOFTMAX, x, weight, bias, epsilon, version),
    lambda x, weight, bias, epsilon, version: reference.layer_norm_softmax(x, weight, bias, epsilon).contiguous(),
    lambda x, weight, bias, epsilon, version: torch.empty_like(x, memory_format=torch.contiguous_format),
    _backward,
    _keep,
)
