"""torch's operators for comparison, by the name of the ladder; in float64 they give the exact results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch.nn import functional

EPSILON = 1e-5


def _normed_sum(total: torch.Tensor, norm: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    return total, norm(total)


def _fused(
    activation: Callable[[torch.Tensor], torch.Tensor],
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
) -> torch.Tensor:
    """activation(a b + bias) + residual in torch; cuBLAS's kernel adds the bias."""
    made = activation(torch.mm(a, b) if bias is None else torch.addmm(bias, a, b))
    return made if residual is None else made + residual


def _batches(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor | None = None, alpha: float = 1.0, beta: float = 1.0
) -> torch.Tensor:
    """alpha a b + beta c in torch: with `c` by `torch.baddbmm` or `torch.addmm`."""
    if c is None:
        return torch.matmul(a, b) if alpha == 1.0 else alpha * torch.matmul(a, b)
    return (torch.baddbmm if a.dim() == 3 else torch.addmm)(c, a, b, beta=beta, alpha=alpha)


def _multiply_tf32(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    allowed, torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32, True
    try:
        return torch.mm(a, b)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


@cache
def _one(device: torch.device) -> torch.Tensor:
    return torch.ones((), device=device)


def _multiply_fp8(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a b in torch: by cuBLASLt with fast accumulation; in other dtypes, such as float64, by `torch.mm`."""
    if a.dtype != torch.float8_e4m3fn:
        return torch.mm(a, b)
    one = _one(a.device)
    return torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)


TORCH: dict[str, Callable[..., Any]] = {
    "add": torch.add,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "sum": torch.sum,
    "dot": torch.dot,
    "max": torch.max,
    "mean": torch.mean,
    "softmax": lambda x: functional.softmax(x, -1),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "layer_norm": lambda x, weight, bias: functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON),
    "rms_norm": lambda x, weight: functional.rms_norm(x, x.shape[-1:], weight, EPSILON),
    "residual_layer_norm": lambda x, residual, weight, bias: _normed_sum(
        x + residual, lambda total: functional.layer_norm(total, total.shape[-1:], weight, bias, EPSILON)
    ),
    "residual_rms_norm": lambda x, residual, weight: _normed_sum(
        x + residual, lambda total: functional.rms_norm(total, total.shape[-1:], weight, EPSILON)
    ),
    "layer_norm_softmax": lambda x, weight, bias: functional.softmax(
        functional.layer_norm(x, x.shape[-1:], weight, bias, EPSILON), -1
    ),
    "relu_backward": lambda gradient, y: torch.ops.aten.threshold_backward(gradient, y, 0),
    "sigmoid_backward": torch.ops.aten.sigmoid_backward,
    "softmax_backward": lambda gradient, y: torch.ops.aten._softmax_backward_data(gradient, y, -1, y.dtype),
    "log_softmax_backward": lambda gradient, y: torch.ops.aten._log_softmax_backward_data(gradient, y, -1, y.dtype),
    "layer_norm_backward": lambda gradient, x, weight, mean, scale: torch.ops.aten.native_layer_norm_backward(
        gradient, x, x.shape[-1:], mean, scale, weight, weight, [True, True, True]
    ),
    "rms_norm_backward": lambda gradient, x, weight, scale: torch.ops.aten._fused_rms_norm_backward(
        gradient, x, x.shape[-1:], scale, weight, [True, True]
    ),
    "matmul": torch.mm,
    "matmul_half": torch.mm,
    "matmul_sparse": lambda a, b, dense=None: torch.mm(a if dense is None else dense, b),
    "matmul_parts": torch.mm,
    "matmul_tf32": _multiply_tf32,
    "matmul_fp8": _multiply_fp8,
    "matmul_residual": lambda a, b, *parts: _fused(lambda x: x, a, b, *parts),
    "matmul_relu": lambda a, b, *parts: _fused(torch.relu, a, b, *parts),
    "matmul_silu": lambda a, b, *parts: _fused(functional.silu, a, b, *parts),
    "matmul_softmax": lambda a, b: functional.softmax(torch.mm(a, b), -1),
    "matmul_layer_norm": lambda a, b: functional.layer_norm(torch.mm(a, b), b.shape[1:], None, None, EPSILON),
    "matmul_batches": _batches,
    "matmul_half_batches": lambda a, b, bias=None, *more: (
        _batches(a, b, *more) if bias is None else _batches(a, b, *more) + bias
    ),
    "matmul_int8": lambda a, b: torch._int_mm(a, b) if a.dtype == torch.int8 else torch.mm(a, b),
}


def more_for(name: str, inputs: list[Any]) -> list[torch.Tensor]:
    """Arguments of torch's operator that ours does not have.

    For the gradients of norms, the values that torch's forward pass saves. For the product of a packed matrix, the
    matrix with its zeros, because torch multiplies it as a dense one.
    """
    if name == "matmul_sparse":
        return [] if isinstance(inputs[0], torch.Tensor) else [inputs[0].dense()]
    if name == "layer_norm_backward":
        _, x, weight = inputs
        return list(torch.ops.aten.native_layer_norm(x, x.shape[-1:], weight, weight, EPSILON)[1:])
    if name == "rms_norm_backward":
        _, x, weight = inputs
        return [torch.ops.aten._fused_rms_norm(x, x.shape[-1:], weight, EPSILON)[1]]
    return []
